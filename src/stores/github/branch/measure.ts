import { type FilePath, type FolderPath, rebase } from '../../../domain/path.ts';
import type { Cancellable } from '../../../domain/store.ts';
import { MARKER } from './markers.ts';
import { isFile, isFolder, type Tree } from './objects.ts';
import type { Trees } from './trees.ts';

/** What a folder comes to, with everything below it. */
export interface Measure {
  readonly files: number;
  /** Of the files. */
  readonly bytes: number;
  /** The longest path below it, in bytes; empty where it holds nothing. */
  readonly longest: string;
}

const EMPTY: Measure = { files: 0, bytes: 0, longest: '' };

/**
 * Measures trees. What was found of one is kept with it, as it never changes. Gives undefined for a tree that the host
 * does not tell in one answer, unless it has to be known `atAnyCost`: then its folders are read one by one.
 */
export type Measuring = (sha: string, options: { atAnyCost: boolean } & Cancellable) => Promise<Measure | undefined>;

export function createMeasuring(trees: Trees): Measuring {
  const known = new WeakMap<Tree, Measure>();

  const measure = async (tree: Tree, options: Cancellable): Promise<Measure> => {
    const found = known.get(tree);
    if (found) return found;
    let sum = EMPTY;
    for (const [name, entry] of tree.entries) {
      const below = isFolder(entry) ? await measure(await trees.read(entry.sha, options), options) : EMPTY;
      const path = isFolder(entry) ? `${name}/${below.longest}` : name;
      const isCounted = isFile(entry) && name !== MARKER;
      sum = {
        files: sum.files + below.files + (isCounted ? 1 : 0),
        bytes: sum.bytes + below.bytes + (isCounted ? entry.size : 0),
        longest: Buffer.byteLength(path) > Buffer.byteLength(sum.longest) ? path : sum.longest,
      };
    }
    known.set(tree, sum);
    return sum;
  };

  return async (sha, { atAnyCost, ...options }) => {
    const isTold = await trees.readAll(sha, options);
    return isTold || atAnyCost ? measure(await trees.read(sha, options), options) : undefined;
  };
}

/** Throws `invalid-path` where a path below `from` would be too long below `to`. */
export function requireLengths({ longest }: Measure, from: FolderPath, to: FolderPath): void {
  rebase((from + longest) as FilePath, from, to);
}
