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
import { groupsIn, nameIn } from './jwt.ts';
import { explainProvider, fetchFromProvider, providerUnavailable } from './provider-requests.ts';

/** An OpenID Connect provider and the registration of this service with it. */
export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly scope: string;
  readonly nameClaim: string;
  readonly groupsClaim: string;
}

/** The state of a sign-in that must be stored until the callback. */
export interface Departure {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Signs users in with an identity provider. All errors are suitable for users. */
export interface Provider {
  /** Returns the URL to redirect the user to, and the state that the callback needs. */
  begin(): Promise<{ readonly url: URL; readonly departure: Departure }>;
  /** Returns the user of a callback with this query, for the sign-in that `departure` began. */
  finish(query: string, departure: Departure): Promise<Identity>;
}

export interface ProviderOptions extends ProviderSettings {
  readonly publicUrl: string;
  /** Seconds until the provider must have sent a whole response. */
  readonly timeout?: number;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** Seconds until the provider must have responded. */
const TIMEOUT = 10;

/** Milliseconds for which the discovery document is cached. */
const TRUST = 60 * 60 * 1000;

/** The authorization code flow with PKCE (OpenID Connect Core, section 3.1; RFC 7636). */
export function createProvider(options: ProviderOptions): Provider {
  const { publicUrl, scope, nameClaim, groupsClaim, warn } = options;
  const callback = new URL(publicUrl.replace(/(?<!\/)\/+$/, '') + CALLBACK);
  const configuration = keepConfiguration(options);

  return {
    async begin() {
      const known = await configuration();
      const departure = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
      const url = buildAuthorizationUrl(known, {
        redirect_uri: callback.href,
        scope,
        state: departure.state,
        nonce: departure.nonce,
        code_challenge: await calculatePKCECodeChallenge(departure.verifier),
        code_challenge_method: 'S256',
      });
      return { url, departure };
    },

    async finish(query, { state, nonce, verifier }) {
      const asked = new URL(callback);
      asked.search = query;
      try {
        const known = await configuration();
        const tokens = await authorizationCodeGrant(known, asked, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
        });
        const claims = tokens.claims();
        if (!claims) throw new Error('The provider gave no ID token.');
        const isComplete = nameIn(claims, nameClaim) !== undefined && Object.hasOwn(claims, groupsClaim);
        const hasMore = known.serverMetadata().userinfo_endpoint !== undefined;
        const more = isComplete || !hasMore ? {} : await fetchUserInfo(known, tokens.access_token, claims.sub);
        const name = nameIn(claims, nameClaim) ?? nameIn(more, nameClaim);
        if (name === undefined) throw new HttpError('sign-in-refused', describeNobody(nameClaim));
        return { name, groups: groupsIn(Object.hasOwn(claims, groupsClaim) ? claims : more, groupsClaim) };
      } catch (error) {
        if (error instanceof AuthorizationResponseError && error.error === 'access_denied') {
          throw new HttpError(
            'sign-in-refused',
            'The provider did not let you sign in to this service, or you told it not to.',
          );
        }
        return explainProvider(error, warn);
      }
    },
  };
}

function describeNobody(nameClaim: string): string {
  return nameClaim === 'email'
    ? 'The provider does not tell of an e-mail address of yours that it has verified.'
    : `The provider does not tell your name: its claim "${nameClaim}" is missing, or can't be a name.`;
}

/** Fetches the discovery document on first use. Failures are not cached. */
function keepConfiguration({
  issuer,
  clientId,
  clientSecret,
  timeout = TIMEOUT,
  warn,
}: ProviderOptions): () => Promise<Configuration> {
  let kept: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined;
  const server = new URL(issuer);
  const extensions = [enableNonRepudiationChecks, ...(server.protocol === 'http:' ? [allowInsecureRequests] : [])];
  return () => {
    if (kept && Date.now() < kept.until) return kept.configuration;
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
    const asked = { configuration, until: Date.now() + TRUST };
    configuration.catch(() => {
      if (kept === asked) kept = undefined;
    });
    kept = asked;
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
    const isByBody = !methods.includes('client_secret_basic') && methods.includes('client_secret_post');
    return (isByBody ? post : basic)(server, ...rest);
  };
}

/** Path of the OIDC callback, relative to the URL of the service. */
export const CALLBACK = '/-/sign-in/callback';

/** Maximum length of a return location in characters. It must fit into a cookie. */
const MAX_LENGTH = 2000;

/**
 * Returns the URL to open after sign-in, from a location relative to the root of the service. Throws 400 for a location
 * outside the service, because anyone can create such links. Returns the root if the location is too long for a cookie.
 */
export function returnUrl(publicUrl: string, place: string): URL {
  const root = new URL(`${publicUrl.replace(/(?<!\/)\/+$/, '')}/`);
  // Browsers treat a backslash as a slash and ignore control characters anywhere.
  const isRelative = !place.startsWith('/') && !/[\\\p{Cc}]/u.test(place);
  // Without `./`, a folder name with a colon would be parsed as a URL scheme (RFC 3986, section 4.2).
  const url = isRelative ? URL.parse(`./${place}`, root) : null;
  if (!url || url.origin !== root.origin || !url.pathname.startsWith(root.pathname)) {
    throw new HttpError('invalid-parameter', `The place to return to leads out of the service: ${quoted(place)}.`);
  }
  return place.length > MAX_LENGTH ? root : url;
}
