import { batch } from '@preact/signals';
import { ancestorsOf, nameOf, parentOf, ROOT } from '../../platform/paths.ts';
import { folderEntry } from '../../platform/service/pages.ts';
import type { Entry } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import { listTrash, restoreTrashed, type TrashedItem } from '../../platform/service/trash.ts';
import { type ChangeContext, entryAt, pendingEntryAt } from './change-context.ts';
import { describeErrors, subjectOf } from './change-texts.ts';
import type { Failed } from './operations.ts';

/** An item that was moved out of the trash, and its new path. */
export interface Restored<Item> {
  readonly item: Item;
  readonly path: string;
}

/** Restores entries that the user has just moved to the trash. */
export async function restoreDeleted(context: ChangeContext, entries: readonly Entry[]): Promise<void> {
  const { service, folder, messages, operations, language, trashChanges } = context;
  const paths = entries.map(({ path }) => path);
  const pending = batch(() => entries.map((entry) => folder.begin({ added: [pendingEntryAt(entry.path, entry)] })));
  // One search for all entries, which the first of them starts: the entries can still be on their way to the trash.
  let found: Promise<ReadonlyMap<string, TrashedItem>> | undefined;
  const { done, failed } = await operations.perform(entries, {
    title: language.value.text.changes.restoring(subjectOf(paths)),
    paths: { written: paths },
    async work({ path }, item) {
      found ??= findDeleted(context, paths);
      const trashed = (await found).get(path);
      if (!trashed) throw new ServiceError(404, 'The item is no longer in the trash.', { code: 'not-found' });
      return restoreTrashed(service, trashed.id, item);
    },
  });
  batch(() => {
    for (const { item, result } of done) folder.apply({ added: [entryAt(result, item)] });
    for (const change of pending) change.rollback();
    trashChanges.value++;
  });
  context.refresh(paths.map(parentOf));
  if (done.length > 0) messages.announce(language.value.text.changes.undone);
  reportNewNames(
    context,
    done.map(({ item, result }) => ({ item, path: result })),
  );
  if (failed.length === 0) return;
  const { text } = language.value;
  const items = failed.map(({ item }) => item);
  messages.show({
    kind: 'error',
    text: text.changes.notUndone,
    detail: describeErrors(errorsOf(failed), language.value),
    action: failed.some(({ error }) => error.isTransient)
      ? { label: text.controls.retry, run: () => void restoreDeleted(context, items) }
      : undefined,
  });
}

/** Returns the most recently deleted item of each path. */
async function findDeleted(
  { service }: ChangeContext,
  paths: readonly string[],
): Promise<ReadonlyMap<string, TrashedItem>> {
  const missing = new Set(paths);
  const found = new Map<string, TrashedItem>();
  const folder = commonFolder(paths);
  let cursor: string | undefined;
  do {
    const page = await listTrash(service, { folder, cursor });
    for (const item of page.entries) if (missing.delete(item.path)) found.set(item.path, item);
    ({ cursor } = page);
  } while (cursor !== undefined && missing.size > 0);
  return found;
}

/** Returns the deepest folder that contains all paths. */
function commonFolder(paths: readonly string[]): string {
  const ancestors = [ROOT, ...ancestorsOf(parentOf(paths[0] ?? ROOT))];
  return ancestors.findLast((folder) => paths.every((path) => path.startsWith(folder))) ?? ROOT;
}

/** Moves items out of the trash. Shows a message for those that failed, and returns the others. */
export async function restoreItems(
  context: ChangeContext,
  items: readonly TrashedItem[],
): Promise<readonly Restored<TrashedItem>[]> {
  const { service, folder, operations, language } = context;
  const paths = items.map(({ path }) => path);
  const { text } = language.value;
  const { done, failed } = await operations.perform(items, {
    title: text.changes.restoring(subjectOf(paths)),
    paths: { written: paths },
    work: ({ id }, item) => restoreTrashed(service, id, item),
  });
  const restored = done.map(({ item, result }) => ({ item, path: result }));
  // Without its size and time, a file would look empty until the refresh.
  const folders = restored.filter(({ item }) => item.type === 'folder').map(({ path }) => folderEntry(path));
  if (folders.length > 0) folder.apply({ added: folders });
  context.refresh(restored.map(({ path }) => parentOf(path)));
  reportNewNames(context, restored);
  if (failed.length > 0) reportNotRestored(context, failed, items.length);
  return restored;
}

/** Shows under which names items were restored whose names were taken. */
function reportNewNames(
  { messages, language }: ChangeContext,
  restored: readonly Restored<{ readonly path: string }>[],
): void {
  const { changes } = language.value.text;
  const renamed = restored.filter(({ item, path }) => item.path !== path);
  const [first] = renamed;
  if (!first) return;
  const before = nameOf(first.item.path);
  messages.show({
    kind: 'done',
    text: changes.restoredAs({ count: renamed.length, before, name: nameOf(first.path) }),
  });
}

function reportNotRestored(
  { messages, language }: ChangeContext,
  failed: readonly Failed<TrashedItem>[],
  all: number,
): void {
  const { changes } = language.value.text;
  const count = failed.length;
  const subject = subjectOf(failed.map(({ item }) => item.path));
  messages.show({
    kind: 'error',
    text: count < all ? changes.someNotRestored({ count, all }) : changes.notRestored(subject),
    detail: describeErrors(errorsOf(failed), language.value),
  });
}

const errorsOf = (failed: readonly Failed<{ readonly path: string }>[]) => failed.map(({ error }) => error);
