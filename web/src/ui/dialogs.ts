import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import { createRequiredContext } from '../platform/required-context.ts';

/** A dialog that is open; `close` with null is what Escape, the back gesture and a click beside it do. */
export interface OpenDialog {
  readonly id: number;
  /** Leaves the question unanswered. */
  readonly leave: () => void;
  readonly render: () => ComponentChild;
}

export interface Dialogs {
  /** Those that are open, the one in front last. */
  readonly shown: ReadonlySignal<readonly OpenDialog[]>;
  /**
   * Shows what `render` gives, which is a `Dialog`, until it calls `close`, and settles with what it was closed with:
   * null where the question was left unanswered.
   */
  ask<Answer>(render: (close: (answer: Answer | null) => void) => ComponentChild): Promise<Answer | null>;
}

export const [useDialogs, DialogsProvider] = createRequiredContext<Dialogs>('dialogs');

export function createDialogs(): Dialogs {
  const shown = signal<readonly OpenDialog[]>([]);
  let last = 0;
  return {
    shown,
    ask(render) {
      const { promise, resolve } = Promise.withResolvers<Parameters<Parameters<typeof render>[0]>[0]>();
      const id = ++last;
      const close: Parameters<typeof render>[0] = (answer) => {
        shown.value = shown.value.filter((dialog) => dialog.id !== id);
        resolve(answer);
      };
      shown.value = [...shown.value, { id, leave: () => close(null), render: () => render(close) }];
      return promise;
    },
  };
}
