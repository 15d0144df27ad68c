import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { takeHeldKeys } from './held-keys.ts';

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
  const typeHeldKeys = takeHeldKeys();
  const { activeElement: previous } = document;
  dialog.showModal();
  // After the layout effects of the dialog, which select the text of its field.
  queueMicrotask(typeHeldKeys);
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
