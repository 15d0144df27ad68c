import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import {
  canDownload,
  canUpload,
  LINK_ACCESS,
  type LinkAccess,
  type LinkField,
  MAX_LABEL_LENGTH,
} from '../../model/links/link-form.ts';
import { isFolderPath } from '../../platform/paths.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { IconButton } from '../../ui/button.tsx';
import { ExpiryFields } from './expiry-fields.tsx';
import type { LinkFormState } from './link-form-state.ts';

interface LinkFieldsProps {
  state: LinkFormState;
  path: string;
  /** What the user can allow visitors to do. */
  allowed: readonly LinkAccess[];
}

/** The settings of a link. */
export function LinkFields({ state, path, allowed }: LinkFieldsProps) {
  const { text } = useFullLanguage();
  return (
    <div ref={state.element} class="link-fields">
      {isFolderPath(path) ? <AccessFields state={state} allowed={allowed} /> : <p>{text.links.fileAccess}</p>}
      {canUpload(state.form) && <SenderField state={state} />}
      <LabelField state={state} isFirst={!isFolderPath(path)} />
      <ExpiryFields form={state.form} isInvalid={state.problems.date !== undefined} onChange={state.set} />
      <PasswordFields state={state} />
      <LimitFields state={state} />
    </div>
  );
}

function AccessFields({ state, allowed }: Pick<LinkFieldsProps, 'state' | 'allowed'>) {
  const { links } = useFullLanguage().text;
  const name = useId();
  const { access } = state.form;
  return (
    <fieldset class="choices">
      <legend>{links.access}</legend>
      {LINK_ACCESS.filter((choice) => choice === access || allowed.includes(choice)).map((choice) => (
        <label key={choice}>
          <input
            type="radio"
            name={name}
            checked={choice === access}
            autofocus={choice === access}
            onChange={() => state.set({ access: choice })}
          />
          <span>
            {links.accessKinds[choice]}
            <span class="hint">{links.accessHints[choice]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function SenderField({ state }: { state: LinkFormState }) {
  const { links } = useFullLanguage().text;
  return (
    <Checkbox
      label={links.asksSender}
      hint={links.asksSenderHint}
      isOn={state.form.asksSender}
      onChange={(asksSender) => state.set({ asksSender })}
    />
  );
}

function LabelField({ state, isFirst }: { state: LinkFormState; isFirst: boolean }) {
  const { links } = useFullLanguage().text;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{links.label}</label>
      <input
        id={id}
        class="text-field"
        type="text"
        dir="auto"
        maxLength={MAX_LABEL_LENGTH}
        // On a touch screen, the on-screen keyboard would cover half of the dialog.
        autofocus={isFirst && !window.matchMedia('(pointer: coarse)').matches}
        autocomplete="off"
        aria-describedby={`${id}-hint`}
        value={state.form.label}
        onInput={({ currentTarget }) => state.set({ label: currentTarget.value })}
      />
      <p id={`${id}-hint`} class="hint">
        {links.labelHint}
      </p>
    </div>
  );
}

/** In UTF-16 units of at most three bytes each. The service accepts 1,024 bytes. */
const MAX_PASSWORD_LENGTH = 256;

const TEXT = { type: 'text' } as const;
const SECRET = { type: 'password' } as const;

function PasswordFields({ state }: { state: LinkFormState }) {
  const { text } = useFullLanguage();
  const [isShown, setShown] = useState(false);
  const { hasPassword, password } = state.form;
  return (
    <div class="optional">
      <Checkbox
        label={text.links.usePassword}
        isOn={hasPassword}
        onChange={(isOn) => state.set({ hasPassword: isOn })}
      />
      {hasPassword && (
        <ValidatedField state={state} field="password" label={text.signIn.password}>
          {(attributes) => (
            <div class="with-button">
              <input
                {...attributes}
                {...(isShown ? TEXT : SECRET)}
                dir="auto"
                maxLength={MAX_PASSWORD_LENGTH}
                autocomplete="new-password"
                autocapitalize="none"
                spellcheck={false}
                placeholder={state.keepsPassword ? text.links.keepPassword : ''}
                value={password}
                onInput={({ currentTarget }) => state.set({ password: currentTarget.value })}
              />
              <IconButton
                icon="eye"
                label={text.links.showPassword}
                pressed={isShown}
                onClick={() => setShown(!isShown)}
              />
            </div>
          )}
        </ValidatedField>
      )}
    </div>
  );
}

/** The limits, which are hidden until the user opens them, sets one or makes a mistake. */
function LimitFields({ state }: { state: LinkFormState }) {
  const { links } = useFullLanguage().text;
  const { form, problems } = state;
  const hasLimit = form.maxDownloads !== '' || form.maxUploads !== '' || form.maxSize !== '';
  const hasProblem =
    problems.maxDownloads !== undefined || problems.maxUploads !== undefined || problems.maxSize !== undefined;
  const [isOpen, setOpen] = useState(hasLimit);
  return (
    <details open={isOpen || hasProblem} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{links.limits}</summary>
      {canDownload(form) && <NumberField state={state} field="maxDownloads" label={links.maxDownloads} />}
      {canUpload(form) && (
        <>
          <NumberField state={state} field="maxUploads" label={links.maxUploads} />
          <NumberField state={state} field="maxSize" label={links.maxSize} />
        </>
      )}
    </details>
  );
}

interface NumberFieldProps {
  state: LinkFormState;
  field: 'maxDownloads' | 'maxUploads' | 'maxSize';
  label: string;
}

/** A text field, because a field of type `number` reports an invalid number as empty. */
function NumberField({ state, field, label }: NumberFieldProps) {
  const { links } = useFullLanguage().text;
  return (
    <ValidatedField state={state} field={field} label={label}>
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          inputMode={field === 'maxSize' ? 'decimal' : 'numeric'}
          autocomplete="off"
          placeholder={links.noLimit}
          value={state.form[field]}
          onInput={({ currentTarget }) => state.set({ [field]: currentTarget.value })}
        />
      )}
    </ValidatedField>
  );
}

interface FieldAttributes {
  readonly id: string;
  readonly class: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-describedby': string;
}

interface ValidatedFieldProps {
  state: LinkFormState;
  field: LinkField;
  label: string;
  children: (attributes: FieldAttributes) => ComponentChildren;
}

/** A field with its label. After the first attempt to save the form, also shows why its content is invalid. */
function ValidatedField({ state, field, label, children }: ValidatedFieldProps) {
  const { links } = useFullLanguage().text;
  const id = useId();
  const problem = state.problems[field];
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        class: 'text-field',
        'aria-invalid': problem !== undefined,
        'aria-describedby': `${id}-problem`,
      })}
      <p id={`${id}-problem`} class="problem" role="status">
        {problem && links.problems[problem]}
      </p>
    </div>
  );
}

interface CheckboxProps {
  label: string;
  hint?: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}

function Checkbox({ label, hint, isOn, onChange }: CheckboxProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
      <span>
        {label}
        {hint !== undefined && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}
