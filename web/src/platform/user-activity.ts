/** Calls `onActivity` for each input of the user outside of dialogs and of elements with the attribute `data-aside`. */
export function watchUser(onActivity: () => void): void {
  for (const type of ['pointerdown', 'keydown', 'wheel'] as const) {
    document.addEventListener(
      type,
      ({ target }) => {
        const isAside = target instanceof Element && target.closest('[data-aside], dialog') !== null;
        if (!isAside) onActivity();
      },
      { capture: true, passive: true },
    );
  }
}
