import { type FilePath, type FolderPath, MAX_KEY_BYTES, rebase } from '../../model/path.ts';
import type { Cancellable, Keeping, Replacing, Reporting, Store } from '../../model/store.ts';
import { isFile, isFolder, type Tree, type TreeEntry } from './branch/objects.ts';
import { MARKER } from './branch/reserved-names.ts';
import type { Trees } from './branch/trees.ts';
import { copyFolder, createFolder, moveFolder, removeFolder, removeTree } from './commits/changes.ts';
import type { CommitQueue } from './commits/commit-queue.ts';
import { runKeeping } from './files.ts';

type FolderOperations = Required<
  Pick<Store, 'createFolder' | 'removeFolder' | 'copyFolder' | 'moveFolder' | 'removeTree'>
>;

/** Creates the folder operations. Each is one change in one commit, whatever the size of the folder. */
export function createFolderOperations(queue: CommitQueue, meter: FolderMeter): FolderOperations {
  const transfer =
    (change: typeof copyFolder) =>
    async (from: FolderPath, to: FolderPath, options: Replacing & Keeping & Reporting & Cancellable) => {
      const { replace, keep, signal, onProgress } = options;
      const progress = singleStepProgress({ onProgress });
      // A path can only become too long if the new folder path is longer than the old one.
      const mayBeTooLong = Buffer.byteLength(to) > Buffer.byteLength(from);
      const checkFolder = async ({ sha }: TreeEntry) => {
        if (!mayBeTooLong && !onProgress) return;
        const size = await meter.measure(sha, { isRequired: mayBeTooLong, signal });
        if (size) requireLengths(size, from, to);
        progress.begin(size);
      };
      await runKeeping(queue, change(from, to, { replace, keep, checkFolder }), { keep, signal });
      progress.end();
    };

  return {
    createFolder: async (folder, { signal } = {}) => queue.run(createFolder(folder), signal),
    removeFolder: (folder, { signal } = {}) => queue.run(removeFolder(folder), signal),
    copyFolder: transfer(copyFolder),
    moveFolder: transfer(moveFolder),

    async removeTree(folder, { signal, onProgress } = {}) {
      const progress = singleStepProgress({ onProgress });
      const checkFolder = async ({ sha }: TreeEntry) => {
        if (onProgress) progress.begin(await meter.measure(sha, { isRequired: false, signal }));
      };
      await queue.run(removeTree(folder, checkFolder), signal);
      progress.end();
    },
  };
}

/** Reports the progress of a single-step operation: nothing at the beginning, everything at the end. */
export function singleStepProgress({ onProgress }: Reporting) {
  let size: FolderSize | undefined;
  const report = (done: number, bytes: number) => onProgress?.({ done, total: size?.files ?? null, bytes });
  return {
    begin(measured: FolderSize | undefined) {
      size = measured;
      report(0, 0);
    },
    end() {
      if (size) report(size.files, size.bytes);
    },
  };
}

/** Totals of a folder and everything below it. */
export interface FolderSize {
  readonly files: number;
  /** Total bytes of the files. */
  readonly bytes: number;
  /** The longest path below the folder, by bytes; empty for an empty folder. */
  readonly longestPath: string;
}

const EMPTY: FolderSize = { files: 0, bytes: 0, longestPath: '' };

/** Measures trees. Caches the results, because trees are immutable. */
export class FolderMeter {
  readonly #trees: Trees;
  readonly #sizes = new WeakMap<Tree, FolderSize>();

  constructor(trees: Trees) {
    this.#trees = trees;
  }

  /**
   * Returns the size of a folder. Returns undefined if GitHub can't list it in one response, unless `isRequired` is
   * set: then its folders are read individually.
   */
  async measure(
    sha: string,
    { isRequired, signal }: { isRequired: boolean } & Cancellable,
  ): Promise<FolderSize | undefined> {
    const isCached = await this.#trees.readAll(sha, { signal });
    return isCached || isRequired ? this.#sizeOf(await this.#trees.read(sha, { signal }), { signal }) : undefined;
  }

  async #sizeOf(tree: Tree, options: Cancellable): Promise<FolderSize> {
    const known = this.#sizes.get(tree);
    if (known) return known;
    let sum = EMPTY;
    for (const [name, entry] of tree.entries) {
      const below = isFolder(entry) ? await this.#sizeOf(await this.#trees.read(entry.sha, options), options) : EMPTY;
      const path = isFolder(entry) ? `${name}/${below.longestPath}` : name;
      const isCounted = isFile(entry) && name !== MARKER;
      sum = {
        files: sum.files + below.files + (isCounted ? 1 : 0),
        bytes: sum.bytes + below.bytes + (isCounted ? entry.size : 0),
        longestPath: Buffer.byteLength(path) > Buffer.byteLength(sum.longestPath) ? path : sum.longestPath,
      };
    }
    this.#sizes.set(tree, sum);
    return sum;
  }
}

/** Throws `invalid-path` if a path below `from` would be too long below `to`. */
export function requireLengths({ longestPath }: FolderSize, from: FolderPath, to: FolderPath): void {
  rebase((from + longestPath) as FilePath, from, to, MAX_KEY_BYTES);
}
