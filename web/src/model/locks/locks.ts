import { isFolderPath, isWithin, parentOf } from '../../platform/paths.ts';
import type { Lock } from '../../platform/service/locks.ts';
import type { Account } from '../account/account.ts';
import type { Permissions } from '../account/permissions.ts';

/** Returns the lock of a file or folder: its own one, otherwise that of a folder that contains it. */
export function findLock(locks: readonly Lock[], path: string): Lock | undefined {
  const own = locks.find((lock) => lock.path === path);
  return own ?? locks.find((lock) => lock.depth === 'infinity' && isFolderPath(lock.path) && isWithin(path, lock.path));
}

/** The user of the page, and what the user can do. */
export interface Unlocker {
  readonly account: Pick<Account, 'lastUsername'> | null;
  readonly permissions: Pick<Permissions, 'allowsIn'>;
}

/** Returns whether the user of the page holds a lock, also if the session has expired. */
export function isOwnLock({ user }: Pick<Lock, 'user'>, { account }: Pick<Unlocker, 'account'>): boolean {
  return user !== undefined && user === account?.lastUsername.value;
}

/** Returns whether the service lets the user end a lock, as far as the page knows. */
export function canUnlock(lock: Lock, unlocker: Unlocker): boolean {
  return isOwnLock(lock, unlocker) || unlocker.permissions.allowsIn(parentOf(lock.path), 'manage');
}

/** The clocks of browsers differ from that of the service, so that a lock can seem to have ended although it has not. */
const MIN_DELAY_MS = 30_000;
/** Clients refresh a lock shortly before it expires. */
const GRACE_MS = 1_000;

/** Returns the milliseconds until the first lock expires; undefined without locks. */
export function delayUntilExpiry(locks: readonly Pick<Lock, 'expiresAt'>[], now: Date): number | undefined {
  if (locks.length === 0) return undefined;
  const first = Math.min(...locks.map(({ expiresAt }) => Date.parse(expiresAt)));
  return Math.max(first - now.getTime() + GRACE_MS, MIN_DELAY_MS);
}
