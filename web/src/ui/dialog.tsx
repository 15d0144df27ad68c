import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { useLanguage } from '../platform/text/language.ts';
import { IconButton } from './button.tsx';
import { useModalDialog } from './modal.ts';
import './dialog.css';

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
        <div class="title-bar">
          <h2 id={titleId}>{title}</h2>
          <IconButton icon="close" label={text.controls.close} onClick={onClose} />
        </div>
        <div class="body">{children}</div>
        {actions && <footer>{actions}</footer>}
      </form>
    </dialog>
  );
}
