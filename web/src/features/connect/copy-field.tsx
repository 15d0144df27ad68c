import { useId } from 'preact/hooks';
import { CopyButton } from '../../ui/copy-button.tsx';

interface CopyFieldProps {
  label: string;
  copyLabel: string;
  value: string;
}

/** A text that the user copies, with its button. */
export function CopyField({ label, copyLabel, value }: CopyFieldProps) {
  const id = useId();
  return (
    <div class="copy-field">
      <label for={id}>{label}</label>
      <div>
        <input
          id={id}
          class="text-field"
          type="text"
          dir="ltr"
          readOnly
          value={value}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
        <CopyButton label={copyLabel} value={value} />
      </div>
    </div>
  );
}
