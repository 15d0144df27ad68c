import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentChild } from 'preact';
import { createRequiredContext } from '../platform/required-context.ts';

interface OpenDialog {
  readonly id: number;
  /** Closes the dialog without a result. */
  readonly dismiss: () => void;
  readonly render: () => ComponentChild;
}

export interface Dialogs {
  /** The open dialogs, the topmost one last. */
  readonly shown: ReadonlySignal<readonly OpenDialog[]>;
  /**
   * Opens a dialog: `render` returns a `Dialog` that calls `close`. Resolves with the result that `close` receives, or
   * with null if the user dismisses the dialog. `dismiss` replaces closing it when the user goes back.
   */
  open<Result>(
    render: (close: (result: Result | null) => void) => ComponentChild,
    dismiss?: () => void,
  ): Promise<Result | null>;
}

export const [useDialogs, DialogsProvider] = createRequiredContext<Dialogs>('dialogs');

export function createDialogs(): Dialogs {
  const shown = signal<readonly OpenDialog[]>([]);
  let lastId = 0;
  return {
    shown,
    open<Result>(render: (close: (result: Result | null) => void) => ComponentChild, dismiss?: () => void) {
      const { promise, resolve } = Promise.withResolvers<Result | null>();
      const id = ++lastId;
      const close = (result: Result | null) => {
        shown.value = shown.value.filter((dialog) => dialog.id !== id);
        resolve(result);
      };
      shown.value = [...shown.value, { id, dismiss: dismiss ?? (() => close(null)), render: () => render(close) }];
      return promise;
    },
  };
}

/** Renders the open dialogs. */
export function DialogHost() {
  const dialogs = useDialogs();
  return (
    <>
      {dialogs.shown.value.map(({ id, render }) => (
        <div key={id}>{render()}</div>
      ))}
    </>
  );
}
