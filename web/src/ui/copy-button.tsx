import { useEffect, useRef, useState } from 'preact/hooks';
import { useFullLanguage } from '../platform/text/language.ts';
import { Icon, type IconName } from './icon.tsx';

/** Milliseconds that the button shows the outcome. */
const FEEDBACK_MS = 2_500;

/** Copies a text to the clipboard, and shows the outcome on the button. */
export function CopyButton({ label, value, icon = 'copy' }: { label: string; value: string; icon?: IconName }) {
  const { button, outcome, status, copyValue } = useCopying(value, icon);
  return (
    <span class="copy-button">
      <button
        ref={button}
        class="icon-button"
        type="button"
        aria-label={label}
        title={outcome ?? label}
        onClick={copyValue}
      >
        {status}
      </button>
      <CopyOutcome outcome={outcome} />
    </span>
  );
}

/** Announces the outcome to screen readers. */
export function CopyOutcome({ outcome }: { outcome: string | undefined }) {
  return (
    <span class="visually-hidden" role="status">
      {outcome}
    </span>
  );
}

/** The state of a button that copies a text: its outcome for some seconds, and its icon. */
export function useCopying(value: string, icon: IconName) {
  const { text } = useFullLanguage();
  const button = useRef<HTMLButtonElement>(null);
  const [outcome, setOutcome] = useState<'copied' | 'copyBlocked' | null>(null);
  useEffect(() => setOutcome(null), [value]);
  useEffect(() => {
    if (outcome === null) return undefined;
    const timer = setTimeout(() => setOutcome(null), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const shownIcon = outcome === 'copied' ? 'check' : outcome === 'copyBlocked' ? 'warning' : icon;
  return {
    button,
    outcome: outcome === null ? undefined : text.details[outcome],
    status: <Icon name={shownIcon} />,
    copyValue: () => void copy(value, button.current).then((isDone) => setOutcome(isDone ? 'copied' : 'copyBlocked')),
  };
}

/** Returns whether copying succeeded. Without HTTPS, browsers have no clipboard API and copy only selected text. */
async function copy(value: string, anchor: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    return anchor !== null && copySelected(value, anchor);
  }
}

function copySelected(value: string, anchor: HTMLElement): boolean {
  const field = document.createElement('textarea');
  field.value = value;
  field.readOnly = true;
  field.className = 'visually-hidden';
  // Elements outside of an open modal dialog can't be selected.
  anchor.after(field);
  field.select();
  const isDone = document.execCommand('copy');
  field.remove();
  anchor.focus();
  return isDone;
}
