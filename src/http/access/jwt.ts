import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { type Identity, isName } from '../../access/policy.ts';
import { StoreError } from '../../model/error.ts';
import { HttpError } from '../errors.ts';
import { fetchFromProvider, retryAfterOf } from './provider-requests.ts';

/** Settings for the JSON Web Tokens of an issuer. */
export interface JwtSettings {
  readonly issuer: string;
  readonly audience: string;
  /** URL of the issuer's keys. If undefined, the discovery document provides it. */
  readonly jwksUrl: string | undefined;
  readonly nameClaim: string;
  readonly groupsClaim: string;
}

/** Returns the user of a token. Throws 401 if the token is invalid, and `unavailable` if that is unknown. */
export type JwtCheck = (token: string) => Promise<Identity>;

/** Milliseconds until the issuer must have responded. */
const TIMEOUT = 5000;

/**
 * Minimum milliseconds between two fetches of the keys. A token with an unknown key triggers a fetch, so that a key
 * rotation takes effect soon. Forged tokens can't make the service fetch the keys all the time.
 */
const COOLDOWN = 5000;

/** Asymmetric algorithms only. With a shared secret, every service that verifies tokens could also issue them. */
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

/** Maximum clock difference in seconds. */
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
      if (error instanceof errors.JOSEError)
        throw new HttpError(error instanceof errors.JWTExpired ? 'token-expired' : 'invalid-token', explain(error));
      // An unusable key, such as one that is too short, is only detected here.
      throw keysUnavailable(error);
    }
  };
  return async (token) => {
    const claims = await verify(token);
    const name = nameIn(claims, nameClaim);
    if (name !== undefined) return { name, groups: groupsIn(claims, groupsClaim) };
    const verified = nameClaim === 'email' ? ', verified by its issuer,' : '';
    throw new HttpError(
      'invalid-token',
      `The token names nobody: it has no ${nameClaim}${verified} that could be a name.`,
    );
  };
}

/** Rejects tokens that are not meant for an API: ID tokens and tokens bound to a key. */
function requireAccessToken(typ: string | undefined, claims: JWTPayload): void {
  const type = (typ ?? 'JWT').toLowerCase().replace(/^application\//, '');
  const isOther = ['nonce', 'at_hash', 'c_hash', 'cnf'].some((claim) => claim in claims);
  if ((type === 'jwt' || type === 'at+jwt') && !isOther) return;
  throw new HttpError('invalid-token', 'The token is of a kind that is not for the use as Authorization: Bearer.');
}

/** Returns why a token is invalid. The message contains nothing from the token itself. */
function explain(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired.';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `The token is not valid: its ${error.claim} is not right.`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The token is signed in a way that is not taken.';
  if (error instanceof errors.JWKSNoMatchingKey) return 'The token is signed with a key that its issuer does not have.';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token is not right.';
  return 'The token is neither one of this service nor a valid JSON Web Token.';
}

/** Returns the keys of the issuer. They are fetched on first use and cached for ten minutes. */
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
  return new StoreError('identity-provider-unavailable', message, {
    cause: error,
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

/** Errors that the token causes. All other errors are the issuer's. */
const OF_THE_TOKEN = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported] as const;

/** Returns the URL of the keys from the issuer's discovery document (OpenID Connect Discovery, section 4). */
async function discoverKeys(issuer: string, timeout: number): Promise<URL> {
  const response = await fetchFromProvider(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
    redirect: 'error',
    signal: AbortSignal.timeout(timeout),
  });
  const found: unknown = await response.json();
  if (!response.ok || typeof found !== 'object' || found === null) throw new Error('The answer is no such document.');
  if (!('issuer' in found) || found.issuer !== issuer) throw new Error('The document is of another issuer.');
  const url = 'jwks_uri' in found && typeof found.jwks_uri === 'string' ? URL.parse(found.jwks_uri) : null;
  // An issuer with an HTTP URL (on loopback) can also serve its keys over HTTP.
  if (!url || (url.protocol !== 'https:' && !issuer.startsWith('http:'))) {
    throw new Error('The document does not say where the keys are, by an address of https.');
  }
  return url;
}

/**
 * Returns the username in the claims of an identity provider; undefined if there is none.
 * A username has 1 to 200 characters, none of them control characters. An `email` counts only if the provider has
 * verified it: otherwise a user could enter the address of another user.
 */
export function nameIn(claims: JWTPayload, claim: string): string | undefined {
  if (claim === 'email' && claims['email_verified'] !== true) return undefined;
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  return isName(value) ? value : undefined;
}

/** Returns the groups in the claims, from a list or a single string. Drops values that are not valid group names. */
export function groupsIn(claims: JWTPayload, claim: string): string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  return [...new Set([value].flat().filter(isName))];
}
