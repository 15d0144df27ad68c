import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cleanUpAtExit } from '../../testing/exit-cleanup.ts';

/** A folder that is removed with its owner. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * Creates an empty folder in `parent`, which must have this number of free bytes. The folder is removed when it is disposed
 * of, or when this process ends.
 */
export async function makeTemporaryFolder(parent: string, bytesNeeded: number): Promise<TemporaryFolder> {
  const { bavail, bsize } = await statfs(parent);
  if (bavail * bsize < bytesNeeded) {
    throw new Error(
      `${parent} has ${gibibytes(bavail * bsize)} GiB free and this benchmark needs ${gibibytes(bytesNeeded)} GiB: ` +
        'choose another folder with --folder',
    );
  }
  const path = await mkdtemp(join(resolve(parent), 'holdall-bench-'));
  const release = cleanUpAtExit({ kind: 'folder', name: path });
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await rm(path, { recursive: true, force: true });
      release();
    },
  };
}

function gibibytes(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1);
}
