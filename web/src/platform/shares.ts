/* What other apps have shared, until the user saves or discards it. The service worker stores it, and the page reads it. */

/** The path that other apps share to, relative to the root of the service. */
export const SHARE_PATH = '-/share';

/** The files and texts of one share. */
export interface Share {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  readonly files: readonly File[];
  readonly title: string;
  readonly text: string;
  readonly url: string;
}

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const MAX_SHARES = 10;
const MAX_FILES = 1_000;
const MAX_TEXT_LENGTH = 1024 * 1024;

/** Returns whether a share exceeds the limits. The browser itself limits the bytes of all stored files. */
export function isTooLarge({ files, title, text, url }: Share): boolean {
  return files.length > MAX_FILES || title.length + text.length + url.length > MAX_TEXT_LENGTH;
}

/** Stores a share, and deletes the expired ones, and the oldest ones above the limit. `root` is the URL of the service. */
export async function storeShare(root: string, share: Share): Promise<void> {
  await deleteExpiredShares(root, MAX_SHARES - 1);
  await change(root, (store) => store.put(share));
}

/** Returns a share; undefined if it was saved, discarded or has expired. */
export async function readShare(root: string, id: string): Promise<Share | undefined> {
  const share = await use(root, 'readonly', (store) => resultOf<Share | undefined>(store.get(id)));
  return share && !isExpired(share) ? share : undefined;
}

export async function deleteShare(root: string, id: string): Promise<void> {
  await change(root, (store) => store.delete(id));
}

/** Deletes the shares that are older than a day, and the oldest of the others if there are more than `max`. */
export async function deleteExpiredShares(root: string, max = MAX_SHARES): Promise<void> {
  const shares = await use(root, 'readonly', (store) => resultOf<Share[]>(store.getAll()));
  const newest = shares.filter((share) => !isExpired(share)).toSorted((a, b) => b.receivedAt - a.receivedAt);
  const kept = new Set(newest.slice(0, max));
  const deleted = shares.filter((share) => !kept.has(share));
  if (deleted.length > 0) await change(root, (store) => deleted.forEach(({ id }) => store.delete(id)));
}

/** Deletes all shares. */
export async function deleteShares(root: string): Promise<void> {
  await resultOf(indexedDB.deleteDatabase(databaseOf(root)));
}

function isExpired({ receivedAt }: Share): boolean {
  return Math.abs(Date.now() - receivedAt) > LIFETIME_MS;
}

const STORE = 'shares';

/** Several services can have one origin, below different paths. */
const databaseOf = (root: string) => `holdall-shares ${new URL(root).pathname}`;

async function use<Result>(
  root: string,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => Promise<Result>,
): Promise<Result> {
  const opening = indexedDB.open(databaseOf(root), 1);
  opening.addEventListener('upgradeneeded', () => void opening.result.createObjectStore(STORE, { keyPath: 'id' }));
  const database = await resultOf(opening);
  try {
    return await work(database.transaction(STORE, mode).objectStore(STORE));
  } finally {
    database.close();
  }
}

async function change(root: string, work: (store: IDBObjectStore) => void): Promise<void> {
  await use(root, 'readwrite', async (store) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    store.transaction.addEventListener('complete', () => resolve());
    store.transaction.addEventListener('abort', () =>
      reject(store.transaction.error ?? new Error('The transaction failed.')),
    );
    work(store);
    await promise;
  });
}

function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  request.addEventListener('success', () => resolve(request.result));
  request.addEventListener('error', () => reject(request.error ?? new Error('The request failed.')));
  return promise;
}
