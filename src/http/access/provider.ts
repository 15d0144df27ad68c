import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { Identity } from '../../access/policy.ts';
import { quoted } from '../../model/error.ts';
import { HttpError } from '../errors.ts';
import { SIGN_IN_CALLBACK } from '../request-url.ts';
import { groupsIn, nameIn } from './jwt.ts';
import { fetchFromProvider, providerUnavailable, throwSignInError } from './provider-requests.ts';

/** An OpenID Connect provider and the registration of this service with it. */
export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly scope: string;
  readonly nameClaim: string;
  readonly groupsClaim: string;
}

/** The secrets of a sign-in that must be stored until the callback. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Signs users in with an identity provider. All errors are suitable for users. */
export interface Provider {
  /** Returns the URL to redirect the user to, and the state that the callback needs. */
  begin(): Promise<{ readonly url: URL; readonly pending: PendingSignIn }>;
  /** Returns the user of a callback with this query, for the sign-in that `begin` returned. */
  finish(query: string, pending: PendingSignIn): Promise<Identity>;
}

export interface ProviderOptions extends ProviderSettings {
  readonly publicUrl: string;
  /** Seconds until the provider must have sent a whole response. */
  readonly timeout?: number;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** Default seconds until the provider must have responded. */
const TIMEOUT_SECONDS = 10;

/** Milliseconds for which the discovery document is cached. */
const DISCOVERY_LIFETIME_MS = 60 * 60 * 1000;

/** The authorization code flow with PKCE (OpenID Connect Core, section 3.1; RFC 7636). */
export function createProvider(options: ProviderOptions): Provider {
  const { publicUrl, scope, nameClaim, groupsClaim, warn } = options;
  const callback = new URL(publicUrl.replace(/(?<!\/)\/+$/, '') + SIGN_IN_CALLBACK);
  const configuration = cachedConfiguration(options);

  return {
    async begin() {
      const known = await configuration();
      const pending = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
      const url = buildAuthorizationUrl(known, {
        redirect_uri: callback.href,
        scope,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await calculatePKCECodeChallenge(pending.verifier),
        code_challenge_method: 'S256',
      });
      return { url, pending };
    },

    async finish(query, { state, nonce, verifier }) {
      const callbackUrl = new URL(callback);
      callbackUrl.search = query;
      try {
        const known = await configuration();
        const tokens = await authorizationCodeGrant(known, callbackUrl, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
        });
        const claims = tokens.claims();
        if (!claims) throw new Error('The identity provider sent no ID token.');
        const isComplete = nameIn(claims, nameClaim) !== undefined && Object.hasOwn(claims, groupsClaim);
        const hasUserInfo = known.serverMetadata().userinfo_endpoint !== undefined;
        const userInfo = isComplete || !hasUserInfo ? {} : await fetchUserInfo(known, tokens.access_token, claims.sub);
        const name = nameIn(claims, nameClaim) ?? nameIn(userInfo, nameClaim);
        if (name === undefined) throw new HttpError('sign-in-refused', describeMissingName(nameClaim));
        return { name, groups: groupsIn(Object.hasOwn(claims, groupsClaim) ? claims : userInfo, groupsClaim) };
      } catch (error) {
        if (error instanceof AuthorizationResponseError && error.error === 'access_denied') {
          throw new HttpError(
            'sign-in-refused',
            'The identity provider denied access to this service, or you cancelled the sign-in.',
          );
        }
        return throwSignInError(error, warn);
      }
    },
  };
}

function describeMissingName(nameClaim: string): string {
  return nameClaim === 'email'
    ? 'The identity provider sent no verified e-mail address.'
    : `The identity provider sent no valid username in the claim "${nameClaim}".`;
}

/** Fetches the discovery document on first use. Failures are not cached. */
function cachedConfiguration({
  issuer,
  clientId,
  clientSecret,
  timeout = TIMEOUT_SECONDS,
  warn,
}: ProviderOptions): () => Promise<Configuration> {
  let cached: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined;
  const server = new URL(issuer);
  const extensions = [enableNonRepudiationChecks, ...(server.protocol === 'http:' ? [allowInsecureRequests] : [])];
  return () => {
    if (cached && Date.now() < cached.until) return cached.configuration;
    const configuration = discovery(server, clientId, clientSecret, clientAuthentication(clientSecret), {
      execute: extensions,
      timeout,
      [customFetch]: (url, { body = null, ...init }) =>
        fetchFromProvider(url, { ...init, body: body instanceof Uint8Array ? Buffer.from(body) : body }),
    })
      .then((found) => requireEndpoints(found, server))
      .catch((error: unknown) => {
        throw providerUnavailable(error, warn);
      });
    const entry = { configuration, until: Date.now() + DISCOVERY_LIFETIME_MS };
    configuration.catch(() => {
      if (cached === entry) cached = undefined;
    });
    cached = entry;
    return configuration;
  };
}

/** Throws if a URL that a sign-in needs is missing or unusable. Otherwise returns the configuration. */
function requireEndpoints(found: Configuration, { protocol }: URL): Configuration {
  const metadata = found.serverMetadata();
  const required = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;
  const optional = metadata.userinfo_endpoint === undefined ? [] : (['userinfo_endpoint'] as const);
  for (const name of [...required, ...optional]) {
    const value: unknown = metadata[name];
    const url = typeof value === 'string' ? URL.parse(value) : null;
    if (url?.protocol !== 'https:' && url?.protocol !== protocol) {
      throw new Error(`The discovery document has no usable ${name}.`);
    }
  }
  return found;
}

/**
 * Returns the client authentication that the provider accepts: HTTP Basic, which all must support (RFC 6749, section
 * 2.3.1), unless its metadata excludes it.
 */
function clientAuthentication(secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const needsPost = !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
    return (needsPost ? post : basic)(server, ...rest);
  };
}

/** Maximum length of a return location in characters. It must fit into a cookie. */
const MAX_RETURN_LENGTH = 2000;

/**
 * Returns the URL to open after sign-in, from a location relative to the root of the service. Throws 400 for a location
 * outside the service, because anyone can create such links. Returns the root if the location is too long for a cookie.
 */
export function parseReturnUrl(publicUrl: string, location: string): URL {
  const root = new URL(`${publicUrl.replace(/(?<!\/)\/+$/, '')}/`);
  // Browsers treat a backslash as a slash and ignore control characters anywhere.
  const isRelative = !location.startsWith('/') && !/[\\\p{Cc}]/u.test(location);
  // Without `./`, a folder name with a colon would be parsed as a URL scheme (RFC 3986, section 4.2).
  const url = isRelative ? URL.parse(`./${location}`, root) : null;
  if (!url || url.origin !== root.origin || !url.pathname.startsWith(root.pathname)) {
    throw new HttpError('invalid-parameter', `The return location ${quoted(location)} is outside the service.`);
  }
  return location.length > MAX_RETURN_LENGTH ? root : url;
}
