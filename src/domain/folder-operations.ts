import { concurrently } from './concurrently.ts';
import { isStoreError, quoted, StoreError } from './error.ts';
import { type FilePath, type FolderPath, isWithin, ROOT, rebase, withoutSlash } from './path.ts';
import { existsAlready } from './problems.ts';
import type { Cancellable, Entry, FileEntry, Progress, Replacing, Reporting, Store } from './store.ts';
import { copyFile } from './transfer.ts';
import { isSameFile, onlyFiles, type Pair, walk, walkPairs } from './walk.ts';

export type FolderOptions = Replacing & Reporting & Cancellable;

/** The operations on a folder and everything in it. */
export interface FolderOperations {
  deleteFolder(folder: FolderPath, options?: Reporting & Cancellable): Promise<void>;
  /**
   * With `replace`, the destination becomes what the source is: what it held else is gone. A copy that fails or
   * is cancelled is undone where the destination was not there before.
   */
  copyFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
  /**
   * As `copyFolder`, and then removes from the source exactly what was copied: what arrived or changed there
   * meanwhile stays. Interrupted and called again, it completes.
   */
  moveFolder(from: FolderPath, to: FolderPath, options: FolderOptions): Promise<void>;
}

/** How many files are copied or removed at once, where the store has nothing better. */
const CONCURRENCY = 16;

export function createFolderOperations(store: Store): FolderOperations {
  return {
    async deleteFolder(folder, options = {}) {
      if (folder === ROOT) throw new StoreError('invalid-path', "The root can't be deleted.");
      if (store.removeTree) return store.removeTree(folder, options);
      await store.list(folder, { ...options, limit: 1 });
      await removeTree(store, folder, options);
    },

    async copyFolder(from, to, options) {
      requireApart(from, to);
      await store.list(from, { ...options, limit: 1 });
      await requireReplaceable(store, from, to, options, store.copyFolder === undefined && 'copy');
      if (store.copyFolder) return store.copyFolder(from, to, options);
      await copyAll(store, from, to, options);
    },

    async moveFolder(from, to, options) {
      requireApart(from, to);
      await store.list(from, { ...options, limit: 1 });
      await requireReplaceable(store, from, to, options, store.moveFolder === undefined && 'move');
      if (store.moveFolder) return store.moveFolder(from, to, options);
      await copyAll(store, from, to, options);
      const copied = sourcesOf(walkPairs(store, from, to, options));
      await removeFiles(store, copied, { signal: options.signal });
      await removeEmptyFolders(store, from, options);
    },
  };
}

function requireApart(from: FolderPath, to: FolderPath): void {
  if (from === ROOT) throw new StoreError('invalid-path', "The root can't be copied, moved or renamed.");
  if (to === ROOT) throw new StoreError('invalid-path', "The root can't be the destination: name the new folder.");
  if (from === to) {
    throw new StoreError('invalid-request', `The source and the destination are the same: ${quoted(from)}.`);
  }
  if (isWithin(to, from)) {
    throw new StoreError('invalid-request', `The destination ${quoted(to)} is inside the source ${quoted(from)}.`);
  }
}

/**
 * The conflict rule for folders: a destination that exists is refused, unless it may be replaced, or is what an
 * interrupted `resumable` operation left behind.
 */
async function requireReplaceable(
  store: Store,
  from: FolderPath,
  to: FolderPath,
  options: FolderOptions,
  resumable: 'copy' | 'move' | false,
): Promise<void> {
  if (!(await isFolder(store, to, options))) return;
  if (!options.replace && !(resumable && (await isLeftOver(store, from, to, resumable, options)))) {
    throw existsAlready(to);
  }
  if (isWithin(from, to)) {
    throw new StoreError('invalid-request', `The destination ${quoted(to)} holds the source ${quoted(from)}.`);
  }
}

async function isFolder(store: Store, folder: FolderPath, options: Cancellable): Promise<boolean> {
  try {
    await store.list(folder, { signal: options.signal, limit: 1 });
    return true;
  } catch (error) {
    if (isStoreError(error, 'not-found')) return false;
    throw error;
  }
}

/**
 * Whether `to` looks as an interrupted operation leaves it: it holds copies from `from` and nothing else; or,
 * when a move was already removing, all that `from` still has. A copy that is complete is no left-over.
 */
async function isLeftOver(
  store: Store,
  from: FolderPath,
  to: FolderPath,
  operation: 'copy' | 'move',
  options: Cancellable,
): Promise<boolean> {
  let copies = 0;
  let onlyCopies = true;
  let allCopied = true;
  for await (const pair of walkPairs(store, from, to, { signal: options.signal })) {
    if (isSameFile(pair.source, pair.copy)) copies++;
    else if (pair.copy?.kind === 'file') onlyCopies = false;
    if (pair.source && !pair.copy) allCopied = false;
    if (pair.source?.kind === 'file' && !isSameFile(pair.source, pair.copy)) allCopied = false;
    if (!onlyCopies && !allCopied) return false;
  }
  return copies > 0 && (operation === 'move' || !allCopied);
}

