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

/** Where a share is on its way from the sender to a folder. */
export interface ShareState {
  readonly id: string;
  /** The user who saw the share first. Other users can't see it. Null without access control. */
  readonly username: string | null;
  /** The path of the folder that the user saves the files to; null until the user has chosen it. */
  readonly folder: string | null;
}

/**
 * Stores a share, and deletes the expired ones. Returns false if too many others wait: a page that sends many shares must
 * not delete those of the user. `root` is the URL of the service.
 */
export async function storeShare(root: string, share: Share): Promise<boolean> {
  await deleteExpiredShares(root);
  return use(root, 'readwrite', async ({ shares }) => {
    if ((await resultOf(shares.count())) >= MAX_SHARES) return false;
    await resultOf(shares.put(share));
    return true;
  });
}

/**
 * Returns a share; undefined if it was saved, discarded or has expired, or if another user has seen it. From then on, only
 * this user can see it. `username` is null if no user is signed in.
 */
export async function readShare(root: string, id: string, username: string | null): Promise<Share | undefined> {
  return use(root, 'readwrite', async ({ shares, states }) => {
    const share = await resultOf<Share | undefined>(shares.get(id));
    const state = await resultOf<ShareState | undefined>(states.get(id));
    const owner = state?.username ?? null;
    if (!share || isExpired(share) || (owner !== null && owner !== username)) return undefined;
    if (owner !== username) await resultOf(states.put({ id, username, folder: state?.folder ?? null }));
    return share;
  });
}

/** Stores that a share is being saved. */
export async function storeShareState(root: string, state: ShareState): Promise<void> {
  await use(root, 'readwrite', ({ states }) => resultOf(states.put(state)));
}

/** Returns the shares of a user that are being saved. If `username` is null, those without a user. */
export async function savedShares(root: string, username: string | null): Promise<readonly ShareState[]> {
  const states = await use(root, 'readonly', (stores) => resultOf<ShareState[]>(stores.states.getAll()));
  return states.filter((state) => state.folder !== null && state.username === username);
}

export async function deleteShare(root: string, id: string): Promise<void> {
  await deleteAll(root, [id]);
}

/** Deletes the shares that are older than a day. */
export async function deleteExpiredShares(root: string): Promise<void> {
  const shares = await use(root, 'readonly', (stores) => resultOf<Share[]>(stores.shares.getAll()));
  await deleteAll(
    root,
    shares.filter(isExpired).map(({ id }) => id),
  );
}

/** Deletes the shares that other users have seen, such as those whose session has expired. */
export async function deleteSharesOfOthers(root: string, username: string): Promise<void> {
  const states = await use(root, 'readonly', (stores) => resultOf<ShareState[]>(stores.states.getAll()));
  const others = states.filter((state) => state.username !== null && state.username !== username);
  await deleteAll(
    root,
    others.map(({ id }) => id),
  );
}

/** Deletes all shares. */
export async function deleteShares(root: string): Promise<void> {
  await resultOf(indexedDB.deleteDatabase(databaseOf(root)));
}

async function deleteAll(root: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await use(root, 'readwrite', async ({ shares, states }) => {
    await Promise.all(ids.flatMap((id) => [shares, states].map((store) => resultOf(store.delete(id)))));
  });
}

function isExpired({ receivedAt }: Share): boolean {
  return Math.abs(Date.now() - receivedAt) > LIFETIME_MS;
}

/** Apart from the shares, so that a new state copies no files. */
const STORES = ['shares', 'states'] as const;
type Stores = Readonly<Record<(typeof STORES)[number], IDBObjectStore>>;
const VERSION = 2;

/** Several services can have one origin, below different paths. */
const databaseOf = (root: string) => `holdall-shares ${new URL(root).pathname}`;

/** Runs `work` in one transaction, and waits until it is complete. `work` must wait only for requests to the stores. */
async function use<Result>(
  root: string,
  mode: IDBTransactionMode,
  work: (stores: Stores) => Promise<Result>,
): Promise<Result> {
  const opening = indexedDB.open(databaseOf(root), VERSION);
  opening.addEventListener('upgradeneeded', () => {
    const database = opening.result;
    for (const name of STORES) {
      if (!database.objectStoreNames.contains(name)) database.createObjectStore(name, { keyPath: 'id' });
    }
  });
  const database = await resultOf(opening);
  try {
    const transaction = database.transaction(STORES, mode);
    const { promise: completed, resolve, reject } = Promise.withResolvers<void>();
    transaction.addEventListener('complete', () => resolve());
    transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('The transaction failed.')));
    const working = work({ shares: transaction.objectStore('shares'), states: transaction.objectStore('states') });
    const [result] = await Promise.all([working, completed]);
    return result;
  } finally {
    database.close();
  }
}

function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  request.addEventListener('success', () => resolve(request.result));
  request.addEventListener('error', () => reject(request.error ?? new Error('The request failed.')));
  return promise;
}
