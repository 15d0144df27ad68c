import { batch } from '@preact/signals';
import { nameOf, parentOf } from '../../platform/paths.ts';
import type { Changed, Entry } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ProblemCode, type ServiceError } from '../../platform/service/service-error.ts';
import type { Message } from '../messages.ts';
import { type ChangeContext, canRetry, moveFocusOff } from './change-context.ts';
import { describeErrors, subjectOf } from './change-texts.ts';
import type { ItemContext, Outcome } from './operations.ts';

/** Asks for confirmation, and deletes entries permanently. */
export async function removeEntries(context: ChangeContext, entries: readonly Entry[]): Promise<void> {
  if (entries.length === 0) return;
  if (await context.prompts.confirmDelete(entries)) await removeAll(context, entries, 'delete');
}

/** Moves entries to the trash, without confirmation: the message has a button that restores them. */
export async function moveEntriesToTrash(context: ChangeContext, entries: readonly Entry[]): Promise<void> {
  if (entries.length > 0) await removeAll(context, entries, 'trash');
}

/** Whether entries are deleted permanently or moved to the trash. */
type RemovalKind = 'delete' | 'trash';

/** Removes entries. The page hides them at once, and shows those again that were not removed. */
function removeAll(context: ChangeContext, entries: readonly Entry[], kind: RemovalKind): Promise<void> {
  return context.trackChange((offerUndo) => removeAndReport({ ...context, offerUndo }, entries, kind));
}

async function removeAndReport(context: ChangeContext, entries: readonly Entry[], kind: RemovalKind): Promise<void> {
  const { folder, clipboard, operations, language, hasTrash, trashChanges } = context;
  const paths = pathsOf(entries);
  const pending = batch(() => {
    moveFocusOff(folder, new Set(paths));
    return new Map(entries.map((entry) => [entry, folder.begin({ removed: [entry.path] })]));
  });
  const { changes } = language.value.text;
  const permanent = hasTrash && kind === 'delete';
  const outcome = await operations.perform(entries, {
    title: (kind === 'trash' ? changes.movingToTrash : changes.deleting)(subjectOf(paths)),
    paths: { written: paths },
    work: (entry, item) => removeOne(context, entry, { ...item, permanent }),
  });
  const removed = outcome.done.map(({ item }) => item);
  batch(() => {
    for (const entry of removed) {
      pending.get(entry)?.commit();
      pending.delete(entry);
    }
    clipboard.forget(pathsOf(removed));
    for (const change of pending.values()) change.rollback();
    if (kind === 'trash') trashChanges.value++;
  });
  if (removed.length < entries.length) context.refresh(paths.map(parentOf), paths);
  report(context, outcome, kind);
}

async function removeOne(
  context: ChangeContext,
  { path }: Entry,
  options: ItemContext & { readonly permanent: boolean },
): Promise<Changed> {
  try {
    return await context.service.remove(path, options);
  } catch (error) {
    // The user may have cancelled after the service had deleted the folder.
    const isGone = isAbort(error) ? !(await context.folderExists(path)) : asServiceError(error).code === 'not-found';
    if (!isGone) throw error;
    return {};
  }
}

/** Shows messages about the results, with buttons to undo a move to the trash and to retry failed items. */
function report(context: ChangeContext, outcome: Outcome<Entry, Changed>, kind: RemovalKind): void {
  const { messages, permissions, language } = context;
  const { done, failed, interrupted, notStarted } = outcome;
  const { changes } = language.value.text;
  const all = done.length + failed.length + interrupted.length + notStarted.length;
  const removed = done.map(({ item }) => item);
  const canRestore = removed.length > 0 && removed.every(({ path }) => permissions.allowsIn(parentOf(path), 'write'));
  const undoable = done.map(({ item, result: { change } }) => ({
    change,
    path: item.path,
    removed: [],
    added: [item],
  }));
  const said = (kind === 'trash' ? changes.movedToTrash : changes.deleted)(subjectOf(pathsOf(removed)));
  const action = kind === 'trash' && canRestore ? context.offerUndo(undoable, said) : undefined;
  if (interrupted.length + notStarted.length > 0) {
    const detail = interrupted.map(({ path }) => changes.partlyDeleted({ name: nameOf(path) })).join('\n');
    messages.show({
      kind: 'done',
      text: changes.deleteCancelled({ count: done.length, all }),
      detail: detail === '' ? undefined : detail,
      action,
    });
  } else if (removed.length > 0) {
    messages.show({ kind: 'done', text: said, action });
  }
  if (failed.length === 0) return;
  const items = failed.map(({ item }) => item);
  const errors = failed.map(({ error }) => error);
  const count = failed.length;
  messages.show({
    kind: 'error',
    text: count < all ? changes.someNotDeleted({ count, all }) : changes.notDeleted(subjectOf(pathsOf(items))),
    detail: describeErrors(errors, language.value),
    action: remedyOf(context, items, errors, kind),
  });
}

/** Returns the button for entries that were not removed; undefined if none can help. */
function remedyOf(
  context: ChangeContext,
  entries: readonly Entry[],
  errors: readonly ServiceError[],
  kind: RemovalKind,
): Message['action'] {
  const { actions, controls } = context.language.value.text;
  if (kind === 'trash' && errors.some((error) => error.is(NO_TRASH))) {
    return { label: actions.deletePermanently, run: () => void removeEntries(context, entries) };
  }
  if (!errors.some(canRetry)) return undefined;
  return { label: controls.retry, run: () => void removeAll(context, entries, kind) };
}

/** The errors of items that can't be moved to the trash: on another file system than the trash, or on a full disk. */
const NO_TRASH: readonly ProblemCode[] = ['other-file-system', 'unsupported', 'store-full'];

const pathsOf = (entries: readonly Entry[]) => entries.map(({ path }) => path);
