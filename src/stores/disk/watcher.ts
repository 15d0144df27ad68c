import { isUtf8 } from 'node:buffer';
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { isStoreError, systemErrorCode } from '../../model/error.ts';
import { type FolderPath, foundFile, foundFolder, ROOT } from '../../model/path.ts';
import type { ReportChanges } from '../../model/store.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import type { DiskLog } from './recovery.ts';
import { isStagingName, RESERVED_FOLDER } from './reserved-names.ts';
import type { Root } from './root.ts';

/** Maximum watched folders. Each takes about 4 KiB of memory. */
const MAX_WATCHED_FOLDERS = 20_000;

/** Milliseconds for which events are collected. */
const GATHER_MS = 100;

/** Maximum names that are looked up. If more change at a time, all of them count as unknown. */
const MAX_CHANGED_NAMES = 2000;

/** Milliseconds until an unusable root is tried again. */
const RETRY_MS = 5000;

interface WatchedFolder {
  readonly watcher: FSWatcher;
  readonly inode: bigint;
  readonly children: Map<string, WatchedFolder>;
}

export interface DiskWatcherOptions {
  readonly report: ReportChanges;
  readonly signal: AbortSignal;
  readonly log: Pick<DiskLog, 'warn'>;
  readonly maxFolders?: number;
}

/**
 * Watches the served folder with one watch per folder (inotify(7) on Linux). Node's own recursive watches would read the
 * whole tree in one blocking call, and watch each file.
 *
 * The kernel discards events when its queue is full, which Node does not report. If half as many events as the queue can
 * hold arrive in one turn of the event loop, they count as unknown changes, and all folders are watched again.
 */
export class DiskWatcher {
  readonly #root: Root;
  readonly #options: DiskWatcherOptions;
  #maxFolders: number;
  /** The root with everything in it. */
  #watched: WatchedFolder | undefined;
  #count = 0;
  #isLimitLogged = false;
  /** The names that changed, by folder; undefined if there are too many. */
  #changed: Map<FolderPath, Set<string>> | undefined = new Map();
  #changedNames = 0;
  #eventsInTurn = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Whether folders are read. Events that arrive meanwhile are handled afterwards. */
  #isScanning = false;

  constructor(root: Root, options: DiskWatcherOptions) {
    this.#root = root;
    this.#options = options;
    this.#maxFolders = options.maxFolders ?? MAX_WATCHED_FOLDERS;
  }

  /** Watches until the signal aborts. */
  start(): void {
    this.#options.signal.addEventListener('abort', () => this.#close(), { once: true });
    void this.#watchAll();
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#closeFolder(this.#watched);
    this.#watched = undefined;
  }

