/*
 * What a key, a paste or a drop is meant for, which the page listens to as a whole: a text that somebody is writing, or
 * a dialog in front, has what happens in it to itself.
 */

/** Whether an event is the page's own. */
export function isForPage(event: Event): boolean {
  const isComposing = event instanceof KeyboardEvent && event.isComposing;
  return !isComposing && !isText(event.target) && !isDialogInFront();
}

/** Whether a person can write or choose in an element. */
export function isText(element: EventTarget | null): boolean {
  return element instanceof Element && element.closest('input, textarea, select, [contenteditable]') !== null;
}

/** Whether nothing of the page can be reached: menus and the preview are dialogs too. */
export function isDialogInFront(): boolean {
  return document.querySelector('dialog:modal') !== null;
}

/** Whether a text of the page is marked, which is what a person means to copy. */
export function isTextMarked(): boolean {
  return document.getSelection()?.isCollapsed === false;
}

export function unmarkText(): void {
  if (isTextMarked()) document.getSelection()?.removeAllRanges();
}
