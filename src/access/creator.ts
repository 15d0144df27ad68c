import type { Identity, Policy } from './policy.ts';

/** The credential of a request, as far as it limits what the request creates. Sessions and passwords limit nothing. */
export interface Credential {
  /** The hash of the token of the access file; undefined for other credentials. */
  readonly tokenHash?: string | undefined;
  /** When the token expires; undefined for tokens without an expiry, and for other credentials. */
  readonly expiresAt?: Date | undefined;
}

/**
 * The user who created something that remains when they are absent: a share link, an app token or a webhook. Users of an
 * identity provider have the groups that they had then.
 */
export interface Creator extends Identity {
  /** Whether the access file had the user. It must then still have them. Others come from an identity provider. */
  readonly hasEntry: boolean;
  /** The hash of the token of the access file with which they created it. It ends with that token. */
  readonly tokenHash?: string;
}

/** Returns a user as the creator of something that remains; undefined for an anonymous user. */
export function createCreator(user: Identity, policy: Policy, credential?: Credential): Creator;
export function createCreator(user: Identity | undefined, policy: Policy, credential?: Credential): Creator | undefined;
export function createCreator(
  user: Identity | undefined,
  policy: Policy,
  { tokenHash }: Credential = {},
): Creator | undefined {
  if (!user) return undefined;
  const hasEntry = policy.userEntry(user.name) !== undefined;
  return { name: user.name, groups: user.groups, hasEntry, ...(tokenHash !== undefined && { tokenHash }) };
}

/** Returns whether a creator was removed from the access file. */
export function isRemoved({ name, hasEntry }: Creator, policy: Policy): boolean {
  return hasEntry && policy.userEntry(name) === undefined;
}

/** Returns whether what a creator made has ended with them, or with the token that they used. */
export function hasEnded(creator: Creator, policy: Policy): boolean {
  const { name, tokenHash } = creator;
  if (isRemoved(creator, policy)) return true;
  return tokenHash !== undefined && !hasToken(policy, name, tokenHash);
}

/** Returns whether a user has a token with this hash that has not expired. */
export function hasToken(policy: Policy, name: string, hash: string): boolean {
  const found = policy.tokenOf(hash);
  if (found?.user.name !== name) return false;
  const { expires } = found.token;
  return expires === undefined || expires.getTime() > Date.now();
}
