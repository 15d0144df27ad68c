/**
 * Starts undos in the order in which the user asked for them, although one of a change in progress waits until the change has ended.
 */
export class UndoQueue {
  #last: Promise<void> | undefined;

  /** Starts an undo: at once, if no other one waits. */
  start(start: () => void): void {
    if (this.#last) this.startWhen(Promise.resolve(start));
    else start();
  }

  /** Starts an undo when `ready` resolves to it. Nothing starts if that is undefined. */
  startWhen(ready: Promise<(() => void) | undefined>): void {
    const started = startAfter(this.#last, ready);
    this.#last = started;
    const forget = () => {
      if (this.#last === started) this.#last = undefined;
    };
    void started.finally(forget);
  }
}

async function startAfter(last: Promise<void> | undefined, ready: Promise<(() => void) | undefined>): Promise<void> {
  const [start] = await Promise.all([ready, last]);
  start?.();
}
