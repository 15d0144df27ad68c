import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { useLanguage } from '../platform/text/language-context.ts';
import { IconButton } from './button.tsx';
import { useDialogs } from './dialogs.ts';
import { useModalDialog } from './use-modal-dialog.ts';
import './dialog.css';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** What the person can do, the most likely last: buttons of `Button`. */
  actions?: ComponentChildren;
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

/** The dialogs that are open. */
export function OpenDialogs() {
  const dialogs = useDialogs();
  return (
    <>
      {dialogs.shown.value.map(({ id, render }) => (
        <div key={id}>{render()}</div>
      ))}
    </>
  );
}
