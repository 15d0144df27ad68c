import { batch, type Signal } from '@preact/signals';
import { isFolderPath, nameOf, parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import { entryAt, entryToBeAt } from './entries.ts';
import { follow } from './follow.ts';
import type { Item, Under } from './operations.ts';
import { NOT_BEGUN, type Tools } from './change-context.ts';

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
  const { service, folder, clipboard, messages, operations, language } = tools;
  const ask = async (entry: Entry, newName: string): Promise<Renamed> => {
    const title = language.value.text.changes.renaming({ name: entry.name });
    const { path } = entry;
    const size = entry.type === 'file' ? entry.size : undefined;
    const destination = pathFor(entry, newName);
    const work = async (_item: Item, under: Under): Promise<string> => {
      try {
        return await service.rename(path, newName, under);
      } catch (error) {
        // Whoever cancels late may find that it was done before.
        if (isAbort(error) && !(await tools.isFolderThere(path))) return destination;
        throw error;
      }
    };
    const touched = { written: [path, destination] };
    const { done, failed } = await operations.perform([{ path, destination, size }], { title, touched, work });
    return done[0]?.result ?? failed[0]?.error ?? null;
  };

  const change = async (entry: Entry, newName: string): Promise<Renamed> => {
    const wanted = pathFor(entry, newName);
    const pending = batch(() => {
      follow(tools, new Map([[entry.path, wanted]]));
      return folder.begin({ removed: [entry.path], added: [entryToBeAt(wanted, entry)] });
    });
    const renamed = await ask(entry, newName);
    batch(() => {
      if (typeof renamed === 'string') {
        pending.takeBack();
        folder.apply({ removed: [entry.path], added: [entryAt(renamed, entry)] });
        clipboard.follow(new Map([[entry.path, renamed]]));
      } else {
        // What was not begun has no old name to go back to: another may have it.
        if (renamed?.status !== NOT_BEGUN) follow(tools, new Map([[wanted, entry.path]]));
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
    else if (renamed)
      messages.say({ kind: 'error', text: text.changes.notUndone, detail: language.value.reasonOf(renamed) });
  };

  const reopen = (entry: Entry, name: string): boolean => {
    if (renaming.value !== null || folder.indexOf(entry.path) < 0) return false;
    const { taken: problem } = language.value.text.names.problems;
    draft.value = { path: entry.path, name, problem };
    renaming.value = entry.path;
    return true;
  };

  return async (entry, newName) => {
    if (newName === entry.name) return;
    const renamed = await change(entry, newName);
    const { text } = language.value;
    if (typeof renamed === 'string') {
      const run = () => void undo(entryAt(renamed, entry), entry.name);
      const said = text.changes.renamed({ before: entry.name, name: nameOf(renamed) });
      messages.say({ kind: 'done', text: said, action: { label: text.controls.undo, run } });
    } else if (renamed === null) {
      messages.say({ kind: 'done', text: text.names.notRenamed({ name: entry.name }) });
    } else if (!renamed.is(['already-exists', 'wrong-kind', 'name-taken'], 409) || !reopen(entry, newName)) {
      messages.say({
        kind: 'error',
        text: text.changes.notRenamed({ name: entry.name }),
        detail: language.value.reasonOf(renamed),
      });
    }
  };
}

function pathFor({ path, type }: Entry, name: string): string {
  return `${parentOf(path)}${name}${type === 'folder' ? '/' : ''}`;
}
