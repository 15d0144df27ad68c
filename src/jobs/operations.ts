import type { Operation } from '../access/guard.ts';
import { createFolderKinds, folderJobOf } from './folder-operations.ts';
import type { JobKind } from './job.ts';
import type { FilesOfSubmitter } from './job-files.ts';
import { type TargetLog, type TargetStore, Targets } from './targets.ts';
import { createTrashKinds, trashJobOf } from './trash-operations.ts';

/**
 * Milliseconds after which no process starts a job that users started. Longer than all attempts and their delays, and than
 * most restarts; shorter than the age of most backups.
 */
const MAX_IDLE_MS = 60 * 60_000;

/**
 * Returns the kinds of jobs that users start. `filesOf` returns the files as the submitter may see and change them at
 * that moment. A job that is resumed continues from the work that is already done. `log`: the change log; undefined if changes are not recorded.
 */
export function createOperationKinds(
  filesOf: FilesOfSubmitter,
  store: TargetStore,
  log: TargetLog | undefined,
): readonly JobKind[] {
  const targets = new Targets(store, log);
  const kinds = [...createFolderKinds(filesOf, targets), ...createTrashKinds(filesOf, targets)];
  return kinds.map((kind) => ({ ...kind, maxIdleMs: MAX_IDLE_MS }));
}

/** Returns the kind and the input of the job for an operation. */
export function jobOf(operation: Operation): { readonly kind: string; readonly input: object } {
  switch (operation.action) {
    case 'restore':
    case 'delete from trash':
    case 'empty trash':
      return trashJobOf(operation);
    default:
      return folderJobOf(operation);
  }
}
