import { useId } from 'preact/hooks';
import { nameOf, ROOT } from '../../platform/paths.ts';
import { Name } from '../folder/entry-parts.tsx';
import { useConnectText } from './connect-text.ts';
import { CopyField } from './copy-field.tsx';

interface AddressProps {
  url: URL;
  /** The folder of the address. */
  folder: string;
  /** The path of the shown folder. */
  shown: string;
  onChange: (folder: string) => void;
}

/** The address for clients: of all files, or of the shown folder. */
export function AddressFields({ url, folder, shown, onChange }: AddressProps) {
  const text = useConnectText();
  const name = useId();
  return (
    <section class="address">
      {shown !== ROOT && (
        <fieldset>
          <legend class="visually-hidden">{text.scope}</legend>
          {[ROOT, shown].map((choice) => (
            <label key={choice}>
              <input
                type="radio"
                name={name}
                checked={folder === choice}
                autofocus={folder === choice}
                onChange={() => onChange(choice)}
              />
              <span>{choice === ROOT ? text.all : <Name of={nameOf(choice)} />}</span>
            </label>
          ))}
        </fieldset>
      )}
      <CopyField label={text.address} copyLabel={text.copyAddress} value={url.href} />
    </section>
  );
}