/** Makes `to` what `from` is, skipping what is there already. Undone on failure where `to` is new. */
async function copyAll(store: Store, from: FolderPath, destination: FolderPath, options: FolderOptions): Promise<void> {
  const { signal } = options;
  const isNew = !(await isFolder(store, destination, options));
  const report = countProgress(options);
  const aside = options.replace ? puttingAside : atOnce;
  // Folders are made as they are met, ahead of what is in them.
  const pairs = async function* () {
    for await (const pair of report.counted(walkPairs(store, from, destination, { signal }))) {
      const folder = pair.source?.kind === 'folder' && rebase(pair.source.path, from, destination);
      if (folder) await aside(store, folder, () => store.createFolder(folder, { signal }));
      yield pair;
    }
  };
  const copy = async ({ source, copy: present }: Pair) => {
    if (source?.kind !== 'file') return;
    const to = rebase(source.path, from, destination);
    if (!isSameFile(source, present)) {
      await aside(store, to, () => copyFile(store, source.path, to, { replace: options.replace, signal }));
    }
    report.add(source);
  };
  try {
    await concurrently(pairs(), CONCURRENCY, copy, signal);
    await store.createFolder(destination, { signal });
  } catch (error) {
    if (isNew) await undoCopy(store, from, destination);
    throw error;
  }
  if (options.replace) await removeExtras(store, from, destination, options);
}

const atOnce = async (_store: Store, _path: FilePath | FolderPath, put: () => Promise<unknown>) => void (await put());

/** Runs `put`; where what is at `path` is of the other kind, removes that and runs it again. */
async function puttingAside(store: Store, path: FilePath | FolderPath, put: () => Promise<unknown>): Promise<void> {
  try {
    await put();
  } catch (error) {
    if (!isStoreError(error, 'wrong-kind')) throw error;
    try {
      if (path.endsWith('/')) await store.remove(withoutSlash(path) as FilePath);
      else await removeTree(store, `${path}/` as FolderPath, {});
    } catch (removal) {
      // What is in the way is further up, where it is not for us to remove.
      throw isStoreError(removal, 'not-found') ? error : removal;
    }
    await put();
  }
}

async function removeTree(store: Store, folder: FolderPath, options: Reporting & Cancellable): Promise<void> {
  await removeFiles(store, onlyFiles(walk(store, folder, options)), options);
  await removeEmptyFolders(store, folder, options);
}

/** Removes what `copyAll` made, and nothing that came to the destination from elsewhere. */
async function undoCopy(store: Store, from: FolderPath, to: FolderPath): Promise<void> {
  await removeFiles(store, copiesOf(walkPairs(store, from, to)), {});
  await removeEmptyFolders(store, to, {});
}

async function removeExtras(store: Store, from: FolderPath, to: FolderPath, { signal }: Cancellable): Promise<void> {
  await removeFiles(store, extrasOf(walkPairs(store, from, to, { signal })), { signal });
  for await (const { source, copy } of walkPairs(store, from, to, { signal })) {
    if (copy?.kind === 'folder' && !source) await removeEmptyFolders(store, copy.path, { signal });
  }
}

async function* sourcesOf(pairs: AsyncIterable<Pair>): AsyncGenerator<FileEntry> {
  for await (const { source, copy } of pairs) if (source?.kind === 'file' && isSameFile(source, copy)) yield source;
}

async function* copiesOf(pairs: AsyncIterable<Pair>): AsyncGenerator<FileEntry> {
  for await (const { source, copy } of pairs) if (copy?.kind === 'file' && isSameFile(source, copy)) yield copy;
}

async function* extrasOf(pairs: AsyncIterable<Pair>): AsyncGenerator<FileEntry> {
  for await (const { source, copy } of pairs) if (copy?.kind === 'file' && !source) yield copy;
}

/** Removes the files given, each only as it was seen; those that are gone or changed meanwhile are left alone. */
async function removeFiles(
  store: Store,
  files: AsyncIterable<FileEntry>,
  options: Reporting & Cancellable,
): Promise<void> {
  const report = countProgress(options);
  const remove = async (file: FileEntry) => {
    try {
      await store.remove(file.path, { ifMatch: file.etag, signal: options.signal });
    } catch (error) {
      if (!isStoreError(error, 'not-found') && !isStoreError(error, 'condition-failed')) throw error;
    }
    report.add(file);
  };
  await concurrently(report.counted(files), CONCURRENCY, remove, options.signal);
}

/** Removes a folder and the folders in it as far as they are empty, the deepest first. */
async function removeEmptyFolders(store: Store, folder: FolderPath, options: Cancellable): Promise<void> {
  const { signal } = options;
  const children: FolderPath[] = [];
  let cursor: string | undefined;
  try {
    do {
      const page = await store.list(folder, { cursor, signal });
      for (const entry of page.entries) if (entry.kind === 'folder') children.push(entry.path);
      cursor = page.cursor;
    } while (cursor !== undefined);
    for (const child of children) await removeEmptyFolders(store, child, options);
    await store.removeFolder(folder, { signal });
  } catch (error) {
    if (!isStoreError(error, 'not-found') && !isStoreError(error, 'already-exists')) throw error;
  }
}

/** Counts files and bytes, and reports them: the total is known when the walk that was `counted` has ended. */
function countProgress({ onProgress }: Reporting) {
  let [seen, done, bytes] = [0, 0, 0];
  let total: number | null = null;
  const progress = (): Progress => ({ done, total, bytes });
  return {
    async *counted<Item extends Entry | Pair>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
      for await (const item of items) {
        const source = 'kind' in item ? item : item.source;
        if (source?.kind === 'file') seen++;
        yield item;
      }
      total = seen;
      onProgress?.(progress());
    },
    add(file: { path: FilePath; size: number }) {
      done++;
      bytes += file.size;
      onProgress?.(progress());
    },
  };
}
