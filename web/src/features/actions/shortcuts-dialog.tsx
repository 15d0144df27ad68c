import { useFullLanguage } from '../../platform/text/language.ts';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { usePreferences } from '../models.ts';
import { useActions } from './actions.ts';
import { keyNames, LIST_SHORTCUTS, PAGE_SHORTCUTS, type Shortcut } from './shortcut-list.ts';
import './shortcuts-dialog.css';

/** Shows the keyboard shortcuts. Resolves when the dialog closes. */
export async function openShortcuts(dialogs: Dialogs): Promise<void> {
  await dialogs.open<never>((close) => <Shortcuts onClose={() => close(null)} />);
}

function Shortcuts({ onClose }: { onClose: () => void }) {
  const actions = useActions();
  const { text } = useFullLanguage();
  const labels = text.shortcuts;
  const { characterKeys } = usePreferences();
  return (
    <Dialog title={text.shell.shortcuts} kind="wide" onClose={onClose}>
      <div class="shortcuts">
        <div>
          <Section title={labels.items} shortcuts={LIST_SHORTCUTS.map(([name, keys]) => [labels[name], keys])} />
          <Section title={labels.everywhere} shortcuts={PAGE_SHORTCUTS.map(([name, keys]) => [labels[name], keys])} />
        </div>
        <Section
          title={labels.actions}
          shortcuts={actions
            .permitted()
            .filter(({ keys }) => keys.length > 0)
            .map(({ id, keys }) => [text.actions[id], keys])}
        />
      </div>
      <label class="character-keys">
        <input
          type="checkbox"
          checked={characterKeys.value}
          onChange={({ currentTarget }) => {
            characterKeys.value = currentTarget.checked;
          }}
        />
        {labels.characterKeys}
      </label>
    </Dialog>
  );
}

function Section({ title, shortcuts }: { title: string; shortcuts: readonly Shortcut<string>[] }) {
  const names = keyNames(useFullLanguage().text);
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {shortcuts.map(([name, keys]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{keyLabel(key, names)}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
