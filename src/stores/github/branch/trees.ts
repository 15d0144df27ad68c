import { LRUCache } from 'lru-cache';
import { createSingleFlight, type SingleFlight } from '../../../concurrency/single-flight.ts';
import { StoreError } from '../../../model/error.ts';
import { foundFile, ROOT } from '../../../model/path.ts';
import type { Cancellable } from '../../../model/store.ts';
import type { StoreLog } from '../../network.ts';
import type { Host, TreeResponse } from '../host/host.ts';
import { EMPTY_TREE, isFile, isFolder, LINK, SUBMODULE, shaOfTree, type Tree, type TreeEntry } from './objects.ts';

/** Cache of trees by SHA. Trees are immutable, so each is requested only once while it is cached. */
export interface Trees {
  /** Returns a tree from the cache or from GitHub. */
  read(sha: string, options?: Cancellable): Promise<Tree>;
  /**
   * Reads a tree and everything below it with one request, or with none if all of it is cached. Returns whether the
   * response was complete: GitHub limits its size.
   */
  readAll(sha: string, options?: Cancellable): Promise<boolean>;
  /** Adds a tree that this process created. */
  keep(tree: Tree): void;
}

/** Maximum cached entries, at some hundred bytes each. */
const MOST_ENTRIES = 400_000;

/** Replacement character that GitHub returns for bytes that are not UTF-8. Few names contain a real one. */
const REPLACEMENT = '\ufffd';

export function createTrees(host: Host, log: StoreLog): Trees {
  const known = new LRUCache<string, Tree>({
    maxSize: MOST_ENTRIES,
    sizeCalculation: ({ entries }) => entries.size + 1,
  });
  const reading: SingleFlight<Tree> = createSingleFlight();
  const readingAll: SingleFlight<boolean> = createSingleFlight();
  const tell = createTeller(log);
  /**
   * Whether no response was truncated so far, so that a response about the whole branch counts all omitted entries.
   */
  let isToldWhole = true;

  const take = (trees: readonly Tree[]) => {
    // Parents are added after their children, so that they are evicted last.
    for (const tree of trees) known.set(tree.sha, tree);
    tell(trees, isToldWhole);
  };

  const fetchOne = async (sha: string, signal: AbortSignal) => {
    const told = await host.tree(sha, 'one', { signal });
    if (told.truncated) {
      const message = `A folder of the repository has more entries than its host tells: it told ${told.entries.length}.`;
      throw new StoreError('unsupported', message);
    }
    const tree = treeOf(
      sha,
      told.entries.map(({ path, ...entry }) => [path, entry]),
    );
    take([tree]);
    return tree;
  };

  const fetchAll = async (sha: string, signal: AbortSignal) => {
    const told = await host.tree(sha, 'all', { signal });
    if (told.truncated) isToldWhole = false;
    else take(treesOf(sha, told));
    return !told.truncated;
  };

  /** Visits each tree once, because a few trees that refer to each other can form exponentially many paths. */
  const isWhole = (sha: string, seen = new Set<string>()): boolean => {
    if (seen.has(sha) || sha === EMPTY_TREE.sha) return true;
    seen.add(sha);
    const tree = known.peek(sha);
    if (!tree) return false;
    return tree.entries.values().every((entry) => !isFolder(entry) || isWhole(entry.sha, seen));
  };

  return {
    async read(sha, { signal } = {}) {
      if (sha === EMPTY_TREE.sha) return EMPTY_TREE;
      return known.get(sha) ?? reading.run(sha, (cancelled) => fetchOne(sha, cancelled), signal);
    },

    async readAll(sha, { signal } = {}) {
      return isWhole(sha) || readingAll.run(sha, (cancelled) => fetchAll(sha, cancelled), signal);
    },

    keep: (tree) => void known.set(tree.sha, tree),
  };
}

/**
 * Returns the trees of a recursive response, children before parents. Trees below a name that is not UTF-8 are omitted.
 */
function treesOf(root: string, { entries }: TreeResponse): Tree[] {
  const folders = new Map<string, { sha: string; entries: [string, TreeEntry][] }>([['', { sha: root, entries: [] }]]);
  for (const { path, ...entry } of entries) {
    if (isFolder(entry)) folders.set(path, { sha: entry.sha, entries: [] });
  }
  for (const { path, ...entry } of entries) {
    const slash = path.lastIndexOf('/');
    folders.get(path.slice(0, Math.max(0, slash)))?.entries.push([path.slice(slash + 1), entry]);
  }
  const isCertain = (path: string, sha: string, of: readonly [string, TreeEntry][]) =>
    !path.includes(REPLACEMENT) || shaOfTree(new Map(of)) === sha;
  return [...folders]
    .filter(([path, folder]) => isCertain(path, folder.sha, folder.entries))
    .map(([, folder]) => treeOf(folder.sha, folder.entries))
    .toReversed();
}

/**
 * Builds a tree from a response. A replacement character in a name may be real or may stand for bytes that are not
 * UTF-8. Only with the real names does the SHA match.
 */
function treeOf(sha: string, told: readonly (readonly [string, TreeEntry])[]): Tree {
  const entries = new Map(told);
  const doubtful = told.filter(([name]) => name.includes(REPLACEMENT));
  if (doubtful.length === 0 || (entries.size === told.length && shaOfTree(entries) === sha)) {
    return { sha, entries, untold: EMPTY_TREE.untold };
  }
  for (const [name] of doubtful) entries.delete(name);
  return { sha, entries, untold: new Set(doubtful.map(([name]) => name)) };
}

/**
 * Logs how many entries listings omit, whenever the numbers change. If folders are read individually, only the first
 * numbers are logged, because each folder has its own.
 */
function createTeller(log: StoreLog): (trees: readonly Tree[], isAll: boolean) => void {
  let last: string | undefined;
  return (trees, isAll) => {
    if (last !== undefined && !isAll) return;
    const leftOut = countLeftOut(trees);
    const text = JSON.stringify(leftOut);
    if (text === last || Object.values(leftOut).every((number) => number === 0)) return;
    last = text;
    log.warn(
      'Entries of the repository are left out: they are no files or folders, or no path can name them.',
      leftOut,
    );
  };
}

function countLeftOut(trees: readonly Tree[]) {
  const leftOut = { submodules: 0, links: 0, namesThatAreNotUtf8: 0, namesOfNoPath: 0 };
  for (const { entries, untold } of trees) {
    leftOut.namesThatAreNotUtf8 += untold.size;
    for (const [name, entry] of entries) {
      if (entry.mode === SUBMODULE) leftOut.submodules++;
      else if (entry.mode === LINK) leftOut.links++;
      else if ((isFile(entry) || isFolder(entry)) && foundFile(ROOT, name) === undefined) leftOut.namesOfNoPath++;
    }
  }
  return leftOut;
}
