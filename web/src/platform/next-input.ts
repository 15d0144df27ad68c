/** Calls `callback` once, when the user next presses a key or a pointer. */
export function onNextInput(callback: () => void): void {
  const listening = new AbortController();
  const onInput = () => {
    listening.abort();
    callback();
  };
  for (const type of ['pointerdown', 'keydown']) {
    window.addEventListener(type, onInput, { capture: true, signal: listening.signal });
  }
}
