import type { Change, ChangeRecord, LoggedChange } from '../model/change.ts';
import { isStoreError, undefinedIfNotFound } from '../model/error.ts';
import { type FilePath, type FolderPath, foldersOf, isFolder, parentOf } from '../model/path.ts';
import type { Store } from '../model/store.ts';
import type { Position } from './cursor.ts';
import { type ChangeLog, RESYNC } from './log.ts';

type Path = FilePath | FolderPath;

/**
 * Milliseconds for which a reported path waits at least. A change through Holdall is in the log some milliseconds after it
 * is in the store.
 */
const HOLD_MS = 1000;

/** Milliseconds for which the last change of a path through Holdall is remembered. */
const REMEMBERED_MS = 10_000;

/** Maximum paths that wait, and maximum remembered paths: some 20 MB together. */
const MAX_WAITING = 20_000;
const MAX_REMEMBERED = 50_000;

/** Maximum changes that are recorded at a time. More are recorded as one `resync`. */
const MAX_CHANGES = 1000;

const PAGE_SIZE = 1000;

export interface ExternalChangesOptions {
  readonly record: (changes: readonly ChangeRecord[]) => Promise<unknown>;
  readonly holdMs?: number;
  readonly log: { error(details: object, message: string): void };
}

/** The last change of a path through Holdall. */
interface Remembered {
  /** The time at which it was read, in the milliseconds of `performance.now`. */
  readonly time: number;
  /** A number that is higher for later changes. */
  readonly order: number;
  readonly isAbsent: boolean;
  /** Undefined if the log does not have it. */
  readonly etag: string | undefined;
}

/**
 * Records the changes of other programs that a store reports. The store also reports the changes of all processes through
 * Holdall. Those are in the log, and the path still has the state that the log describes. In case of doubt, a change is
 * recorded: clients then see the state of the path again.
 *
 * Only one process of all may run it.
 */
export class ExternalChanges {
  readonly #store: Pick<Store, 'watch' | 'stat' | 'list'>;
  readonly #changeLog: ChangeLog;
  readonly #options: ExternalChangesOptions;
  readonly #remembered = new Map<Path, Remembered>();
  #nextOrder = 0;
  /** The paths of the current interval, and of the one before, which have waited long enough at its end. */
  #arrived = new Set<Path>();
  #held = new Set<Path>();
  #isUnknown = false;
  /** The end of the log when it was last read. */
  #position: Position | undefined;
  #watching: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;

  constructor(store: Pick<Store, 'watch' | 'stat' | 'list'>, changeLog: ChangeLog, options: ExternalChangesOptions) {
    this.#store = store;
    this.#changeLog = changeLog;
    this.#options = options;
  }

