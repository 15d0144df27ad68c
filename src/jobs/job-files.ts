import type { GuardedFiles } from '../access/guard.ts';
import type { Submitter } from '../access/submitter.ts';
import type { RecordedChange } from '../files/recorded-files.ts';

/** Returns the files as a submitter may see and change them at that moment. */
export type FilesOfSubmitter = (submitter: Submitter, onRecorded?: (change: RecordedChange) => void) => GuardedFiles;

/**
 * Runs an operation, and adds the ID of its last change to the result. The ID is absent if the change log was unavailable,
 * or if an earlier attempt made the change.
 */
export async function withChange(
  run: (onRecorded: (change: RecordedChange) => void) => Promise<object>,
): Promise<object> {
  let change: string | undefined;
  const result = await run(({ id }) => {
    change = id;
  });
  return { ...result, ...(change !== undefined && { change }) };
}
