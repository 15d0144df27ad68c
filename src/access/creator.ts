import type { Identity, Policy } from './policy.ts';

/**
 * The user who created a credential that remains when they are absent: a share link or an app token. Users of an identity
 * provider have the groups that they had then.
 */
export interface Creator extends Identity {
  /** Whether the access file had the user. It must then still have them. Others come from an identity provider. */
  readonly hasEntry: boolean;
}

/** Returns a user as the creator of a credential; undefined for an anonymous user. */
export function createCreator(user: Identity, policy: Policy): Creator;
export function createCreator(user: Identity | undefined, policy: Policy): Creator | undefined;
export function createCreator(user: Identity | undefined, policy: Policy): Creator | undefined {
  return user && { name: user.name, groups: user.groups, hasEntry: policy.userEntry(user.name) !== undefined };
}

/** Returns whether a creator was removed from the access file. */
export function isRemoved({ name, hasEntry }: Creator, policy: Policy): boolean {
  return hasEntry && policy.userEntry(name) === undefined;
}
