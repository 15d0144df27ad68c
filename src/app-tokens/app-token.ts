import { randomBytes } from 'node:crypto';
import { type Creator, hasEnded } from '../access/creator.ts';
import { hashToken } from '../access/credentials.ts';
import type { AccessLimit } from '../access/limited-policy.ts';
import { isName, PERMISSIONS, type Permission, type Policy } from '../access/policy.ts';
import { quoted, StoreError } from '../model/error.ts';

/** What users choose for an app token. */
export interface AppTokenSettings extends AccessLimit {
  /** The name of the app. */
  readonly name: string;
  readonly expiresAt: Date | undefined;
}

/**
 * A token of one user for one app, as it was in the database a moment ago. It gives at most the permissions that its owner
 * has at that moment, in its folder.
 */
export interface AppToken extends AppTokenSettings {
  readonly id: string;
  readonly owner: Creator;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | undefined;
  /** Whether it had expired, by the clock of the database. */
  readonly isExpired: boolean;
  /** Whether it was used in the last minute, by the clock of the database. */
  readonly isRecentlyUsed: boolean;
}

/** The prefix of app tokens. Tokens of the access file have none after `holdall_`, and are shorter. */
const SECRET_PREFIX = 'holdall_app_';

/** An app token: the prefix, and 32 bytes in base64url. */
const SECRET = /^holdall_app_[\w-]{43}$/;

/** Returns a new app token and its hash. */
export function createSecret(): { readonly secret: string; readonly hash: string } {
  const secret = `${SECRET_PREFIX}${randomBytes(32).toString('base64url')}`;
  return { secret, hash: hashToken(secret) };
}

/** Returns whether a text has the form of an app token. */
export function isAppTokenSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Returns why an app token can't be used at this moment; undefined if it can. */
export function inactiveReasonOf(
  { owner, expiresAt, isExpired }: AppToken,
  policy: Policy,
): 'expired' | 'owner' | undefined {
  if (hasEnded(owner, policy)) return 'owner';
  // A cached token can have expired after it was read.
  return isExpired || (expiresAt !== undefined && expiresAt.getTime() <= Date.now()) ? 'expired' : undefined;
}

/** Returns permissions without duplicates, in their usual order. */
export function sortPermissions(permissions: readonly Permission[]): readonly Permission[] {
  return PERMISSIONS.filter((permission) => permissions.includes(permission));
}

/** Returns a name without outer spaces. Throws `invalid-request` unless it is a name. */
export function parseName(text: string): string {
  const name = text.trim();
  if (isName(name)) return name;
  const message = `The name ${quoted(name)} must have 1 to 200 characters and no control characters.`;
  throw new StoreError('invalid-request', message);
}

/** Returns the error for an ID that no app token of the user has. */
export function appTokenNotFound(id: string): StoreError {
  return new StoreError('not-found', `The app token ${quoted(id)} does not exist.`);
}
