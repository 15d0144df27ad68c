/**
 * Opens a modal dialog. Returns a function that closes it, if it is still open, and returns the focus to the element that
 * had it before.
 */
export function openModal(dialog: HTMLDialogElement): () => void {
  const { activeElement: previous } = document;
  dialog.showModal();
  return () => {
    dialog.close();
    // While a stylesheet loads, WebKit checks outdated styles, in which the element is still inert, and the focus is
    // lost. `checkVisibility` updates the styles.
    const isLost = document.activeElement === document.body;
    if (isLost && previous instanceof HTMLElement && previous.checkVisibility()) {
      previous.focus({ preventScroll: true });
    }
  };
}
