import { type Credential, hasToken } from '../access/creator.ts';
import { type Identity, OPEN_POLICY, type Policy } from '../access/policy.ts';
import { visibleChanges, withoutUser } from '../access/visible-changes.ts';
import type { LoggedChange } from '../model/change.ts';
import { ROOT } from '../model/path.ts';
import type { Delivery, Owner, Webhook } from './webhook.ts';

export function createOwner(user: Identity | undefined, policy: Policy, { tokenHash }: Credential = {}): Owner {
  return {
    ...(user && { user }),
    isListed: isListed(user, policy),
    ...(tokenHash !== undefined && { tokenHash }),
  };
}

/** Returns whether a webhook may deliver at this moment. One that the operator created on the command line always may. */
export function isPermitted({ owner }: Pick<Webhook, 'owner'>, policy: Policy): boolean {
  if (!owner) return true;
  const { user, tokenHash } = owner;
  if (tokenHash !== undefined && !hasToken(policy, user?.name ?? '', tokenHash)) return false;
  return policy.allows(user, 'manage', ROOT) && (!owner.isListed || isListed(user, policy));
}

/** Returns a change as its owner may see it, if the webhook is for it. */
export function selectChanges(
  { owner, folder, types }: Pick<Webhook, 'owner' | 'folder' | 'types'>,
  change: LoggedChange,
  policy: Policy,
): readonly LoggedChange[] {
  const reader = owner ? { policy, user: owner.user } : { policy: OPEN_POLICY, user: undefined };
  const visible = visibleChanges(change, { ...reader, scope: folder });
  const wanted = visible.filter(({ type }) => types?.includes(type) ?? true);
  return owner && !owner.user ? wanted.map(withoutUser) : wanted;
}

/**
 * Returns whether a user may see the message of a delivery at this moment. Its webhook can have had another owner, and
 * permissions change. Without an owner, it is the operator.
 */
export function canSeeMessage({ body }: Pick<Delivery, 'body'>, owner: Owner | undefined, policy: Policy): boolean {
  if (!owner) return true;
  const { type, data } = JSON.parse(body) as { type: string; data: Partial<LoggedChange> };
  // The message of a test has no path.
  if (data.path === undefined) return true;
  const change = { ...data, type } as LoggedChange;
  const [visible] = visibleChanges(change, { policy, user: owner.user, scope: ROOT });
  return visible?.type === type && visible.path === data.path && visible.from === data.from;
}

function isListed(user: Identity | undefined, policy: Policy): boolean {
  return user !== undefined && policy.userEntry(user.name) !== undefined;
}
