import { isStoreError } from '../model/error.ts';
import type { FolderPath } from '../model/path.ts';
import type { Cancellable, Entry, Store } from '../model/store.ts';

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

/** Whether two entries are files that hold the same bytes. */
export function isSameFile(left: Entry | undefined, right: Entry | undefined): boolean {
  return left?.kind === 'file' && right?.kind === 'file' && left.size === right.size && left.etag === right.etag;
}
