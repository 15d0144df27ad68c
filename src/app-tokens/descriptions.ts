import type { Policy } from '../access/policy.ts';
import { type AppToken, inactiveReasonOf } from './app-token.ts';

/** Returns an app token as its owner sees it in the HTTP API. */
export function describeAppToken({ id, name, folder, permissions, createdAt, lastUsedAt, expiresAt }: AppToken) {
  return {
    id,
    name,
    folder,
    permissions: [...permissions],
    createdAt: createdAt.toISOString(),
    ...(lastUsedAt && { lastUsedAt: lastUsedAt.toISOString() }),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
  };
}

/** Returns an app token as operators see it on the command line. */
export function describeForOperator(token: AppToken, policy: Policy) {
  const inactiveReason = inactiveReasonOf(token, policy);
  return {
    ...describeAppToken(token),
    user: token.owner.name,
    active: inactiveReason === undefined,
    ...(inactiveReason && { inactiveReason }),
  };
}
