import type { FastifyRequest } from 'fastify';
import { HttpError } from '../errors.ts';
import { accessOf } from './request-access.ts';

/*
 * The rule for requests that create what remains after them: it ends no later than the credential of the request. It also ends
 * when the token is revoked (`access/creator.ts`). Routes that create such things are closed to app tokens (`RouteAccess`).
 */

/**
 * Returns when that ends which a request creates: as it asks, and by default with its credential. Null asks for no end. Throws
 * 403 for an end after that of the credential.
 */
export function endOf(request: FastifyRequest, requested: Date | null | undefined): Date | undefined {
  const { expiresAt } = accessOf(request).credential;
  if (expiresAt === undefined) return requested ?? undefined;
  if (requested === undefined) return expiresAt;
  if (requested !== null && requested <= expiresAt) return requested;
  const end = expiresAt.toISOString();
  throw new HttpError(
    'outlasts-credential',
    `The token of this request expires on ${end}, and nothing that it creates or changes may end later. ` +
      'Send an earlier "expiresAt", or sign in without the token.',
  );
}

/** Throws 403 for a request that creates what has no end, and whose credential has one. */
export function requireNoEnd(request: FastifyRequest, what: string): void {
  const { expiresAt } = accessOf(request).credential;
  if (expiresAt === undefined) return;
  const message = `The token of this request expires on ${expiresAt.toISOString()}, and ${what} have no end. Sign in without the token.`;
  throw new HttpError('outlasts-credential', message);
}
