import { batch, type Signal } from '@preact/signals';
import { isFolderPath, nameOf, parentOf } from '../paths.ts';
import type { Entry } from '../service/service.ts';
import type { ServiceError } from '../service/service-error.ts';
import { entryAt, entryToBeAt } from './entries.ts';
import { follow } from './follow.ts';
import type { Tools } from './tools.ts';
import { whatOf, wordsOf } from './words.ts';

/** What was typed for a name that is being edited, kept while its row is out of sight. */
export interface Draft {
  /** The entry whose name it is to be. */
  readonly path: string;
  readonly name: string;
  /** Why it was not taken. */
  readonly problem: string | undefined;
}

interface Editing {
  readonly renaming: Signal<string | null>;
  readonly draft: Signal<Draft | null>;
}

/** What became of a rename: the new path, an error, or null where it was cancelled. */
type Renamed = string | ServiceError | null;

export function createRename(
  tools: Tools,
  { renaming, draft }: Editing,
): (entry: Entry, newName: string) => Promise<void> {
  const { service, folder, clipboard, messages, operations, turns, language } = tools;
  const ask = async (entry: Entry, newName: string): Promise<Renamed> => {
    const title = language.value.text.changes.renaming(whatOf([entry.path], language.value.text));
    const { done, failed } = await operations.perform(title, [entry], (item, under) =>
      service.rename(item.path, newName, under),
    );
    if (done[0]) return done[0].result;
    if (failed[0]) return failed[0].error;
    // Whoever cancels late may find that it was done before.
    return (await tools.isFolderThere(entry.path)) ? null : pathFor(entry, newName);
  };

  const change = async (entry: Entry, newName: string): Promise<Renamed> => {
    const wanted = pathFor(entry, newName);
    const pending = batch(() => {
      follow(tools, new Map([[entry.path, wanted]]));
      return folder.begin({ removed: [entry.path], added: [entryToBeAt(wanted, entry)] });
    });
    const renamed = await turns.inTurn({ written: [entry.path, wanted] }, () => ask(entry, newName));
    batch(() => {
      if (typeof renamed === 'string') {
        pending.takeBack();
        folder.apply({ removed: [entry.path], added: [entryAt(renamed, entry)] });
        clipboard.follow(entry.path, renamed);
      } else {
        follow(tools, new Map([[wanted, entry.path]]));
        pending.takeBack();
      }
    });
    // A file has other properties by its new name; of a folder all is known.
    if (!isFolderPath(entry.path) || typeof renamed !== 'string') tools.refresh([parentOf(entry.path)], [entry.path]);
    return renamed;
  };

  const undo = async (entry: Entry, name: string) => {
    const { text } = language.value;
    const renamed = await change(entry, name);
    if (typeof renamed === 'string') messages.announce(text.changes.undone);
    else if (renamed) messages.say({ kind: 'error', text: text.changes.notUndone, detail: wordsOf(renamed, text) });
  };

  const reopen = (entry: Entry, name: string): boolean => {
    if (renaming.value !== null || folder.indexOf(entry.path) < 0) return false;
    const { taken: problem } = language.value.text.changes.nameProblems;
    draft.value = { path: entry.path, name, problem };
    renaming.value = entry.path;
    return true;
  };

  return async (entry, newName) => {
    if (newName === entry.name) return;
    const renamed = await change(entry, newName);
    const { text } = language.value;
    const what = whatOf([entry.path], text);
    if (typeof renamed === 'string') {
      const run = () => void undo(entryAt(renamed, entry), entry.name);
      const said = text.changes.renamed(what, nameOf(renamed));
      messages.say({ kind: 'done', text: said, action: { label: text.controls.undo, run } });
    } else if (renamed === null) {
      messages.say({ kind: 'done', text: text.changes.notRenamedYet(what) });
    } else if (renamed.status !== 409 || !reopen(entry, newName)) {
      messages.say({ kind: 'error', text: text.changes.notRenamed(what), detail: wordsOf(renamed, text) });
    }
  };
}

function pathFor({ path, type }: Entry, name: string): string {
  return `${parentOf(path)}${name}${type === 'folder' ? '/' : ''}`;
}
