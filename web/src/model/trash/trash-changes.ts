import { parentOf, ROOT } from '../../platform/paths.ts';
import { emptyTrash, purgeTrashed, type TrashedItem } from '../../platform/service/trash.ts';
import type { Permissions } from '../account/permissions.ts';
import type { ChangeContext } from '../changes/change-context.ts';
import { describeErrors, subjectOf } from '../changes/change-texts.ts';
import type { Failed } from '../changes/operations.ts';
import { restoreItems } from '../changes/restore.ts';

/** Returns whether the user may restore an item. The service decides in the end. */
export function mayRestore(permissions: Permissions, { path }: TrashedItem): boolean {
  return permissions.allowsIn(parentOf(path), 'write');
}

/** Returns whether the user may delete an item permanently. The service decides in the end. */
export function mayPurge(permissions: Permissions, { path }: TrashedItem): boolean {
  return permissions.allowsIn(parentOf(path), 'manage');
}

/** Restores items, and shows a message with a button that opens the folder of one. Returns the restored items. */
export async function restore(
  context: ChangeContext,
  items: readonly TrashedItem[],
  showInFolder: (path: string) => void,
): Promise<readonly TrashedItem[]> {
  const restored = await restoreItems(context, items);
  const { changes, trash } = context.language.value.text;
  const [first] = restored;
  if (first) {
    context.messages.show({
      kind: 'done',
      text: changes.restored(subjectOf(restored.map(({ path }) => path))),
      action: { label: trash.showInFolder, run: () => showInFolder(first.path) },
    });
  }
  return restored.map(({ item }) => item);
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
  if (failed.length > 0) reportNotPurged(context, failed, items.length);
  return purged;
}

function reportNotPurged(
  { messages, language }: ChangeContext,
  failed: readonly Failed<TrashedItem>[],
  all: number,
): void {
  const { changes } = language.value.text;
  const count = failed.length;
  const subject = subjectOf(failed.map(({ item }) => item.path));
  messages.show({
    kind: 'error',
    text: count < all ? changes.someNotDeleted({ count, all }) : changes.notDeleted(subject),
    detail: describeErrors(
      failed.map(({ error }) => error),
      language.value,
    ),
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
