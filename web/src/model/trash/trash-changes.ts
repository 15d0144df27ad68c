import { nameOf, parentOf, ROOT } from '../../platform/paths.ts';
import { folderEntry } from '../../platform/service/pages.ts';
import type { ChangedPath } from '../../platform/service/service.ts';
import { emptyTrash, purgeTrashed, restoreTrashed, type TrashedItem } from '../../platform/service/trash.ts';
import type { Text } from '../../platform/text/language.ts';
import type { Permissions } from '../account/permissions.ts';
import type { ChangeContext } from '../changes/change-context.ts';
import { describeErrors, subjectOf } from '../changes/change-texts.ts';
import type { Failed } from '../changes/operations.ts';

/** Returns whether the user may restore an item. The service decides in the end. */
export function mayRestore(permissions: Permissions, { path }: TrashedItem): boolean {
  return permissions.allowsIn(parentOf(path), 'write');
}

/** Returns whether the user may delete an item permanently. The service decides in the end. */
export function mayPurge(permissions: Permissions, { path }: TrashedItem): boolean {
  return permissions.allowsIn(parentOf(path), 'manage');
}

/** An item that was moved out of the trash. */
interface Restored extends ChangedPath {
  readonly item: TrashedItem;
}

/** Restores items, and shows a message with a button that opens the folder of one. Returns the restored items. */
export function restore(
  context: ChangeContext,
  items: readonly TrashedItem[],
  showInFolder: (path: string) => void,
): Promise<readonly TrashedItem[]> {
  return context.trackChange((offerUndo) => restoreAndReport({ ...context, offerUndo }, items, showInFolder));
}

async function restoreAndReport(
  context: ChangeContext,
  items: readonly TrashedItem[],
  showInFolder: (path: string) => void,
): Promise<readonly TrashedItem[]> {
  const { service, folder, messages, operations, permissions, language } = context;
  const { changes, trash } = language.value.text;
  const paths = items.map(({ path }) => path);
  const { done, failed } = await operations.perform(items, {
    title: changes.restoring(subjectOf(paths)),
    paths: { written: paths },
    work: ({ id }, options) => restoreTrashed(service, id, options),
  });
  const restored = done.map(({ item, result }) => ({ ...result, item }));
  // Without its size and time, a file would look empty until the refresh.
  const folders = restored.filter(({ item }) => item.type === 'folder').map(({ path }) => folderEntry(path));
  if (folders.length > 0) folder.apply({ added: folders });
  context.refresh(restored.map(({ path }) => parentOf(path)));
  sayNewNames(context, restored);
  if (failed.length > 0)
    reportFailed(context, failed, items.length, { one: changes.notRestored, some: changes.someNotRestored });
  const [first] = restored;
  if (first) {
    const said = changes.restored(subjectOf(restored.map(({ path }) => path)));
    messages.show({
      kind: 'done',
      text: said,
      action: { label: trash.showInFolder, run: () => showInFolder(first.path) },
    });
    // Undoing it deletes the items again.
    if (restored.every(({ path }) => permissions.allowsIn(parentOf(path), 'manage'))) {
      context.offerUndo(
        restored.map(({ change, path }) => ({ change, path, removed: [path], added: [] })),
        said,
      );
    }
  }
  return restored.map(({ item }) => item);
}

/** Shows under which names items were restored whose names were taken. */
function sayNewNames({ messages, language }: ChangeContext, restored: readonly Restored[]): void {
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

/** Deletes items permanently. Returns the deleted ones. */
export async function purge(context: ChangeContext, items: readonly TrashedItem[]): Promise<readonly TrashedItem[]> {
  const { service, messages, operations, language } = context;
  const { changes } = language.value.text;
  const paths = items.map(({ path }) => path);
  const { done, failed } = await operations.perform(items, {
    title: changes.deleting(subjectOf(paths)),
    // An item in the trash has no path that another change could use.
    paths: { written: [] },
    work: ({ id }, options) => purgeTrashed(service, id, options),
  });
  const purged = done.map(({ item }) => item);
  if (purged.length > 0) {
    messages.show({ kind: 'done', text: changes.deleted(subjectOf(purged.map(({ path }) => path))) });
  }
  if (failed.length > 0)
    reportFailed(context, failed, items.length, { one: changes.notDeleted, some: changes.someNotDeleted });
  return purged;
}

/** The texts of a failure: of all items, and of some of them. */
interface FailureTexts {
  readonly one: Text['changes']['notDeleted'];
  readonly some: Text['changes']['someNotDeleted'];
}

/** Shows which items failed, and why. */
function reportFailed(
  { messages, language }: ChangeContext,
  failed: readonly Failed<TrashedItem>[],
  all: number,
  { one, some }: FailureTexts,
): void {
  const count = failed.length;
  const errors = failed.map(({ error }) => error);
  messages.show({
    kind: 'error',
    text: count < all ? some({ count, all }) : one(subjectOf(failed.map(({ item }) => item.path))),
    detail: describeErrors(errors, language.value),
  });
}

/** Deletes permanently all items that the user may delete. The user can cancel it in the list of changes. */
export async function empty({ service, messages, operations, language }: ChangeContext): Promise<void> {
  const { trash } = language.value.text;
  // The root, because only operations on folders report progress and can be cancelled.
  const { done, failed, interrupted } = await operations.perform([{ path: ROOT }], {
    title: trash.emptying,
    paths: { written: [] },
    work: (_item, options) => emptyTrash(service, options),
  });
  const [emptied] = done;
  if (emptied) messages.show({ kind: 'done', text: trash.emptied({ count: emptied.result }) });
  if (interrupted.length > 0) messages.show({ kind: 'done', text: trash.emptyCancelled });
  for (const { error } of failed) {
    messages.show({ kind: 'error', text: trash.notEmptied, detail: language.value.reasonOf(error) });
  }
}
