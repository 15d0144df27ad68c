import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Identity } from '../../access/identity.ts';
import { StoreError } from '../../domain/error.ts';
import { HttpError } from '../errors.ts';
import { groupsIn, nameIn } from './claims.ts';
import { fetchFromProvider, retryAfterOf } from './provider-fetch.ts';

/** The JSON Web Tokens of an issuer. */
export interface JwtSettings {
  readonly issuer: string;
  readonly audience: string;
  /** Where its keys are; without it, its discovery document says. */
  readonly jwksUrl: string | undefined;
  readonly nameClaim: string;
  readonly groupsClaim: string;
}

/** Whom a token stands for. Throws 401 where it stands for nobody, and `unavailable` where that can't be known. */
export type JwtCheck = (token: string) => Promise<Identity>;

/** Milliseconds that the issuer has for an answer. */
const TIMEOUT = 5000;

/**
 * Milliseconds after which a token with a key that is not known has the keys fetched anew: an issuer that changes them
 * is followed soon, and somebody who makes such tokens up does not make the service ask all the time.
 */
const COOLDOWN = 5000;

/** Those of a key pair. With a shared secret, whoever can check a token could make one. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** Seconds by which clocks may differ. */
const CLOCK_TOLERANCE = 30;

export function createJwtCheck(
  { issuer, audience, jwksUrl, nameClaim, groupsClaim }: JwtSettings,
  { timeout = TIMEOUT }: { readonly timeout?: number } = {},
): JwtCheck {
  const keyOf = createKeys(issuer, jwksUrl, timeout);
  const verify = async (token: string): Promise<JWTPayload> => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keyOf, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp'],
        clockTolerance: CLOCK_TOLERANCE,
      });
      requireAccessToken(protectedHeader.typ, payload);
      return payload;
    } catch (error) {
      if (error instanceof errors.JOSEError) throw new HttpError(401, explain(error));
      // A key that can't be used, such as one that is too short, is found as late as here.
      throw keysUnavailable(error);
    }
  };
  return async (token) => {
    const claims = await verify(token);
    const name = nameIn(claims, nameClaim);
    if (name !== undefined) return { name, groups: groupsIn(claims, groupsClaim) };
    const verified = nameClaim === 'email' ? ', verified by its issuer,' : '';
    throw new HttpError(401, `The token names nobody: it has no ${nameClaim}${verified} that could be a name.`);
  };
}

/** What is for something else than asking a service: proving a sign-in to the one that asked for it, or a key. */
function requireAccessToken(typ: string | undefined, claims: JWTPayload): void {
  const type = (typ ?? 'JWT').toLowerCase().replace(/^application\//, '');
  const isOther = ['nonce', 'at_hash', 'c_hash', 'cnf'].some((claim) => claim in claims);
  if ((type === 'jwt' || type === 'at+jwt') && !isOther) return;
  throw new HttpError(401, 'The token is of a kind that is not for the use as Authorization: Bearer.');
}

/** What is wrong with a token, without anything that it says itself. */
function explain(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired.';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `The token is not valid: its ${error.claim} is not right.`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The token is signed in a way that is not taken.';
  if (error instanceof errors.JWKSNoMatchingKey) return 'The token is signed with a key that its issuer does not have.';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token is not right.';
  return 'The token is neither one of this service nor a valid JSON Web Token.';
}

/** The keys of the issuer, fetched when they are needed first, and kept for ten minutes. */
function createKeys(issuer: string, jwksUrl: string | undefined, timeout: number): JWTVerifyGetKey {
  const options = { timeoutDuration: timeout, cooldownDuration: COOLDOWN, [customFetch]: fetchFromProvider };
  let keys = jwksUrl === undefined ? undefined : createRemoteJWKSet(new URL(jwksUrl), options);
  let discovering: Promise<URL> | undefined;
  return async (header, token) => {
    try {
      if (!keys) {
        discovering ??= discoverKeys(issuer, timeout).finally(() => {
          discovering = undefined;
        });
        keys ??= createRemoteJWKSet(await discovering, options);
      }
      return await keys(header, token);
    } catch (error) {
      if (OF_THE_TOKEN.some((kind) => error instanceof kind)) throw error;
      throw keysUnavailable(error);
    }
  };
}

function keysUnavailable(error: unknown): unknown {
  if (error instanceof HttpError || error instanceof StoreError) return error;
  const retryAfter = retryAfterOf(error);
  const message = 'The keys of the issuer of tokens can not be had now. Try again later.';
  return new StoreError('unavailable', message, { cause: error, ...(retryAfter !== undefined && { retryAfter }) });
}

/** What is wrong with a token, where all else is wrong with the issuer. */
const OF_THE_TOKEN = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported] as const;

/** Where the issuer says that its keys are (OpenID Connect Discovery, section 4). */
async function discoverKeys(issuer: string, timeout: number): Promise<URL> {
  const response = await fetchFromProvider(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
    redirect: 'error',
    signal: AbortSignal.timeout(timeout),
  });
  const found: unknown = await response.json();
  if (!response.ok || typeof found !== 'object' || found === null) throw new Error('The answer is no such document.');
  if (!('issuer' in found) || found.issuer !== issuer) throw new Error('The document is of another issuer.');
  const url = 'jwks_uri' in found && typeof found.jwks_uri === 'string' ? URL.parse(found.jwks_uri) : null;
  // An issuer on this machine may have its keys here as well.
  if (!url || (url.protocol !== 'https:' && !issuer.startsWith('http:'))) {
    throw new Error('The document does not say where the keys are, by an address of https.');
  }
  return url;
}
