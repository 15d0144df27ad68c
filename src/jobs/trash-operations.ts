import { Type } from 'typebox';
import type { GuardedFiles, TrashOperation } from '../access/guard.ts';
import { coalesced } from '../concurrency/coalesced.ts';
import { exists, isStoreError } from '../model/error.ts';
import { parseKeptId } from '../model/kept-ids.ts';
import { type FilePath, type FolderPath, isFolder, parseFile, parseFolder } from '../model/path.ts';
import type { Progress } from '../model/store.ts';
import { defineKind, type JobContext, type JobKind } from './job.ts';
import { type FilesOfSubmitter, withChange } from './job-files.ts';
import { itemsOf, type Targets } from './targets.ts';

const Item = Type.Object({ id: Type.String(), source: Type.String() });
const Restore = Type.Object({ ...Item.properties, destination: Type.String(), rename: Type.Boolean() });
const Empty = Type.Object({ folder: Type.String() });

/** The kind of a job that restores an item. */
export const RESTORE_KIND = 'restore-from-trash';

/** Returns the kind and the input of the job for an operation. */
export function trashJobOf(operation: TrashOperation): { readonly kind: string; readonly input: object } {
  if (operation.action === 'empty trash') return { kind: 'empty-trash', input: { folder: operation.folder } };
  const { id, from: source } = operation;
  if (operation.action === 'delete from trash') return { kind: 'delete-from-trash', input: { id, source } };
  const { to: destination, rename } = operation;
  return { kind: RESTORE_KIND, input: { id, source, destination, rename } };
}

/** Returns the kinds of operations on the trash. */
export function createTrashKinds(filesOf: FilesOfSubmitter, targets: Targets): readonly JobKind[] {
  const restore = defineKind({
    name: RESTORE_KIND,
    input: Restore,
    run: ({ id, destination, rename }, context) => {
      const to = parsePath(destination);
      return withChange((onRecorded) =>
        runRestore(filesOf(context.submitter, onRecorded), { id, to, rename }, context),
      );
    },
    confirm: ({ id, source, destination, rename }, submitter) =>
      filesOf(submitter).requireOperation({
        action: 'restore',
        id: parseKeptId(id),
        from: parsePath(source),
        to: parsePath(destination),
        rename,
      }),
  });
  const purge = defineKind({
    name: 'delete-from-trash',
    input: Item,
    async run({ id }, { submitter, isResumed, signal, onProgress }) {
      await filesOf(submitter)
        .purgeTrashed(parseKeptId(id), { signal, onProgress })
        .catch((error: unknown) => {
          // The last attempt deleted it, but ended before that was stored.
          if (!isResumed || !isStoreError(error, 'not-found')) throw error;
        });
      return {};
    },
    confirm: ({ id, source }, submitter) =>
      filesOf(submitter).requireOperation({
        action: 'delete from trash',
        id: parseKeptId(id),
        from: parsePath(source),
      }),
  });
  const empty = defineKind({
    name: 'empty-trash',
    input: Empty,
    targetOf: ({ folder }) => targets.ofTrash(parseFolder(folder)),
    async run(input, { submitter, signal, checkpoint, save, onProgress, ...attempt }) {
      const folder = parseFolder(input.folder);
      const isMeant = itemsOf(folder, attempt);
      let removed = removedBefore(checkpoint);
      // The database can be full, and emptying the trash can free its space. A kill loses the last milliseconds.
      const saveRemoved = coalesced(() => save({ removed }).catch(() => {}));
      const countRemoved = (progress: Progress) => {
        removed++;
        void saveRemoved();
        onProgress(progress);
      };
      try {
        await filesOf(submitter).emptyTrash({ folder, isMeant, signal, onProgress: countRemoved });
      } finally {
        await saveRemoved();
      }
      return { removed };
    },
    confirm: ({ folder }, submitter) =>
      filesOf(submitter).requireOperation({ action: 'empty trash', folder: parseFolder(folder) }),
  });
  return [restore, purge, empty];
}

async function runRestore(
  files: GuardedFiles,
  { id, to, rename }: { readonly id: string; readonly to: FilePath | FolderPath; readonly rename: boolean },
  { checkpoint, save, signal, onProgress }: JobContext,
): Promise<object> {
  const permit = (path: FilePath | FolderPath) => save({ path });
  try {
    return { path: await files.restoreTrashed(parseKeptId(id), { to, rename, permit, signal, onProgress }) };
  } catch (error) {
    // The last attempt restored it, but ended before that was stored.
    const attempted = isStoreError(error, 'not-found') ? attemptedPath(checkpoint) : undefined;
    if (attempted === undefined || !(await isPresent(files, attempted))) throw error;
    return { path: attempted };
  }
}

/** Returns the number of items that earlier attempts removed from the trash. */
function removedBefore(checkpoint: object | undefined): number {
  return checkpoint && 'removed' in checkpoint ? Number(checkpoint.removed) : 0;
}

/** Returns the path to which an earlier attempt began to restore the item; undefined if none did. */
function attemptedPath(checkpoint: object | undefined): FilePath | FolderPath | undefined {
  return checkpoint && 'path' in checkpoint ? parsePath(String(checkpoint.path)) : undefined;
}

function isPresent(files: GuardedFiles, path: FilePath | FolderPath): Promise<boolean> {
  return exists(isFolder(path) ? files.list(path, { limit: 1 }) : files.stat(path));
}

/** Parses a path in the form in which jobs are stored: the paths of folders end with "/". */
function parsePath(text: string): FilePath | FolderPath {
  return text.endsWith('/') ? parseFolder(text) : parseFile(text);
}
