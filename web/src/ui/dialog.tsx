import { type ReadonlySignal, signal } from '@preact/signals';
import type { ComponentChild, ComponentChildren, RefObject } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { createRequiredContext } from '../platform/required-context.ts';
import { useLanguage } from '../platform/text/language.ts';
import { IconButton } from './button.tsx';
import './dialog.css';

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
   * with null if the user dismisses the dialog.
   */
  open<Result>(render: (close: (result: Result | null) => void) => ComponentChild): Promise<Result | null>;
}

export const [useDialogs, DialogsProvider] = createRequiredContext<Dialogs>('dialogs');

export function createDialogs(): Dialogs {
  const shown = signal<readonly OpenDialog[]>([]);
  let lastId = 0;
  return {
    shown,
    open<Result>(render: (close: (result: Result | null) => void) => ComponentChild) {
      const { promise, resolve } = Promise.withResolvers<Result | null>();
      const id = ++lastId;
      const close = (result: Result | null) => {
        shown.value = shown.value.filter((dialog) => dialog.id !== id);
        resolve(result);
      };
      shown.value = [...shown.value, { id, dismiss: () => close(null), render: () => render(close) }];
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

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** The buttons, the primary one last. */
  actions?: ComponentChildren;
  kind?: 'question' | 'wide';
  onClose: () => void;
  /** Called by Enter, and by a button of type `submit`. */
  onSubmit?: () => void;
}

/**
 * A modal dialog. It keeps the focus inside and returns it when it closes. Escape, the back gesture and a click outside
 * close it. On a phone, it is a bottom sheet.
 */
export function Dialog({ title, children, actions, kind = 'question', onClose, onSubmit }: DialogProps) {
  const { dialog, listeners } = useModalDialog(onClose);
  const titleId = useId();
  const { text } = useLanguage();

  return (
    <dialog ref={dialog} class={`dialog ${kind}`} aria-labelledby={titleId} {...listeners}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit?.();
        }}
      >
        <header>
          <h2 id={titleId}>{title}</h2>
          <IconButton icon="close" label={text.controls.close} onClick={onClose} />
        </header>
        <div class="body">{children}</div>
        {actions && <footer>{actions}</footer>}
      </form>
    </dialog>
  );
}

interface ModalDialog {
  readonly dialog: RefObject<HTMLDialogElement | null>;
  /** The listeners of the element of `dialog`. */
  readonly listeners: {
    readonly onCancel: (event: Event) => void;
    readonly onClose: () => void;
    readonly onPointerDown: (event: PointerEvent & { readonly currentTarget: EventTarget }) => void;
    readonly onClick: (event: MouseEvent & { readonly currentTarget: EventTarget }) => void;
  };
}

/**
 * Opens a modal dialog while its component is mounted. Calls `close` on Escape, the back gesture and a click outside,
 * and possibly again while the dialog closes.
 */
export function useModalDialog(close: () => void): ModalDialog {
  const dialog = useRef<HTMLDialogElement>(null);
  const isPressedOutside = useRef(false);
  useLayoutEffect(() => (dialog.current ? openModal(dialog.current) : undefined), []);

  const listeners: ModalDialog['listeners'] = {
    onCancel(event) {
      // The event bubbles from file fields inside the dialog whose file chooser the user cancels.
      if (event.target !== dialog.current) return;
      event.preventDefault();
      close();
    },
    onClose() {
      // Browsers close the dialog themselves on a second Escape. The event also fires when the component is unmounted.
      if (dialog.current) close();
    },
    onPointerDown({ target, currentTarget }) {
      isPressedOutside.current = target === currentTarget;
    },
    onClick({ target, currentTarget }) {
      // A click that began inside selects text. Closing on the press would let the tap reach the elements behind.
      if (isPressedOutside.current && target === currentTarget) close();
    },
  };
  return { dialog, listeners };
}

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