  /** Starts watching, or ends it. Does nothing if it is already so. */
  setActive(isActive: boolean): void {
    if (isActive === (this.#watching !== undefined)) return;
    if (!isActive) return this.#stop();
    this.#watching = new AbortController();
    this.#store.watch?.((paths) => this.#add(paths), { signal: this.#watching.signal });
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#checking;
  }

  #stop(): void {
    this.#watching?.abort();
    this.#watching = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#arrived.clear();
    this.#held.clear();
    this.#isUnknown = false;
    this.#remembered.clear();
    this.#position = undefined;
  }

  #add(paths: readonly Path[] | undefined): void {
    for (const path of paths ?? []) this.#arrived.add(path);
    if (!paths || this.#arrived.size > MAX_WAITING) this.#isUnknown = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer || this.#checking || !this.#watching) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#checking = this.#check().finally(() => {
        this.#checking = undefined;
        if (this.#held.size > 0 || this.#arrived.size > 0 || this.#isUnknown) this.#schedule();
      });
    }, this.#options.holdMs ?? HOLD_MS).unref();
  }

  /** Records the changes that have waited long enough. Never rejects. */
  async #check(): Promise<void> {
    const paths = this.#held;
    this.#held = this.#arrived;
    this.#arrived = new Set();
    const isUnknown = this.#isUnknown;
    this.#isUnknown = false;
    if (isUnknown) this.#held.clear();
    try {
      await this.#readLog();
      const changes = isUnknown ? [RESYNC] : await this.#changesOf(paths);
      if (changes.length > 0) await this.#options.record(changes.length > MAX_CHANGES ? [RESYNC] : changes);
    } catch (error) {
      this.#isUnknown = true;
      this.#position = undefined;
      if (!isStoreError(error)) this.#options.log.error({ err: error }, 'Changes of other programs are not recorded');
    }
  }

  /** Returns the changes that led to the present state of the paths, except those through Holdall. */
  async #changesOf(paths: ReadonlySet<Path>): Promise<readonly ChangeRecord[]> {
    const changes: ChangeRecord[] = [];
    for (const path of paths) {
      const known = this.#lastStateOf(path);
      const change = isFolder(path) ? await this.#changeOfFolder(path, known) : await this.#changeOfFile(path, known);
      if (change) changes.push({ ...change, isExternal: true });
    }
    return changes;
  }

  async #changeOfFile(path: FilePath, known: Remembered | undefined): Promise<Change | undefined> {
    const file = await undefinedIfNotFound(this.#store.stat(path));
    // Stores can't tell whether a path that was created and removed at once was a file.
    const isRemoved = known?.isAbsent ?? this.#lastStateOf(`${path}/` as FolderPath)?.isAbsent;
    if (!file) return isRemoved ? undefined : { type: 'file.deleted', path };
    const isOwn = known && !known.isAbsent && (known.etag ?? file.etag) === file.etag;
    return isOwn ? undefined : { type: 'file.written', path, size: file.size, etag: file.etag };
  }

  async #changeOfFolder(path: FolderPath, known: Remembered | undefined): Promise<Change | undefined> {
    const exists = (await undefinedIfNotFound(this.#store.list(path, { limit: 1 }))) !== undefined;
    if (known && known.isAbsent !== exists) return undefined;
    // The content of a folder that appeared is unknown.
    return { type: exists ? 'folder.changed' : 'folder.deleted', path };
  }

  async #readLog(): Promise<void> {
    const now = performance.now();
    for (const [path, { time }] of this.#remembered) {
      // The oldest are the first.
      if (now - time < REMEMBERED_MS && this.#remembered.size <= MAX_REMEMBERED) break;
      this.#remembered.delete(path);
    }
    this.#position ??= (await this.#changeLog.newest()).end;
    for (let hasMore = true; hasMore; ) {
      const page = await this.#changeLog.read(this.#position, PAGE_SIZE);
      for (const change of page.changes) this.#rememberChange(change, now);
      this.#position = page.end;
      hasMore = page.hasMore;
    }
  }

  #rememberChange({ type, path, from, etag }: LoggedChange, time: number): void {
    if (type === 'folder.changed' || type === 'resync') return;
    const isMove = type === 'file.moved' || type === 'folder.moved';
    if (isMove && from !== undefined) this.#remember(from, { time, isAbsent: true, etag: undefined });
    this.#remember(path, { time, isAbsent: type === 'file.deleted' || type === 'folder.deleted', etag });
  }

  #remember(path: Path, state: Omit<Remembered, 'order'>): void {
    // Moves it to the end.
    this.#remembered.delete(path);
    this.#remembered.set(path, { ...state, order: this.#nextOrder++ });
  }

  /** Returns the last change of a path. A folder that was moved or deleted takes everything in it along. */
  #lastStateOf(path: Path): Remembered | undefined {
    let last = this.#remembered.get(path);
    for (const folder of foldersOf(parentOf(path))) {
      const state = this.#remembered.get(folder);
      if (state?.isAbsent && state.order > (last?.order ?? -1)) last = state;
    }
    return last;
  }
}
