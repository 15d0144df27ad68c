import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { openModal } from './open-modal.ts';

interface ModalDialog {
  readonly dialog: RefObject<HTMLDialogElement | null>;
  /** For the element of `dialog`. */
  readonly listeners: {
    readonly onCancel: (event: Event) => void;
    readonly onClose: () => void;
    readonly onPointerDown: (event: PointerEvent & { readonly currentTarget: EventTarget }) => void;
    readonly onClick: (event: MouseEvent & { readonly currentTarget: EventTarget }) => void;
  };
}

/**
 * A dialog of the browser that is open for as long as its component is there: it holds the focus and gives it back. By
 * Escape, the back gesture and a click beside it, `close` is called; it may be so again while it is under way.
 */
export function useModalDialog(close: () => void): ModalDialog {
  const dialog = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
  useLayoutEffect(() => {
    const element = dialog.current;
    return element ? openModal(element) : undefined;
  }, []);

  const listeners: ModalDialog['listeners'] = {
    onCancel(event) {
      // Of the dialog itself: a field for files tells of the same, when none is picked.
      if (event.target !== dialog.current) return;
      event.preventDefault();
      close();
    },
    onClose() {
      // Closed by the browser alone, as it does for a second Escape; not by being taken away.
      if (dialog.current) close();
    },
    onPointerDown({ target, currentTarget }) {
      isPressedBeside.current = target === currentTarget;
    },
    onClick({ target, currentTarget }) {
      // Neither the end of a text that was marked inside, nor the beginning of a tap that would go on to what lies behind.
      if (isPressedBeside.current && target === currentTarget) close();
    },
  };
  return { dialog, listeners };
}
