import type { AppToken, AppTokenCreated, AppTokenList, CreateAppToken } from '../../../../src/http/schemas.ts';
import type { Service } from './service.ts';

/*
 * App tokens in the HTTP API. Every function throws `ServiceError`, or the `AbortError` of its signal.
 */

/** A token of the user for one app. */
export type { AppToken } from '../../../../src/http/schemas.ts';
/** A new token with its secret, which the service never returns again. */
export type CreatedAppToken = Pick<AppTokenCreated, 'token' | 'secret'>;
export type NewAppToken = CreateAppToken;

type Sender = Pick<Service, 'send'>;

/** Returns the user's own tokens, the newest first. */
export async function listAppTokens(service: Sender, signal: AbortSignal): Promise<readonly AppToken[]> {
  const { tokens } = await service.send<AppTokenList>('-/app-tokens', { signal });
  return tokens;
}

export function createAppToken(service: Sender, body: NewAppToken): Promise<CreatedAppToken> {
  return service.send('-/app-tokens', { method: 'POST', body });
}

/** Revokes a token: it stops working immediately. */
export async function revokeAppToken(service: Sender, id: string): Promise<void> {
  await service.send(`-/app-tokens/${encodeURIComponent(id)}`, { method: 'DELETE' });
}
