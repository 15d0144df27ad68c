import { batch, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Entry, Listing, Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import { type CompareNames, mergeByName } from './order.ts';

/** `loading` until the first page is read. */
export type FolderState = 'loading' | 'ready' | 'failed';

/**
 * `paused` if the folder is so large that the user decides whether to load more, or if a page after the first could not
 * be read.
 */
export type ListingState = 'partial' | 'complete' | 'paused';

/** Reads the pages of the shown folder one after another, and shows each at once. */
export interface FolderReader {
  readonly state: ReadonlySignal<FolderState>;
  /** The error of the last attempt to read the folder. */
  readonly problem: ReadonlySignal<ServiceError | null>;
  readonly listing: ReadonlySignal<ListingState>;
  /** The entries of the pages that were read, by name. */
  readonly entries: Signal<readonly Entry[]>;
  readonly isReading: boolean;
  /** The cursor of the next page; undefined if all pages were read. */
  readonly cursor: string | undefined;
  /** Starts over for another folder. Shows its contents if they are cached. */
  reset(cached: Contents | undefined): void;
  refresh(options?: RefreshOptions): Promise<void>;
  loadMore(): void;
}

export interface RefreshOptions {
  /** Whether the page refreshes the folder by itself, so that the user must not be interrupted. */
  readonly isBackground?: boolean;
}

export interface FolderReaderOptions {
  readonly service: Pick<Service, 'list'>;
  readonly path: ReadonlySignal<string>;
  readonly compareNames: ReadonlySignal<CompareNames>;
  /** The first page, or the error instead of it. */
  readonly first: Listing | ServiceError;
  /** Called when a refresh begins. It returns a function to call when the read entries replace the shown ones. */
  readonly onRefresh: () => () => void;
  /** Called when nothing is being read any longer. */
  readonly onIdle: () => void;
}

interface ReadOptions {
  readonly signal: AbortSignal;
  readonly isBackground: boolean | undefined;
}

/** The number of entries after which the reader pauses. */
const PAUSE_AFTER_ENTRIES = 200_000;

export function createFolderReader({
  service,
  path,
  compareNames,
  first,
  onRefresh,
  onIdle,
}: FolderReaderOptions): FolderReader {
  const state = signal<FolderState>('loading');
  const problem = signal<ServiceError | null>(null);
  const listing = signal<ListingState>('partial');
  const entries = signal<readonly Entry[]>([]);
  let cursor: string | undefined;
  let pauseAfter = PAUSE_AFTER_ENTRIES;
  let reading = new AbortController();
  let isReading = false;
  /** Whether the user asked for what is being read. */
  let isOfUser = false;

  const withPage = (byName: readonly Entry[], page: Listing): Contents => ({
    byName: mergeByName(byName, page.entries, compareNames.peek()),
    cursor: page.cursor,
  });
  const show = (contents: Contents) =>
    batch(() => {
      entries.value = contents.byName;
      cursor = contents.cursor;
      state.value = 'ready';
      problem.value = null;
      listing.value = contents.cursor === undefined ? 'complete' : 'partial';
    });
  const fail = (error: unknown) => {
    if (isAbort(error)) return;
    batch(() => {
      problem.value = asServiceError(error);
      if (state.value === 'loading') state.value = 'failed';
      else if (listing.value === 'partial') listing.value = 'paused';
    });
  };

  /** Aborts the previous reading and starts another one. */
  const start = async (read: (options: ReadOptions) => Promise<void>, isBackground?: boolean) => {
    reading.abort();
    const own = new AbortController();
    reading = own;
    isReading = true;
    // A reading that replaces one of the user must ask for the sign-in in its place.
    isOfUser ||= !isBackground;
    try {
      await read({ signal: own.signal, isBackground: !isOfUser });
    } catch (error) {
      if (reading === own) fail(error);
    }
    if (reading !== own) return;
    isReading = false;
    isOfUser = false;
    onIdle();
  };
  const readRest = async (options: ReadOptions) => {
    while (cursor !== undefined && !options.signal.aborted) {
      if (entries.value.length >= pauseAfter) {
        listing.value = 'paused';
        return;
      }
      const page = await service.list(path.value, { cursor, ...options });
      if (options.signal.aborted) return;
      show(withPage(entries.value, page));
    }
  };
  const readAll = async (options: ReadOptions) => {
    const replaceShown = onRefresh();
    const isShown = state.value === 'ready';
    let contents = withPage([], await service.list(path.value, options));
    // Reads as many entries as the page shows before it replaces them. Otherwise the list would shrink and grow again.
    while (isShown && contents.cursor !== undefined && contents.byName.length < entries.value.length) {
      const next = await service.list(path.value, { cursor: contents.cursor, ...options });
      contents = withPage(contents.byName, next);
    }
    if (options.signal.aborted) return;
    batch(() => {
      replaceShown();
      show(contents);
    });
    await readRest(options);
  };

  if (first instanceof Error) {
    state.value = 'failed';
    problem.value = first;
  } else {
    show(withPage([], first));
    void start(readRest);
  }
  // Another language sorts names differently.
  let sortedBy = compareNames.peek();
  effect(() => {
    if (compareNames.value === sortedBy) return;
    sortedBy = compareNames.value;
    entries.value = mergeByName([], entries.peek(), sortedBy);
  });

  return {
    state,
    problem,
    listing,
    entries,
    get isReading() {
      return isReading;
    },
    get cursor() {
      return cursor;
    },
    reset(cached) {
      batch(() => {
        problem.value = null;
        pauseAfter = PAUSE_AFTER_ENTRIES;
        state.value = 'loading';
        listing.value = 'partial';
        if (cached) show(cached);
        else entries.value = [];
      });
    },
    refresh({ isBackground = false } = {}) {
      if (state.value === 'failed' && !isBackground) state.value = 'loading';
      return start(readAll, isBackground);
    },
    loadMore() {
      pauseAfter = entries.value.length + PAUSE_AFTER_ENTRIES;
      listing.value = 'partial';
      void start(readRest);
    },
  };
}

/** The entries of a folder that were read so far. */
interface Contents {
  readonly byName: readonly Entry[];
  /** The cursor of the next page; undefined if all pages were read. */
  readonly cursor: string | undefined;
}

/** Caches the folders that were shown last, so that the page shows them at once when the user returns. */
export interface FolderCache {
  get(path: string): Contents | undefined;
  set(path: string, contents: Contents): void;
  delete(path: string): void;
  /** Replaces the entries of each folder by the result of `update`. */
  updateAll(update: (entries: readonly Entry[], folder: string) => readonly Entry[]): void;
  /** Returns the entries of all folders. */
  entries(): readonly Entry[];
}

const MAX_FOLDERS = 8;
const MAX_ENTRIES_PER_FOLDER = 20_000;

export function createFolderCache(): FolderCache {
  const cached = new Map<string, Contents>();
  return {
    get: (path) => cached.get(path),
    set(path, contents) {
      // A map keeps the order of insertion, so its first folder is the oldest.
      cached.delete(path);
      if (contents.byName.length > MAX_ENTRIES_PER_FOLDER) return;
      cached.set(path, contents);
      const [oldest] = cached.keys();
      if (cached.size > MAX_FOLDERS && oldest !== undefined) cached.delete(oldest);
    },
    delete: (path) => void cached.delete(path),
    updateAll(update) {
      for (const [path, contents] of cached) cached.set(path, { ...contents, byName: update(contents.byName, path) });
    },
    entries: () => [...cached.values()].flatMap(({ byName }) => byName),
  };
}
