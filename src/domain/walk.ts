import { isStoreError } from './error.ts';
import type { FilePath, FolderPath } from './path.ts';
import { comparePaths } from './path.ts';
import type { Cancellable, Entry, FileEntry, Store } from './store.ts';

/** Everything below a folder, in the order of `comparePaths`: see `Store.walk`, which it uses where there is one. */
export async function* walk(store: Store, folder: FolderPath, options: Cancellable = {}): AsyncGenerator<Entry> {
  if (store.walk) yield* store.walk(folder, options);
  else yield* walkByLists(store.list, folder, options);
}

/** As `walk`, with nothing but the listing of single folders. */
export async function* walkByLists(
  list: Store['list'],
  folder: FolderPath,
  options: Cancellable,
): AsyncGenerator<Entry> {
  let cursor: string | undefined;
  do {
    options.signal?.throwIfAborted();
    const page = await list(folder, { ...options, cursor }).catch((error: unknown) => {
      if (isStoreError(error, 'not-found')) return undefined;
      throw error;
    });
    // Not there, or gone since its parent was listed.
    if (!page) return;
    for (const entry of page.entries) {
      yield entry;
      if (entry.kind === 'folder') yield* walkByLists(list, entry.path, options);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** What two folders hold at one place below them: in either or in both. */
export interface Pair {
  readonly source?: Entry;
  readonly copy?: Entry;
}

/**
 * The contents of two folders side by side, joined on the path below each. Both are walked in the same order,
 * so that neither is held in memory.
 */
export async function* walkPairs(
  store: Store,
  from: FolderPath,
  to: FolderPath,
  options: Cancellable = {},
): AsyncGenerator<Pair> {
  const sources = walk(store, from, options);
  const copies = walk(store, to, options);
  try {
    let source = await take(sources);
    let copy = await take(copies);
    while (source || copy) {
      const order = !source ? 1 : !copy ? -1 : comparePaths(below(source, from), below(copy, to));
      yield { ...(order <= 0 && { source }), ...(order >= 0 && { copy }) };
      if (order <= 0) source = await take(sources);
      if (order >= 0) copy = await take(copies);
    }
  } finally {
    await Promise.all([sources.return(undefined), copies.return(undefined)]);
  }
}

/** Whether two entries are files that hold the same bytes. */
export function isSameFile(left: Entry | undefined, right: Entry | undefined): boolean {
  return left?.kind === 'file' && right?.kind === 'file' && left.size === right.size && left.etag === right.etag;
}

const below = (entry: { path: FilePath | FolderPath }, folder: FolderPath) => entry.path.slice(folder.length);

async function take(entries: AsyncGenerator<Entry>): Promise<Entry | undefined> {
  const next = await entries.next();
  return next.done ? undefined : next.value;
}

/** The files among the entries. */
export async function* onlyFiles(entries: AsyncIterable<Entry>): AsyncGenerator<FileEntry> {
  for await (const entry of entries) if (entry.kind === 'file') yield entry;
}
