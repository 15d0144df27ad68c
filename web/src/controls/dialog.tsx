import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { useLanguage, usePage } from '../page.ts';
import { IconButton } from './button.tsx';
import './dialog.css';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** What the person can do, the most likely last: buttons of `Button`. */
  actions?: ComponentChildren;
  /** `sheet` takes the whole height at the side. */
  kind?: 'question' | 'wide';
  onClose: () => void;
  /** Called when the form of the dialog is sent, by Enter or a button of type `submit`. */
  onSubmit?: () => void;
}

/**
 * A dialog of the browser: it holds the focus, gives it back, and closes by Escape, the back gesture, and a click
 * beside it. On a phone it comes from below.
 */
export function Dialog({ title, children, actions, kind = 'question', onClose, onSubmit }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
  const titleId = useId();
  const { text } = useLanguage();

  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);

  return (
    <dialog
      ref={dialog}
      class={`dialog ${kind}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={() => {
        // Closed by the browser alone, as it does for a second Escape; not by being taken away.
        if (dialog.current) onClose();
      }}
      onPointerDown={({ target, currentTarget }) => {
        isPressedBeside.current = target === currentTarget;
      }}
      onClick={({ target, currentTarget }) => {
        // Neither the end of a text that was marked inside, nor the beginning of a tap that would go on to what lies behind.
        if (isPressedBeside.current && target === currentTarget) onClose();
      }}
    >
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

/** The dialogs that are open. */
export function OpenDialogs() {
  const { dialogs } = usePage();
  return (
    <>
      {dialogs.shown.value.map(({ id, render }) => (
        <div key={id}>{render()}</div>
      ))}
    </>
  );
}