  /** Watches all folders again. Reports unknown changes when it is done: earlier ones can have been missed. */
  async #watchAll(): Promise<void> {
    const { signal, report } = this.#options;
    this.#isScanning = true;
    this.#changed = new Map();
    this.#changedNames = 0;
    this.#close();
    this.#watched = await this.#watchTree(ROOT);
    this.#isScanning = false;
    if (signal.aborted) return this.#close();
    // The layers of the store report an unusable root.
    if (!this.#watched) return this.#schedule(RETRY_MS);
    report(undefined);
    if (this.#changedNames > 0) this.#schedule(GATHER_MS);
  }

  /** Watches a folder and everything in it, the folders near the top first. Returns undefined if it does not exist. */
  async #watchTree(folder: FolderPath): Promise<WatchedFolder | undefined> {
    const top = await this.#watchFolder(folder);
    const queue = top ? [{ path: folder, ...top }] : [];
    for (const { path, watched, names } of queue) {
      for (const name of names) {
        const child = foundFolder(path, name, this.#root.maxPathBytes);
        const found = child === undefined || watched.children.has(name) ? undefined : await this.#watchFolder(child);
        if (child === undefined || !found) continue;
        watched.children.set(name, found.watched);
        queue.push({ path: child, ...found });
      }
      // The names of one level at a time suffice.
      names.length = 0;
    }
    return top?.watched;
  }

  /** Watches one folder. Returns it with the names of its folders; undefined if it does not exist or can't be watched. */
  async #watchFolder(path: FolderPath): Promise<{ watched: WatchedFolder; names: string[] } | undefined> {
    if (this.#options.signal.aborted) return undefined;
    if (this.#count >= this.#maxFolders) return this.#logLimit();
    try {
      await using folder = await this.#root.openFolder(path);
      // The kernel follows the descriptor at once, so that a symbolic link can't redirect the watch.
      const { ino: inode } = await folder.stats();
      const options = { persistent: false, encoding: 'buffer' } as const;
      const watcher = watch(folder.at('.'), options, (_type, name) => this.#note(path, name ?? undefined));
      watcher.on('error', () => this.#schedule(RETRY_MS, { isUnknown: true }));
      this.#count++;
      return { watched: { watcher, inode, children: new Map() }, names: await foldersIn(folder, path) };
    } catch (error) {
      if (!isOutOfWatches(error)) return undefined;
      this.#maxFolders = this.#count;
      return this.#logLimit();
    }
  }

  #logLimit(): undefined {
    if (this.#isLimitLogged) return;
    this.#isLimitLogged = true;
    const message =
      'Changes by other programs are noticed in a part of the folders only: the system allows no more watches (fs.inotify.max_user_watches), or there are too many folders.';
    this.#options.log.warn(message, { root: this.#root.path, folders: this.#count });
  }

  #closeFolder(folder: WatchedFolder | undefined): void {
    const open = folder ? [folder] : [];
    for (const { watcher, children } of open) {
      watcher.close();
      this.#count--;
      open.push(...children.values());
    }
  }

  #note(folder: FolderPath, bytes: Buffer | undefined): void {
    if (this.#eventsInTurn++ === 0) setImmediate(() => (this.#eventsInTurn = 0));
    const isOverflow = this.#eventsInTurn >= MAX_QUEUED_EVENTS / 2 || this.#changedNames >= MAX_CHANGED_NAMES;
    if (isOverflow || bytes === undefined) this.#changed = undefined;
    // Listings omit such names.
    else if (!isUtf8(bytes)) return;
    const name = bytes?.toString() ?? '';
    if ((folder === ROOT && name === RESERVED_FOLDER) || isStagingName(name)) return;
    const names = this.#changed?.get(folder) ?? new Set();
    if (!names.has(name)) this.#changedNames++;
    this.#changed?.set(folder, names.add(name));
    if (!this.#isScanning) this.#schedule(GATHER_MS);
  }

  #schedule(milliseconds: number, { isUnknown = false } = {}): void {
    if (isUnknown) this.#changed = undefined;
    if (this.#timer || this.#options.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isScanning) this.#schedule(GATHER_MS);
      else void this.#flush();
    }, milliseconds).unref();
  }

  async #flush(): Promise<void> {
    const changed = this.#changed;
    if (!changed || !this.#watched) return this.#watchAll();
    this.#changed = new Map();
    this.#changedNames = 0;
    this.#isScanning = true;
    try {
      for (const [folder, names] of changed) {
        const paths = await this.#resolve(folder, names);
        if (paths.length > 0 && !this.#options.signal.aborted) this.#options.report(paths);
      }
    } catch {
      this.#changed = undefined;
    }
    this.#isScanning = false;
    if (this.#changed === undefined || this.#changedNames > 0) this.#schedule(GATHER_MS);
  }

  /** Returns the paths of names that changed in a folder, and watches the folders that appeared. */
  async #resolve(path: FolderPath, names: ReadonlySet<string>) {
    const watched = this.#find(path);
    if (!watched) return [];
    const found = await this.#statsOf(path, [...names]);
    const changed = [];
    for (const [name, stats] of found) {
      const file = foundFile(path, name, this.#root.maxPathBytes);
      const folder = foundFolder(path, name, this.#root.maxPathBytes);
      if (file === undefined || folder === undefined) continue;
      const earlier = watched.children.get(name);
      const isDirectory = stats?.isDirectory() === true;
      // Only its permissions or times have changed.
      if (isDirectory && earlier?.inode === stats.ino) continue;
      if (earlier) {
        this.#closeFolder(earlier);
        watched.children.delete(name);
      }
      const next = isDirectory ? await this.#watchTree(folder) : undefined;
      if (next) watched.children.set(name, next);
      const isFolderKnown = isDirectory || (!stats && earlier);
      changed.push(isFolderKnown ? folder : file);
      // It can also have been a folder that was not watched.
      if (!stats && !earlier && this.#isLimitLogged) changed.push(folder);
    }
    return changed;
  }

  /** Returns the stats of names in a folder, undefined for names that don't exist; none if the folder does not exist. */
  async #statsOf(path: FolderPath, names: readonly string[]) {
    try {
      await using folder = await this.#root.openFolder(path);
      const stats = await folder.findAll(names);
      return names.map((name, index) => [name, stats[index]] as const);
    } catch (error) {
      if (isStoreError(toStoreError(error, path), 'not-found')) return [];
      throw error;
    }
  }

  #find(path: FolderPath): WatchedFolder | undefined {
    let found = this.#watched;
    for (const name of path.split('/').filter(Boolean)) found = found?.children.get(name);
    return found;
  }
}

async function foldersIn(folder: Folder, path: FolderPath): Promise<string[]> {
  const names: string[] = [];
  await folder.readNames({ isLarge: false }, (entry) => {
    const name = entry.name.toString();
    const isOwn = (path === ROOT && name === RESERVED_FOLDER) || isStagingName(name);
    if (entry.isDirectory() && isUtf8(entry.name) && !isOwn) names.push(name);
  });
  return names;
}

/** The system has limits for watches (ENOSPC) and for the queues that they share (EMFILE): inotify(7). */
const isOutOfWatches = (error: unknown) => ['ENOSPC', 'EMFILE'].includes(systemErrorCode(error) ?? '');

/** Number of events after which the kernel discards further ones: inotify(7). */
const MAX_QUEUED_EVENTS = readMaxQueuedEvents();

function readMaxQueuedEvents(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
