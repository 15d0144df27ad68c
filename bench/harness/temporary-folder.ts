import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cleanUpAtExit } from '../../testing/exit-cleanup.ts';

/** A folder that goes with its owner, with all that is in it. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * Makes an empty folder below `parent`, which has to hold so many bytes more.
 * It is removed when it is disposed of, and at the latest when this process ends.
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
