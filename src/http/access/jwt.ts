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

/** The user of a token, and when it expires. */
export interface CheckedJwt {
  readonly user: Identity;
  readonly expiresAt: Date;
}

/** Returns the user of a token. Throws 401 if the token is invalid, and `unavailable` if that is unknown. */
export type JwtCheck = (token: string) => Promise<CheckedJwt>;

/** Default milliseconds until the issuer must have responded. */
const TIMEOUT_MS = 5000;

/**
 * Minimum milliseconds between two fetches of the keys. A token with an unknown key triggers a fetch, so that a key
 * rotation takes effect soon. Forged tokens can't make the service fetch the keys all the time.
 */
const KEY_COOLDOWN_MS = 5000;

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

/** Maximum clock difference. */
const CLOCK_TOLERANCE_SECONDS = 30;

export function createJwtCheck(
  { issuer, audience, jwksUrl, nameClaim, groupsClaim }: JwtSettings,
  { timeout = TIMEOUT_MS }: { readonly timeout?: number } = {},
): JwtCheck {
  const getKey = createKeyResolver(issuer, jwksUrl, timeout);
  const verify = async (token: string): Promise<JWTPayload & { readonly exp: number }> => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, getKey, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
      });
      requireAccessToken(protectedHeader.typ, payload);
      const { exp } = payload;
      if (exp === undefined) throw new errors.JWTClaimValidationFailed('missing', payload, 'exp');
      return { ...payload, exp };
    } catch (error) {
      if (error instanceof errors.JOSEError)
        throw new HttpError(
          error instanceof errors.JWTExpired ? 'token-expired' : 'invalid-token',
          describeInvalidToken(error),
        );
      // An unusable key, such as one that is too short, is only detected here.
      throw keysUnavailable(error);
    }
  };
  return async (token) => {
    const claims = await verify(token);
    const name = nameIn(claims, nameClaim);
    if (name !== undefined) {
      const user = { name, groups: groupsIn(claims, groupsClaim) };
      return { user, expiresAt: new Date(claims.exp * 1000) };
    }
    throw new HttpError(
      'invalid-token',
      nameClaim === 'email'
        ? 'The token has no verified e-mail address.'
        : `The token has no valid username in the claim "${nameClaim}".`,
    );
  };
}

/** Rejects tokens that are not meant for an API: ID tokens and tokens bound to a key. */
function requireAccessToken(typ: string | undefined, claims: JWTPayload): void {
  const type = (typ ?? 'JWT').toLowerCase().replace(/^application\//, '');
  const isForOtherUse = ['nonce', 'at_hash', 'c_hash', 'cnf'].some((claim) => claim in claims);
  if ((type === 'jwt' || type === 'at+jwt') && !isForOtherUse) return;
  throw new HttpError('invalid-token', 'Tokens of this type are not accepted as Authorization: Bearer.');
}

/** Returns why a token is invalid. The message contains nothing from the token itself. */
function describeInvalidToken(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'The token has expired.';
  if (error instanceof errors.JWTClaimValidationFailed) return `The claim "${error.claim}" of the token is invalid.`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'The signature algorithm of the token is not supported.';
  if (error instanceof errors.JWKSNoMatchingKey) return 'The token is signed with an unknown key.';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token is invalid.';
  return 'The token is neither a token of this service nor a valid JSON Web Token.';
}

/** Returns the keys of the issuer. They are fetched on first use and cached for ten minutes. */
function createKeyResolver(issuer: string, jwksUrl: string | undefined, timeout: number): JWTVerifyGetKey {
  const options = { timeoutDuration: timeout, cooldownDuration: KEY_COOLDOWN_MS, [customFetch]: fetchFromProvider };
  let keys = jwksUrl === undefined ? undefined : createRemoteJWKSet(new URL(jwksUrl), options);
  let discovery: Promise<URL> | undefined;
  return async (header, token) => {
    try {
      if (!keys) {
        discovery ??= discoverKeys(issuer, timeout).finally(() => {
          discovery = undefined;
        });
        keys ??= createRemoteJWKSet(await discovery, options);
      }
      return await keys(header, token);
    } catch (error) {
      if (TOKEN_ERRORS.some((kind) => error instanceof kind)) throw error;
      throw keysUnavailable(error);
    }
  };
}

function keysUnavailable(error: unknown): unknown {
  if (error instanceof HttpError || error instanceof StoreError) return error;
  const retryAfter = retryAfterOf(error);
  const message = 'The keys of the token issuer are unavailable. Try again later.';
  return new StoreError('identity-provider-unavailable', message, {
    cause: error,
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

/** Errors that the token causes. All other errors are the issuer's. */
const TOKEN_ERRORS = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported] as const;

/** Returns the URL of the keys from the issuer's discovery document (OpenID Connect Discovery, section 4). */
async function discoverKeys(issuer: string, timeout: number): Promise<URL> {
  const response = await fetchFromProvider(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
    redirect: 'error',
    signal: AbortSignal.timeout(timeout),
  });
  const document: unknown = await response.json();
  if (!response.ok || typeof document !== 'object' || document === null)
    throw new Error('The response is not a discovery document.');
  if (!('issuer' in document) || document.issuer !== issuer)
    throw new Error('The discovery document names another issuer.');
  const url = 'jwks_uri' in document && typeof document.jwks_uri === 'string' ? URL.parse(document.jwks_uri) : null;
  // An issuer with an HTTP URL (on loopback) can also serve its keys over HTTP.
  if (!url || (url.protocol !== 'https:' && !issuer.startsWith('http:'))) {
    throw new Error('The discovery document has no HTTPS URL in jwks_uri.');
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
