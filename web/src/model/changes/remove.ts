import { batch } from '@preact/signals';
import { nameOf, parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { asServiceError, isAbort } from '../../platform/service/service-error.ts';
import { moveFocusOff } from './follow.ts';
import type { Outcome, Under } from './operations.ts';
import type { Tools } from './change-context.ts';
import { reasonsOf, subjectOf } from './words.ts';

export interface Removal {
  /** Asks first. */
  remove(entries: readonly Entry[]): Promise<void>;
}

export function createRemoval(tools: Tools): Removal {
  const { service, folder, clipboard, messages, prompts, operations, language } = tools;

  const removeOne = async ({ path }: Entry, { signal, onProgress }: Under) => {
    try {
      await service.remove(path, { signal, onProgress });
    } catch (error) {
      if (!(await isGone(path, error))) throw error;
    }
  };

  /** Whether nothing is left in spite of an error: what is gone already, and what was cancelled too late, is removed. */
  const isGone = async (path: string, error: unknown): Promise<boolean> => {
    if (isAbort(error)) return !(await tools.isFolderThere(path));
    return asServiceError(error).code === 'not-found';
  };

  const removeAll = async (entries: readonly Entry[]) => {
    const paths = entries.map(({ path }) => path);
    const pending = batch(() => {
      moveFocusOff(folder, new Set(paths));
      return new Map(entries.map((entry) => [entry, folder.begin({ removed: [entry.path] })]));
    });
    const { text } = language.value;
    const outcome = await operations.perform(entries, {
      title: text.changes.deleting(subjectOf(paths)),
      touched: { written: paths },
      work: removeOne,
    });
    const removed = outcome.done.map(({ item }) => item);
    batch(() => {
      for (const entry of removed) {
        pending.get(entry)?.settle();
        pending.delete(entry);
      }
      clipboard.forget(removed.map(({ path }) => path));
      for (const change of pending.values()) change.takeBack();
    });
    if (removed.length < entries.length) tools.refresh(paths.map(parentOf), paths);
    tell(outcome, removed);
  };

  const tell = ({ failed, interrupted, left }: Outcome<Entry, void>, removed: readonly Entry[]) => {
    const { text } = language.value;
    const { changes } = text;
    const all = removed.length + failed.length + interrupted.length + left.length;
    const removedPaths = removed.map(({ path }) => path);
    if (interrupted.length + left.length > 0) {
      const detail = interrupted.map(({ path }) => changes.deletedInPart({ name: nameOf(path) })).join('\n');
      messages.say({
        kind: 'done',
        text: changes.deleteCancelled({ count: removed.length, all }),
        detail: detail === '' ? undefined : detail,
      });
    } else if (removed.length > 0) {
      messages.say({ kind: 'done', text: changes.deleted(subjectOf(removedPaths)) });
    }
    if (failed.length === 0) return;
    const isPassing = failed.some(({ error }) => error.isPassing);
    const count = failed.length;
    const run = () => void removeAll(failed.map(({ item }) => item));
    messages.say({
      kind: 'error',
      text:
        count < all
          ? changes.someNotDeleted({ count, all })
          : changes.notDeleted(subjectOf(failed.map(({ item }) => item.path))),
      detail: reasonsOf(
        failed.map(({ error }) => error),
        language.value,
      ),
      action: isPassing ? { label: text.controls.retry, run } : undefined,
    });
  };

  return {
    async remove(entries) {
      if (entries.length === 0) return;
      if (await prompts.confirmDelete(entries)) await removeAll(entries);
    },
  };
}
