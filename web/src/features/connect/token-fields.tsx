import { useId } from 'preact/hooks';
import { MAX_NAME_LENGTH, TOKEN_ACCESS } from '../../model/app-tokens/token-form.ts';
import { ancestorsOf, ROOT } from '../../platform/paths.ts';
import { shownName } from '../../platform/text/names.ts';
import { ExpiryFields } from '../links/expiry-fields.tsx';
import { useConnectText } from './connect-text.ts';
import type { TokenFormState } from './token-form-state.ts';
import '../links/links.css';

/** The settings of a new app token. */
export function TokenFields({ state, shown }: { state: TokenFormState; shown: string }) {
  return (
    <div ref={state.element} class="link-fields">
      <NameField state={state} />
      <FolderField state={state} shown={shown} />
      <AccessFields state={state} />
      <ExpiryFields form={state.form} isInvalid={state.invalid.has('date')} onChange={state.set} />
      <p class="link-failure" role="alert">
        {state.failure}
      </p>
    </div>
  );
}

interface FieldProps {
  state: TokenFormState;
}

function NameField({ state }: FieldProps) {
  const { token } = useConnectText();
  const id = useId();
  const isInvalid = state.invalid.has('name');
  return (
    <div class="field">
      <label for={id}>{token.name}</label>
      <input
        id={id}
        class="text-field"
        type="text"
        dir="auto"
        maxLength={MAX_NAME_LENGTH}
        autofocus
        autocomplete="off"
        aria-invalid={isInvalid}
        aria-describedby={`${id}-hint ${id}-problem`}
        value={state.form.name}
        onInput={({ currentTarget }) => state.set({ name: currentTarget.value })}
      />
      <p id={`${id}-hint`} class="hint">
        {token.nameHint}
      </p>
      <p id={`${id}-problem`} class="problem" role="status">
        {isInvalid && token.nameMissing}
      </p>
    </div>
  );
}

/** The token can be limited to the shown folder, or to one that contains it. */
function FolderField({ state, shown }: FieldProps & { shown: string }) {
  const text = useConnectText();
  const id = useId();
  const folders = [ROOT, ...ancestorsOf(shown)];
  if (shown === ROOT) return null;
  return (
    <div class="field">
      <label for={id}>{text.token.folder}</label>
      <select
        id={id}
        class="text-field"
        value={state.form.folder}
        onChange={({ currentTarget }) => state.set({ folder: folders[currentTarget.selectedIndex] ?? ROOT })}
      >
        {folders.map((folder) => (
          <option key={folder} value={folder}>
            {folder === ROOT ? text.all : shownName(folder.slice(0, -1))}
          </option>
        ))}
      </select>
    </div>
  );
}

function AccessFields({ state }: FieldProps) {
  const { token } = useConnectText();
  const name = useId();
  return (
    <fieldset class="choices">
      <legend>{token.access}</legend>
      {TOKEN_ACCESS.map((access) => (
        <label key={access}>
          <input
            type="radio"
            name={name}
            checked={state.form.access === access}
            onChange={() => state.set({ access })}
          />
          <span>{token.kinds[access]}</span>
        </label>
      ))}
    </fieldset>
  );
}
