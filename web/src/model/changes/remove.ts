import { batch } from '@preact/signals';
import { nameOf, parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { asServiceError, isAbort } from '../../platform/service/service-error.ts';
import { type ChangeContext, canRetry, moveFocusOff } from './change-context.ts';
import { describeErrors, subjectOf } from './change-texts.ts';
import type { ItemContext, Outcome } from './operations.ts';

/** Asks for confirmation, and deletes entries. */
export async function removeEntries(context: ChangeContext, entries: readonly Entry[]): Promise<void> {
  if (entries.length === 0) return;
  if (await context.prompts.confirmDelete(entries)) await removeAll(context, entries);
}

/** Deletes entries. The page hides them at once, and shows those again that were not deleted. */
async function removeAll(context: ChangeContext, entries: readonly Entry[]): Promise<void> {
  const { folder, clipboard, operations, language } = context;
  const paths = pathsOf(entries);
  const pending = batch(() => {
    moveFocusOff(folder, new Set(paths));
    return new Map(entries.map((entry) => [entry, folder.begin({ removed: [entry.path] })]));
  });
  const { text } = language.value;
  const outcome = await operations.perform(entries, {
    title: text.changes.deleting(subjectOf(paths)),
    paths: { written: paths },
    work: (entry, item) => removeOne(context, entry, item),
  });
  const removed = outcome.done.map(({ item }) => item);
  batch(() => {
    for (const entry of removed) {
      pending.get(entry)?.commit();
      pending.delete(entry);
    }
    clipboard.forget(pathsOf(removed));
    for (const change of pending.values()) change.rollback();
  });
  if (removed.length < entries.length) context.refresh(paths.map(parentOf), paths);
  report(context, outcome);
}

async function removeOne(context: ChangeContext, { path }: Entry, { signal, onProgress }: ItemContext): Promise<void> {
  try {
    await context.service.remove(path, { signal, onProgress });
  } catch (error) {
    // The user may have cancelled after the service had deleted the folder.
    const isGone = isAbort(error) ? !(await context.folderExists(path)) : asServiceError(error).code === 'not-found';
    if (!isGone) throw error;
  }
}

/** Shows messages about the results, with a button that retries if that can help. */
function report(context: ChangeContext, outcome: Outcome<Entry, void>): void {
  const { messages, language } = context;
  const { done, failed, interrupted, notStarted } = outcome;
  const { text } = language.value;
  const { changes } = text;
  const all = done.length + failed.length + interrupted.length + notStarted.length;
  if (interrupted.length + notStarted.length > 0) {
    const detail = interrupted.map(({ path }) => changes.partlyDeleted({ name: nameOf(path) })).join('\n');
    messages.show({
      kind: 'done',
      text: changes.deleteCancelled({ count: done.length, all }),
      detail: detail === '' ? undefined : detail,
    });
  } else if (done.length > 0) {
    const removed = pathsOf(done.map(({ item }) => item));
    messages.show({ kind: 'done', text: changes.deleted(subjectOf(removed)) });
  }
  if (failed.length === 0) return;
  const items = failed.map(({ item }) => item);
  const errors = failed.map(({ error }) => error);
  const count = failed.length;
  const retry = { label: text.controls.retry, run: () => void removeAll(context, items) };
  messages.show({
    kind: 'error',
    text: count < all ? changes.someNotDeleted({ count, all }) : changes.notDeleted(subjectOf(pathsOf(items))),
    detail: describeErrors(errors, language.value),
    action: errors.some(canRetry) ? retry : undefined,
  });
}

const pathsOf = (entries: readonly Entry[]) => entries.map(({ path }) => path);
