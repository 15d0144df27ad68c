import { useId, useState } from 'preact/hooks';
import {
  LETTER_CASES,
  type LetterCase,
  NO_CHANGE,
  type PlannedRename,
  planRenames,
  type RenameRules,
} from '../../model/rename/rename-plan.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { Name } from '../folder/entry-parts.tsx';
import './rename-dialog.css';

/** Asks for the rules by which entries are renamed. Resolves to the entries with new names; null if the user cancels. */
export function askForNewNames(
  dialogs: Dialogs,
  entries: readonly Entry[],
  isTaken: (name: string) => boolean,
): Promise<readonly PlannedRename[] | null> {
  return dialogs.open<readonly PlannedRename[]>((close) => (
    <RenameDialog entries={entries} isTaken={isTaken} close={close} />
  ));
}

interface RenameDialogProps {
  entries: readonly Entry[];
  isTaken: (name: string) => boolean;
  close: (renames: readonly PlannedRename[] | null) => void;
}

function RenameDialog({ entries, isTaken, close }: RenameDialogProps) {
  const { text } = useFullLanguage();
  const texts = text.renameSeveral;
  const [rules, setRules] = useState<RenameRules>(NO_CHANGE);
  const planned = planRenames(entries, rules, isTaken);
  const changed = planned.filter(({ entry, name }) => name !== entry.name);
  const problems = planned.filter(({ problem }) => problem !== undefined).length;
  const canRename = changed.length > 0 && problems === 0;
  const set = (change: Partial<RenameRules>) => setRules({ ...rules, ...change });
  const caseNames: Readonly<Record<LetterCase, string>> = {
    keep: texts.keepCase,
    lower: texts.lowerCase,
    upper: texts.upperCase,
  };
  const caseId = useId();

  return (
    <Dialog
      kind="wide"
      title={texts.title({ count: entries.length })}
      onClose={() => close(null)}
      onSubmit={() => {
        if (canRename) close(changed);
      }}
      actions={
        <>
          <Button onClick={() => close(null)}>{text.controls.cancel}</Button>
          <Button kind="primary" type="submit" disabled={!canRename}>
            {text.actions.rename}
          </Button>
        </>
      }
    >
      <div class="rename-several">
        <div class="rules">
          <Field label={texts.find} value={rules.find} isFirst onChange={(find) => set({ find })} />
          <Field label={texts.replace} value={rules.replace} onChange={(replace) => set({ replace })} />
          <Field
            label={texts.template}
            value={rules.template}
            hint={texts.hint({ name: '{name}', n: '{n}', date: '{date}', ext: '{ext}' })}
            onChange={(template) => set({ template })}
          />
          <Field label={texts.start} value={rules.start} onChange={(start) => set({ start })} />
          <div class="fields">
            <label for={caseId}>{texts.letterCase}</label>
            <select
              id={caseId}
              class="text-field"
              value={rules.letterCase}
              onChange={({ currentTarget }) =>
                set({ letterCase: LETTER_CASES.find((each) => each === currentTarget.value) ?? 'keep' })
              }
            >
              {LETTER_CASES.map((each) => (
                <option key={each} value={each}>
                  {caseNames[each]}
                </option>
              ))}
            </select>
          </div>
        </div>
        <p class="summary" role="status">
          {problems > 0
            ? texts.problems({ count: problems })
            : texts.summary({ count: changed.length, all: entries.length })}
        </p>
        <Preview planned={planned} />
      </div>
    </Dialog>
  );
}

interface FieldProps {
  label: string;
  value: string;
  hint?: string;
  isFirst?: boolean;
  onChange: (value: string) => void;
}

function Field({ label, value, hint, isFirst = false, onChange }: FieldProps) {
  const id = useId();
  const hintId = useId();
  return (
    <div class="fields">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="text-field"
        type="text"
        dir="auto"
        autofocus={isFirst}
        autocomplete="off"
        spellcheck={false}
        value={value}
        aria-describedby={hint === undefined ? undefined : hintId}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {hint !== undefined && (
        <p id={hintId} class="hint">
          {hint}
        </p>
      )}
    </div>
  );
}

/** The maximum number of previewed names. Those with a problem come first if there are more. */
const MAX_ROWS = 200;

/** The old and the new names. */
function Preview({ planned }: { planned: readonly PlannedRename[] }) {
  const { text } = useFullLanguage();
  const hasAll = planned.length <= MAX_ROWS;
  const shown = hasAll
    ? planned
    : [...planned.filter(({ problem }) => problem), ...planned.filter(({ problem }) => !problem)].slice(0, MAX_ROWS);
  return (
    <div class="preview" role="region" aria-label={text.renameSeveral.preview} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{text.renameSeveral.before}</th>
            <th scope="col">{text.renameSeveral.after}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ entry, name, problem }) => (
            <tr key={entry.path} class={problem ? 'invalid' : name === entry.name ? 'same' : ''}>
              <td>
                <Name of={entry.name} />
              </td>
              <td>
                <Name of={name} />
                {problem && <span class="problem">{text.names.problems[problem]}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {!hasAll && <p class="hint">{text.changes.more({ count: planned.length - shown.length })}</p>}
    </div>
  );
}
