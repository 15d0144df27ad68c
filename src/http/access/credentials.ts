import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { hashToken, isToken } from '../../access/credentials.ts';
import type { AuthenticationMethod, Identity } from '../../access/identity.ts';
import type { Policy } from '../../access/policy.ts';
import { HttpError } from '../errors.ts';
import type { JwtCheck } from './jwt.ts';
import type { Credentials } from './password-check.ts';
import { isLoopbackClient } from './request-origin.ts';

/** The name and password of `Authorization: Basic` (RFC 7617), of which this is what follows the scheme. */
export function readBasic(encoded: string): Credentials {
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString();
  const colon = text.indexOf(':');
  const isEncoded = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && isUtf8(bytes);
  if (!isEncoded || colon === -1) {
    throw new HttpError(401, 'What Authorization: Basic says is not a name and a password in UTF-8 and Base64.');
  }
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Throws for a request that came over a network in the clear, where others may have read the password. */
export function requireConfidential(request: FastifyRequest): void {
  if (isConfidential(request)) return;
  throw new HttpError(
    403,
    'Authorization: Basic is taken over HTTPS only, as others can read the password else. Behind a proxy that ends ' +
      'HTTPS, its address must be in TRUST_PROXY, and it must send X-Forwarded-Proto.',
  );
}

/** Whether nobody on the way could read the request: it came by HTTPS, or from this machine itself. */
export function isConfidential(request: FastifyRequest): boolean {
  return request.protocol === 'https' || isLoopbackClient(request);
}

/**
 * Whom the token of `Authorization: Bearer` (RFC 6750) stands for: one of the access file, or where `checkJwt` is given
 * one of an issuer.
 */
export async function readBearer(
  token: string,
  { policy, checkJwt }: { readonly policy: Policy; readonly checkJwt: JwtCheck | undefined },
): Promise<{ readonly who: Identity; readonly way: AuthenticationMethod }> {
  if (!isToken(token) && checkJwt) return { who: await checkJwt(token), way: 'jwt' };
  const found = policy.tokenOf(hashToken(token));
  if (!found) throw new HttpError(401, 'The token is not known: it is another one, or it was taken back.');
  const { expires } = found.token;
  if (expires && expires.getTime() <= Date.now()) {
    throw new HttpError(401, `The token has expired: it was good until ${expires.toISOString()}.`);
  }
  return { who: { name: found.person.name, groups: [] }, way: 'token' };
}
