import type { Operation } from '../access/guard.ts';
import { createFolderKinds, folderJobOf } from './folder-operations.ts';
import type { JobKind } from './job.ts';
import type { FilesOfSubmitter } from './job-files.ts';
import { createTrashKinds, trashJobOf } from './trash-operations.ts';

/**
 * Returns the kinds of jobs that users start. `filesOf` returns the files as the submitter may see and change them at
 * that moment. A job that is resumed continues from the work that is already done.
 */
export function createOperationKinds(filesOf: FilesOfSubmitter): readonly JobKind[] {
  return [...createFolderKinds(filesOf), ...createTrashKinds(filesOf)];
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
