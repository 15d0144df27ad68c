import { LRUCache } from 'lru-cache';
import { createSingleFlight, type SingleFlight } from '../../../concurrency/single-flight.ts';
import { StoreError } from '../../../model/error.ts';
import { foundFile, MAX_KEY_BYTES, ROOT } from '../../../model/path.ts';
import type { Cancellable } from '../../../model/store.ts';
import type { StoreLog } from '../../network.ts';
import type { Host, TreeResponse } from '../host/host.ts';
import { EMPTY_TREE, isFile, isFolder, LINK, SUBMODULE, shaOfTree, type Tree, type TreeEntry } from './objects.ts';

/** Maximum cached entries, at some hundred bytes each. */
const MAX_CACHED_ENTRIES = 400_000;

/** Replacement character that GitHub returns for bytes that are not UTF-8. Few names contain a real one. */
const REPLACEMENT = '\ufffd';

/** Cache of trees by SHA. Trees are immutable, so each is requested only once while it is cached. */
export class Trees {
  readonly #host: Host;
  readonly #omissions: OmissionLog;
  readonly #cache = new LRUCache<string, Tree>({
    maxSize: MAX_CACHED_ENTRIES,
    sizeCalculation: ({ entries }) => entries.size + 1,
  });
  readonly #reads: SingleFlight<Tree> = createSingleFlight();
  readonly #recursiveReads: SingleFlight<boolean> = createSingleFlight();
  /** Whether no response was truncated so far, so that a response about the whole branch counts all omitted entries. */
  #isComplete = true;

  constructor(host: Host, log: StoreLog) {
    this.#host = host;
    this.#omissions = new OmissionLog(log);
  }

  /** Returns a tree from the cache or from GitHub. */
  async read(sha: string, { signal }: Cancellable = {}): Promise<Tree> {
    if (sha === EMPTY_TREE.sha) return EMPTY_TREE;
    return this.#cache.get(sha) ?? this.#reads.run(sha, (cancelled) => this.#fetch(sha, cancelled), signal);
  }

  /** Like `read`, for a tree above the served folder: its entries are not listed, so omitted ones are not counted. */
  async readAbove(sha: string, { signal }: Cancellable = {}): Promise<Tree> {
    if (sha === EMPTY_TREE.sha) return EMPTY_TREE;
    return this.#cache.get(sha) ?? this.#reads.run(sha, (cancelled) => this.#fetchAbove(sha, cancelled), signal);
  }

  /**
   * Reads a tree and everything below it with one request, or with none if all of it is cached. Returns whether the
   * response was complete: GitHub limits its size.
   */
  async readAll(sha: string, { signal }: Cancellable = {}): Promise<boolean> {
    if (this.#isCached(sha)) return true;
    return this.#recursiveReads.run(sha, (cancelled) => this.#fetchAll(sha, cancelled), signal);
  }

  /** Adds a tree that this process created. */
  add(tree: Tree): void {
    this.#cache.set(tree.sha, tree);
  }

  async #fetch(sha: string, signal: AbortSignal): Promise<Tree> {
    const tree = await this.#fetchAbove(sha, signal);
    this.#omissions.record([tree], this.#isComplete);
    return tree;
  }

  async #fetchAbove(sha: string, signal: AbortSignal): Promise<Tree> {
    const response = await this.#host.tree(sha, 'one', { signal });
    if (response.truncated) {
      const message = `A folder of the repository has more entries than GitHub returns in one response: ${response.entries.length}.`;
      throw new StoreError('folder-too-large', message);
    }
    const tree = treeOf(
      sha,
      response.entries.map(({ path, ...entry }) => [path, entry]),
    );
    this.#cache.set(sha, tree);
    return tree;
  }

  async #fetchAll(sha: string, signal: AbortSignal): Promise<boolean> {
    const response = await this.#host.tree(sha, 'all', { signal });
    if (response.truncated) this.#isComplete = false;
    else this.#addFetched(treesOf(sha, response));
    return !response.truncated;
  }

  #addFetched(trees: readonly Tree[]): void {
    // Parents are added after their children, so that they are evicted last.
    for (const tree of trees) this.#cache.set(tree.sha, tree);
    this.#omissions.record(trees, this.#isComplete);
  }

  /**
   * Returns whether a tree and everything below it is cached. Visits each tree once, because a few trees that refer to
   * each other can form exponentially many paths.
   */
  #isCached(sha: string, visited = new Set<string>()): boolean {
    if (visited.has(sha) || sha === EMPTY_TREE.sha) return true;
    visited.add(sha);
    const tree = this.#cache.peek(sha);
    if (!tree) return false;
    return tree.entries.values().every((entry) => !isFolder(entry) || this.#isCached(entry.sha, visited));
  }
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
  const hasValidNames = (path: string, sha: string, listed: readonly [string, TreeEntry][]) =>
    !path.includes(REPLACEMENT) || shaOfTree(new Map(listed)) === sha;
  return [...folders]
    .filter(([path, folder]) => hasValidNames(path, folder.sha, folder.entries))
    .map(([, folder]) => treeOf(folder.sha, folder.entries))
    .toReversed();
}

/**
 * Builds a tree from a response. A replacement character in a name might be real or might stand for bytes that are not
 * UTF-8. Only with the real names does the SHA match.
 */
function treeOf(sha: string, listed: readonly (readonly [string, TreeEntry])[]): Tree {
  const entries = new Map(listed);
  const uncertain = listed.filter(([name]) => name.includes(REPLACEMENT));
  if (uncertain.length === 0 || (entries.size === listed.length && shaOfTree(entries) === sha)) {
    return { sha, entries, nonUtf8Names: EMPTY_TREE.nonUtf8Names };
  }
  for (const [name] of uncertain) entries.delete(name);
  return { sha, entries, nonUtf8Names: new Set(uncertain.map(([name]) => name)) };
}

/**
 * Logs how many entries listings omit, whenever the numbers change. If folders are read individually, only the first
 * numbers are logged, because each folder has its own.
 */
class OmissionLog {
  readonly #log: StoreLog;
  #last: string | undefined;

  constructor(log: StoreLog) {
    this.#log = log;
  }

  record(trees: readonly Tree[], isComplete: boolean): void {
    if (this.#last !== undefined && !isComplete) return;
    const counts = countOmitted(trees);
    const text = JSON.stringify(counts);
    if (text === this.#last || Object.values(counts).every((count) => count === 0)) return;
    this.#last = text;
    this.#log.warn('Listings omit entries that are not files or folders, or whose names are not valid.', counts);
  }
}

function countOmitted(trees: readonly Tree[]) {
  const omitted = { submodules: 0, links: 0, nonUtf8Names: 0, invalidNames: 0 };
  for (const { entries, nonUtf8Names } of trees) {
    omitted.nonUtf8Names += nonUtf8Names.size;
    for (const [name, entry] of entries) {
      if (entry.mode === SUBMODULE) omitted.submodules++;
      else if (entry.mode === LINK) omitted.links++;
      else if ((isFile(entry) || isFolder(entry)) && foundFile(ROOT, name, MAX_KEY_BYTES) === undefined)
        omitted.invalidNames++;
    }
  }
  return omitted;
}
