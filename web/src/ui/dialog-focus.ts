/**
 * Keeps the focus in the open dialog when the window is resized or a phone is turned, for the lifetime of the page: another layout
 * can remove the focused element.
 */
export function keepFocusInDialogs(): void {
  const restore = () => {
    if (document.activeElement !== document.body) return;
    const dialog = [...document.querySelectorAll<HTMLDialogElement>('dialog:modal')].at(-1);
    if (!dialog) return;
    const first = dialog.querySelector<HTMLElement>('[autofocus]');
    const target = first?.checkVisibility() ? first : dialog;
    if (target === dialog) dialog.tabIndex = -1;
    target.focus({ preventScroll: true });
  };
  // Components that measure themselves render again before the second frame.
  window.addEventListener('resize', () => requestAnimationFrame(() => requestAnimationFrame(restore)));
}
