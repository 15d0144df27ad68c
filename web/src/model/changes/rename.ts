import { batch, type Signal } from '@preact/signals';
import { isFolderPath, nameOf, parentOf } from '../../platform/paths.ts';
import type { ChangedPath, Entry } from '../../platform/service/service.ts';
import { asServiceError, isAbort, ServiceError } from '../../platform/service/service-error.ts';
import { type ChangeContext, entryAt, FAILED_DEPENDENCY, pendingEntryAt, remapPaths } from './change-context.ts';
import type { ItemContext } from './operations.ts';
import type { RetryableTransfers } from './transfer-requests.ts';

/** The text in the name field of an entry. It survives while the row of the entry is not rendered. */
export interface Draft {
  /** The path of the entry. */
  readonly path: string;
  readonly name: string;
  /** Why the service rejected the name. */
  readonly problem: string | undefined;
}

export interface RenameContext extends ChangeContext {
  /** The path of the entry whose name is being edited. */
  readonly renaming: Signal<string | null>;
  readonly draft: Signal<Draft | null>;
  readonly transfers: Pick<RetryableTransfers, 'isGone'>;
}

/** Renames an entry. If the name was taken meanwhile, opens the name field again; otherwise shows a message. */
export async function renameEntry(context: RenameContext, entry: Entry, newName: string): Promise<void> {
  if (newName !== entry.name)
    await context.trackChange((offerUndo) => renameAndReport({ ...context, offerUndo }, entry, newName));
}

async function renameAndReport(context: RenameContext, entry: Entry, newName: string): Promise<void> {
  const { messages, language } = context;
  const result = await rename(context, entry, newName);
  const { text } = language.value;
  if (result === null) {
    messages.show({ kind: 'done', text: text.names.notRenamed({ name: entry.name }) });
  } else if (!(result instanceof ServiceError)) {
    const { path, change } = result;
    const said = text.changes.renamed({ before: entry.name, name: nameOf(path) });
    const action = context.offerUndo([{ change, path, removed: [path], added: [entry] }], said);
    messages.show({ kind: 'done', text: said, action });
  } else if (!isNameRejected(result) || !reopen(context, rejectedName(context, entry, newName, result))) {
    const said = text.changes.notRenamed({ name: entry.name });
    messages.show({ kind: 'error', text: said, detail: language.value.reasonOf(result) });
  }
}

function isNameRejected(error: ServiceError): boolean {
  return error.is(['already-exists', 'wrong-kind', 'name-taken'], 409);
}

/** Returns the rejected name with the reason: the name can be taken by an item of the other kind. */
function rejectedName({ language }: RenameContext, { path }: Entry, name: string, error: ServiceError): Draft {
  const { reasonOf, text } = language.value;
  return { path, name, problem: error.code === 'wrong-kind' ? reasonOf(error) : text.names.problems.taken };
}

/** Null if the user cancelled. */
type RenameResult = ChangedPath | ServiceError | null;

/** Shows the new name at once, and the old one again if the rename fails. */
async function rename(context: RenameContext, entry: Entry, newName: string): Promise<RenameResult> {
  const { folder, clipboard } = context;
  const expected = pathWithName(entry, newName);
  const pending = batch(() => {
    remapPaths(context, new Map([[entry.path, expected]]));
    return folder.begin({ removed: [entry.path], added: [pendingEntryAt(expected, entry)] });
  });
  const result = await sendRename(context, entry, newName);
  const isRenamed = result !== null && !(result instanceof ServiceError);
  batch(() => {
    if (isRenamed) {
      pending.rollback();
      folder.apply({ removed: [entry.path], added: [entryAt(result.path, entry)] });
      clipboard.remapPaths(new Map([[entry.path, result.path]]));
    } else {
      // If an earlier change failed, the old path can be that of another entry by now.
      if (result?.status !== FAILED_DEPENDENCY) remapPaths(context, new Map([[expected, entry.path]]));
      pending.rollback();
    }
  });
  // A renamed file can have another content type and ETag. A renamed folder only has another path.
  if (!isFolderPath(entry.path) || !isRenamed) context.refresh([parentOf(entry.path)], [entry.path]);
  return result;
}

async function sendRename(context: RenameContext, entry: Entry, newName: string): Promise<RenameResult> {
  const { service, operations, language } = context;
  const { text } = language.value;
  const { path } = entry;
  const destination = pathWithName(entry, newName);
  const item = { path, destination, size: entry.type === 'file' ? entry.size : undefined };
  const { done, failed } = await operations.perform([item], {
    title: text.changes.renaming({ name: entry.name }),
    paths: { written: [path, destination] },
    async work(_item, itemContext: ItemContext): Promise<ChangedPath> {
      try {
        return await service.rename(path, newName, itemContext);
      } catch (error) {
        if (await hasRenamed(context, { path, destination, error })) return { path: destination };
        throw error;
      }
    },
  });
  return done[0]?.result ?? failed[0]?.error ?? null;
}

/** Returns whether the service renamed the entry, although the user cancelled the request or its response was lost. */
export async function hasRenamed(
  { transfers }: RenameContext,
  { path, destination, error }: { readonly path: string; readonly destination: string; readonly error: unknown },
): Promise<boolean> {
  if (isAbort(error)) return transfers.isGone(path);
  if (!asServiceError(error).isOutcomeUnknown) return false;
  return (await transfers.isGone(path)) && !(await transfers.isGone(destination));
}

/** Opens the name field of an entry with a rejected name. Returns false if that is impossible. */
function reopen({ renaming, draft, folder }: RenameContext, rejected: Draft): boolean {
  if (renaming.value !== null || folder.indexOf(rejected.path) < 0) return false;
  draft.value = rejected;
  renaming.value = rejected.path;
  return true;
}

function pathWithName({ path, type }: Entry, name: string): string {
  return `${parentOf(path)}${name}${type === 'folder' ? '/' : ''}`;
}
