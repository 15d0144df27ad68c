import type { FolderPath } from '../../model/path.ts';
import type { Cancellable, Replacing, Reporting, Store } from '../../model/store.ts';
import type { TreeEntry } from './branch/objects.ts';
import { createMeasuring, type Measure, requireLengths } from './branch/snapshots.ts';
import type { Trees } from './branch/trees.ts';
import { copyFolder, createFolder, moveFolder, removeFolder, removeTree } from './commits/changes.ts';
import type { CommitQueue } from './commits/commit-queue.ts';

type FolderOperations = Required<
  Pick<Store, 'createFolder' | 'removeFolder' | 'copyFolder' | 'moveFolder' | 'removeTree'>
>;

/** Creates the folder operations. Each is one change in one commit, whatever the size of the folder. */
export function createFolderOperations(queue: CommitQueue, trees: Trees): FolderOperations {
  const measure = createMeasuring(trees);

  const transfer =
    (change: typeof copyFolder) =>
    async (from: FolderPath, to: FolderPath, { replace, signal, onProgress }: Replacing & Reporting & Cancellable) => {
      const progress = reporting({ onProgress });
      // A path can only become too long if the new folder path is longer than the old one.
      const mayBeTooLong = Buffer.byteLength(to) > Buffer.byteLength(from);
      const weigh = async ({ sha }: TreeEntry) => {
        if (!mayBeTooLong && !onProgress) return;
        const found = await measure(sha, { atAnyCost: mayBeTooLong, signal });
        if (found) requireLengths(found, from, to);
        progress.begin(found);
      };
      await queue.run(change(from, to, { replace, weigh }), signal);
      progress.end();
    };

  return {
    createFolder: async (folder, { signal } = {}) => queue.run(createFolder(folder), signal),
    removeFolder: (folder, { signal } = {}) => queue.run(removeFolder(folder), signal),
    copyFolder: transfer(copyFolder),
    moveFolder: transfer(moveFolder),

    async removeTree(folder, { signal, onProgress } = {}) {
      const progress = reporting({ onProgress });
      const weigh = async ({ sha }: TreeEntry) => {
        if (onProgress) progress.begin(await measure(sha, { atAnyCost: false, signal }));
      };
      await queue.run(removeTree(folder, weigh), signal);
      progress.end();
    },
  };
}

/** Reports the progress of a single-step operation: nothing at the beginning, everything at the end. */
function reporting({ onProgress }: Reporting) {
  let known: Measure | undefined;
  const report = (done: number, bytes: number) => onProgress?.({ done, total: known?.files ?? null, bytes });
  return {
    begin(measure: Measure | undefined) {
      known = measure;
      report(0, 0);
    },
    end() {
      if (known) report(known.files, known.bytes);
    },
  };
}
