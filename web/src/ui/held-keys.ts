import { isField, isForPage } from './keyboard.ts';

/** Ends the hold. Returns a function that types the held keys into the text field with the focus. */
let end: (() => () => void) | undefined;

/**
 * Keeps the keyboard from the page while the code of a text field or dialog loads, until `takeHeldKeys` is called or `opening`
 * settles. The first key moves the focus to a hidden field, so that the browser edits its text as that of any field.
 */
export function holdKeys(opening: Promise<unknown>): void {
  takeHeldKeys();
  const field = document.createElement('input');
  // The command palette can be opened from a text field, whose keys are held, too.
  const origin = document.activeElement;
  let previous: Element | null;
  let last: string | undefined;

  const hold = (event: KeyboardEvent) => {
    const isHeld = event.target === field || (event.target === origin && isField(origin)) || isForPage(event);
    if (event.isComposing || !isHeld) return;
    event.stopImmediatePropagation();
    if (/^(Enter|Escape|Tab)$/.test(event.key)) last ??= event.key;
    if (last !== undefined) event.preventDefault();
    if (field.isConnected) return;
    previous = document.activeElement;
    field.className = 'visually-hidden';
    document.body.append(field);
    field.focus({ preventScroll: true });
  };
  const release = () => {
    window.removeEventListener('keydown', hold, true);
    end = undefined;
    if (document.activeElement === field && previous instanceof HTMLElement) previous.focus({ preventScroll: true });
    field.remove();
    return () => typeInto(document.activeElement, field.value, last);
  };
  end = release;
  window.addEventListener('keydown', hold, true);
  // After the elements that it opens are rendered.
  const drop = () => setTimeout(() => end === release && release());
  opening.then(drop, drop);
}

/**
 * Ends the hold before a field or dialog takes the focus. Returns a function that types the held keys: call it once a text field has the
 * focus and its text is selected.
 */
export function takeHeldKeys(): () => void {
  return end?.() ?? (() => {});
}

function typeInto(field: Element | null, text: string, last: string | undefined): void {
  if (!(field instanceof HTMLInputElement) || field.type !== 'text') return;
  if (text !== '') {
    field.setRangeText(text, field.selectionStart ?? 0, field.selectionEnd ?? 0, 'end');
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
  }
  // After the component is rendered with the text.
  if (last !== undefined)
    setTimeout(() => {
      const isHandled = !field.dispatchEvent(
        new KeyboardEvent('keydown', { key: last, bubbles: true, cancelable: true }),
      );
      if (last === 'Enter' && !isHandled) field.form?.requestSubmit();
    });
}
