import { quoted, StoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, isFolder, isWithin, parentOf, ROOT } from '../model/path.ts';

/** A write lock of a WebDAV client (RFC 4918, section 6). */
export interface Lock {
  /** A UUID. The lock token is `urn:uuid:` and this UUID. */
  readonly token: string;
  /** Identifies the lock for clients that don't hold it. */
  readonly id: string;
  /** The locked file or folder. */
  readonly path: FilePath | FolderPath;
  readonly scope: 'exclusive' | 'shared';
  /** Whether everything in the folder is locked too. Otherwise, only the folder's list of names is. */
  readonly isDeep: boolean;
  /** What the client said about the owner, as the XML element `DAV:owner`. */
  readonly owner: string | undefined;
  /** The user who holds the lock; undefined for an anonymous user. */
  readonly user: string | undefined;
  /** The ID of the app token with which the lock was set; undefined for other authentication methods. */
  readonly appToken: string | undefined;
  readonly timeoutSeconds: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Seconds until the lock expires, when it was read. */
  readonly remainingSeconds: number;
}

/** The sender of a request, and the tokens of the locks that the request says it holds. */
export interface LockHolder {
  readonly user: string | undefined;
  /** The ID of the app token of the request; undefined for other authentication methods. */
  readonly appToken: string | undefined;
  readonly tokens: ReadonlySet<string>;
}

/** Returns whether a lock covers a file or folder: it is the locked one, or in a folder with a deep lock. */
export function covers({ path: locked, isDeep }: Lock, path: FilePath | FolderPath): boolean {
  return locked === path || (isDeep && isFolder(locked) && isWithin(path, locked));
}

/** Returns whether a request may use a lock: it sent the lock token, and its sender holds the lock. */
export function isHeld(lock: Lock, holder: LockHolder): boolean {
  return holder.tokens.has(lock.token) && isHolder(lock, holder);
}

/**
 * Returns whether the sender of a request holds a lock. An app token holds only the locks that it has set: `PROPFIND` shows lock
 * tokens to all apps of the user, and some adopt the lock of another device.
 */
export function isHolder(
  lock: Pick<Lock, 'user' | 'appToken'>,
  { user, appToken }: Pick<LockHolder, 'user' | 'appToken'>,
): boolean {
  return lock.user === user && (appToken === undefined || lock.appToken === appToken);
}

/** Returns the paths whose locks can cover a file or folder: the root, all folders in its path, and itself. */
export function pathsTo(path: FilePath | FolderPath): (FilePath | FolderPath)[] {
  const paths: (FilePath | FolderPath)[] = [ROOT];
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    paths.push(path.slice(0, slash + 1) as FolderPath);
  }
  return isFolder(path) ? paths : [...paths, path];
}

/** What an operation changes. */
export interface LockedChange {
  readonly path: FilePath | FolderPath;
  /** Whether the path appears, disappears, or is renamed, which also changes its parent folder. */
  readonly isMember: boolean;
  /** Whether everything in the folder changes. */
  readonly isTree: boolean;
}

/**
 * Returns a lock that forbids a change; undefined if none does. `locks` are all locks that can concern the change. Of each
 * file or folder that changes, the holder must hold one of the locks that cover it (RFC 4918, section 7).
 */
export function findObstacle(change: LockedChange, locks: readonly Lock[], holder: LockHolder): Lock | undefined {
  const { path, isMember, isTree } = change;
  const changed = new Set<FilePath | FolderPath>([path]);
  if (isMember) changed.add(parentOf(path));
  if (isTree && isFolder(path)) {
    for (const lock of locks) if (isWithin(lock.path, path)) changed.add(lock.path);
  }
  // Comparing every lock with every path would take seconds for a folder with thousands of locks.
  const locksOf = Map.groupBy(locks, (lock) => lock.path);
  for (const each of changed) {
    const covering = pathsTo(each).flatMap(
      (covered) => locksOf.get(covered)?.filter((lock) => covers(lock, each)) ?? [],
    );
    if (covering.length > 0 && !covering.some((lock) => isHeld(lock, holder))) return covering[0];
  }
  return undefined;
}

/** The error for a change that a lock forbids. Anonymous users don't learn who holds the lock. */
export function lockedError(
  path: FilePath | FolderPath,
  { path: locked, user: lockUser, expiresAt }: Lock,
  holder: Pick<LockHolder, 'user'>,
): StoreError {
  const user = holder.user === undefined ? undefined : lockUser;
  const owner = user === undefined ? '' : ` by ${quoted(user)}`;
  const until = `until ${expiresAt.toISOString().slice(0, 19)}Z at the latest`;
  const what =
    locked === path || !isWithin(locked, path as FolderPath)
      ? `${quoted(path)} is locked${owner}`
      : `A file or folder in ${quoted(path)} is locked${owner}`;
  const lock = { path: locked, user, expiresAt };
  return new StoreError('locked', `${what}, ${until}. Try again when it is unlocked.`, { lock });
}
