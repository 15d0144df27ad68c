import { createHash } from 'node:crypto';
import type { Actor } from './audit.ts';
import { hasToken } from './creator.ts';
import type { AccessLimit } from './limited-policy.ts';
import { AccessDenied } from './permission-checks.ts';
import type { Policy } from './policy.ts';

/**
 * The user who submitted work that continues after the request, and the credential of that request. The work runs only
 * while the credential remains valid.
 */
export interface Submitter extends Actor {
  /** The hash of the token of the access file. Undefined for other authentication methods. */
  readonly tokenHash: string | undefined;
  /** A hash of the user's entry in the access file; undefined for an anonymous user. */
  readonly entryHash: string | undefined;
  /** What the app token gives at most; undefined for other authentication methods. */
  readonly limit?: AccessLimit | undefined;
  /** Set for work that the service itself starts, on behalf of no user. */
  readonly isService?: true;
}

/** The submitter of the work that the service itself starts. */
export const SERVICE: Submitter = {
  user: undefined,
  authMethod: undefined,
  clientAddress: '',
  requestId: '',
  tokenHash: undefined,
  entryHash: undefined,
  isService: true,
};

/** What a submitter needs to know about the credential of a request. */
export interface SubmitterCredential {
  readonly tokenHash?: string | undefined;
  readonly limit?: AccessLimit | undefined;
}

export function createSubmitter(actor: Actor, { tokenHash, limit }: SubmitterCredential, policy: Policy): Submitter {
  return { ...actor, tokenHash, limit, entryHash: actor.user && hashEntry(policy, actor.user.name) };
}

/**
 * Throws `AccessDenied` if the submitter could not sign in any longer as at the request: the token was revoked or has
 * expired, the user was removed, or the password changed. A new password does not affect tokens. `isActive` returns
 * whether the app token with an ID can still be used.
 */
export async function requireValidSubmitter(
  submitter: Submitter,
  policy: Policy,
  isActive: (appToken: string) => Promise<boolean>,
): Promise<void> {
  if (await isValid(submitter, policy, isActive)) return;
  const message = 'The credential that started this operation is no longer valid. Sign in, and start it again.';
  throw new AccessDenied(message, { isAnonymous: false });
}

/** Returns whether the user was in the access file at the request, and no longer is. */
export function isRemovedSubmitter({ user, entryHash }: Submitter, policy: Policy): boolean {
  return user !== undefined && policy.userEntry(user.name) === undefined && entryHash !== hashEntry(policy, user.name);
}

async function isValid(
  { user, appToken, tokenHash, entryHash }: Submitter,
  policy: Policy,
  isActive: (appToken: string) => Promise<boolean>,
): Promise<boolean> {
  if (user === undefined) return true;
  if (appToken !== undefined) return isActive(appToken);
  if (tokenHash !== undefined) return hasToken(policy, user.name, tokenHash);
  return entryHash === hashEntry(policy, user.name);
}

/** Hashes what sessions also depend on. The password is a salted hash already. */
function hashEntry(policy: Policy, name: string): string {
  const entry = policy.userEntry(name);
  const password = entry === undefined ? 'absent' : (entry.password ?? 'without password');
  return createHash('sha256')
    .update(JSON.stringify([name, password]))
    .digest('base64url');
}
