import { isStoreError } from '../model/error.ts';
import type { FolderPath } from '../model/path.ts';
import type { Cancellable, Entry, Store } from '../model/store.ts';

/** Lists everything below a folder in the order of `comparePaths`, with `Store.walk` if the store has it. */
export async function* walk(store: Store, folder: FolderPath, options: Cancellable = {}): AsyncGenerator<Entry> {
  if (store.walk) yield* store.walk(folder, options);
  else yield* walkByLists(store.list, folder, options);
}

/** Lists the same entries as `walk`, with listings of single folders only. */
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
    // The folder does not exist, or was deleted after its parent was listed.
    if (!page) return;
    for (const entry of page.entries) {
      yield entry;
      if (entry.kind === 'folder') yield* walkByLists(list, entry.path, options);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Returns whether two entries are files with the same content. */
export function isSameFile(left: Entry | undefined, right: Entry | undefined): boolean {
  return left?.kind === 'file' && right?.kind === 'file' && left.size === right.size && left.etag === right.etag;
}
