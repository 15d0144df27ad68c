import { batch } from '@preact/signals';
import { parentOf } from '../paths.ts';
import type { Entry } from '../service/service.ts';
import { asServiceError } from '../service/service-error.ts';
import { moveFocusOff } from './follow.ts';
import type { Outcome, Under } from './operations.ts';
import { askWhetherToRemove } from './remove-question.tsx';
import type { Tools } from './tools.ts';
import { reasonsOf, whatOf } from './words.ts';

export interface Removal {
  /** Asks first. */
  remove(entries: readonly Entry[]): Promise<void>;
}

export function createRemoval(tools: Tools): Removal {
  const { service, folder, clipboard, messages, dialogs, operations, turns, language } = tools;

  const removeOne = async ({ path }: Entry, { signal, onProgress }: Under) => {
    try {
      await service.remove(path, { signal, onProgress });
    } catch (error) {
      // What is gone already is as it should be.
      if (asServiceError(error).status !== 404) throw error;
    }
  };

  /** Those of which nothing is left though they were cancelled: the removal went on to its end. */
  const goneOf = async (interrupted: readonly Entry[]): Promise<readonly Entry[]> => {
    const isThere = await Promise.all(interrupted.map(({ path }) => tools.isFolderThere(path)));
    return interrupted.filter((_entry, index) => !isThere[index]);
  };

  const removeAll = async (entries: readonly Entry[]) => {
    const paths = entries.map(({ path }) => path);
    const pending = batch(() => {
      moveFocusOff(folder, new Set(paths));
      return new Map(entries.map((entry) => [entry, folder.begin({ removed: [entry.path] })]));
    });
    const { text } = language.value;
    const outcome = await turns.inTurn({ written: paths }, () =>
      operations.perform(text.changes.deleting(whatOf(paths, text)), entries, removeOne),
    );
    const gone = await goneOf(outcome.interrupted);
    const removed = [...outcome.done.map(({ item }) => item), ...gone];
    batch(() => {
      for (const entry of removed) {
        pending.get(entry)?.settle();
        pending.delete(entry);
        clipboard.forget(entry.path);
      }
      for (const change of pending.values()) change.takeBack();
    });
    if (removed.length < entries.length) tools.refresh(paths.map(parentOf), paths);
    tell({ ...outcome, interrupted: outcome.interrupted.filter((entry) => !gone.includes(entry)) }, removed);
  };

  const tell = ({ failed, interrupted, left }: Outcome<Entry, void>, removed: readonly Entry[]) => {
    const { text } = language.value;
    const { changes } = text;
    const all = removed.length + failed.length + interrupted.length + left.length;
    const removedPaths = removed.map(({ path }) => path);
    if (interrupted.length + left.length > 0) {
      const detail = interrupted.map(({ path }) => changes.deletedInPart(whatOf([path], text))).join('\n');
      messages.say({
        kind: 'done',
        text: changes.deleteCancelled(removed.length, all),
        detail: detail === '' ? undefined : detail,
      });
    } else if (removed.length > 0) {
      messages.say({ kind: 'done', text: changes.deleted(whatOf(removedPaths, text)) });
    }
    if (failed.length === 0) return;
    const isPassing = failed.some(({ error }) => error.isPassing);
    const what = all === 1 ? whatOf([failed[0]?.item.path ?? ''], text) : changes.some(failed.length, all);
    const run = () => void removeAll(failed.map(({ item }) => item));
    messages.say({
      kind: 'error',
      text: changes.notDeleted(what),
      detail: reasonsOf(
        failed.map(({ error }) => error),
        text,
      ),
      action: isPassing ? { label: text.controls.retry, run } : undefined,
    });
  };

  return {
    async remove(entries) {
      if (entries.length === 0) return;
      if (await askWhetherToRemove(dialogs, entries)) await removeAll(entries);
    },
  };
}
