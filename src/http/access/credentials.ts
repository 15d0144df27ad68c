import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import type { AuthenticationMethod } from '../../access/audit.ts';
import { hashToken, isToken } from '../../access/credentials.ts';
import type { Identity, Policy } from '../../access/policy.ts';
import { HttpError } from '../errors.ts';
import type { JwtCheck } from './jwt.ts';
import type { Credentials } from './password-check.ts';
import { isLoopbackClient } from './request-origin.ts';

/**
 * Parses the credentials of `Authorization: Basic` (RFC 7617). `encoded` is the part after the scheme. Throws 401 if it
 * is not Base64 of UTF-8 text with a colon.
 */
export function readBasic(encoded: string): Credentials {
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString();
  const colon = text.indexOf(':');
  const isEncoded = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && isUtf8(bytes);
  if (!isEncoded || colon === -1) {
    throw new HttpError(
      'invalid-credentials',
      'What Authorization: Basic says is not a name and a password in UTF-8 and Base64.',
    );
  }
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Throws 403 for a request over an unencrypted network, where others could have read the password. */
export function requireConfidential(request: FastifyRequest): void {
  if (isConfidential(request)) return;
  throw new HttpError(
    'https-required',
    'Authorization: Basic is taken over HTTPS only, as others can read the password else. Behind a proxy that ends ' +
      'HTTPS, its address must be in TRUST_PROXY, and it must send X-Forwarded-Proto.',
  );
}

/** Returns whether the request was confidential: it came over HTTPS or from this machine. */
export function isConfidential(request: FastifyRequest): boolean {
  return request.protocol === 'https' || isLoopbackClient(request);
}

/**
 * Returns the user of a token in `Authorization: Bearer` (RFC 6750).
 * Accepts tokens of the access file and, if `checkJwt` is given, JSON Web Tokens. Throws 401 if the token is invalid or
 * expired.
 */
export async function readBearer(
  token: string,
  { policy, checkJwt }: { readonly policy: Policy; readonly checkJwt: JwtCheck | undefined },
): Promise<{ readonly user: Identity; readonly authMethod: AuthenticationMethod }> {
  if (!isToken(token) && checkJwt) return { user: await checkJwt(token), authMethod: 'jwt' };
  const found = policy.tokenOf(hashToken(token));
  if (!found) throw new HttpError('invalid-token', 'The token is not known: it is another one, or it was taken back.');
  const { expires } = found.token;
  if (expires && expires.getTime() <= Date.now()) {
    throw new HttpError('token-expired', `The token has expired: it was good until ${expires.toISOString()}.`);
  }
  return { user: { name: found.user.name, groups: [] }, authMethod: 'token' };
}
