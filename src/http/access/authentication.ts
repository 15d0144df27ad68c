import { isUtf8 } from 'node:buffer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import type { AuthenticationMethod } from '../../access/audit.ts';
import type { Credential } from '../../access/creator.ts';
import { isToken } from '../../access/credentials.ts';
import type { Identity, Permission, Policy, UserEntry } from '../../access/policy.ts';
import { createSessionRevocations, type SessionRevocations } from '../../access/session-revocations.ts';
import { createSessions, type Session } from '../../access/sessions.ts';
import { type AppToken, isAppTokenSecret } from '../../app-tokens/app-token.ts';
import type { AppTokenLookup } from '../../app-tokens/app-token-lookup.ts';
import { prefers } from '../accept.ts';
import { appTokenRefused, HttpError } from '../errors.ts';
import type { WindowCounters } from '../limits/counters.ts';
import type { SignIn } from '../schemas.ts';
import { createJwtCheck, type JwtCheck, type JwtSettings } from './jwt.ts';
import { type Credentials, createThrottle, PasswordCheck } from './password-check.ts';
import type { ProviderSettings } from './provider.ts';
import { createProviderSignIn, type ProviderSignIn } from './provider-sign-in.ts';
import { isLoopbackClient } from './request-origin.ts';
import { createSessionCookie, ignoresCookies, type SessionCookie } from './session-cookie.ts';
import { isTokenForm, TokenCheck } from './token-check.ts';

/** The access control of the service: its mode, policy and authenticators. */
export interface AccessControl {
  /**
   * The access mode.
   * - `local`: requests from this machine have all permissions; all others are refused.
   * - `open`: every client has all permissions.
   * - `file`: the access file grants permissions.
   */
  readonly mode: 'local' | 'open' | 'file';
  /** Returns the current policy. It can change while the service runs, because the access file is reloaded. */
  policy(): Policy;
  /** The authenticators; undefined if access control has no users. */
  readonly authenticators: Authenticators | undefined;
  /** The permission that the trash and versions need in addition to `read`. Default: `write`. */
  readonly historyPermission?: Permission;
}

/** An authenticated user and the authentication method. */
export interface Authentication extends Credential {
  readonly user: Identity;
  readonly authMethod: AuthenticationMethod;
  /** The app token, which limits the permissions of the user; undefined for other authentication methods. */
  readonly appToken?: AppToken;
}

export interface AuthenticatorsOptions {
  /** Returns the current policy. */
  readonly policy: () => Policy;
  /** The key of the service. All keys in use are derived from it. */
  readonly key: Buffer;
  /** Seconds that a session lasts. */
  readonly sessionLifetime: number;
  /** The folder that contains `ended-sessions`, the sessions that users have ended. */
  readonly endedSessionsFolder: string;
  readonly publicUrl: string | undefined;
  /** See `Service.basePath`. */
  readonly basePath: string;
  readonly provider?: ProviderSettings | undefined;
  readonly jwt?: JwtSettings | undefined;
  /** Finds app tokens; undefined if the service has no database. */
  readonly appTokens?: AppTokenLookup | undefined;
  /** Shared by services on several machines. Its commands time out if it does not respond. */
  readonly redis?: Redis | undefined;
  /** Counts sign-in attempts of all processes on this machine. If undefined, this process counts on its own. */
  readonly counters?: WindowCounters | undefined;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

export function createAuthenticators(options: AuthenticatorsOptions): Authenticators {
  const { policy, key, redis, warn } = options;
  const revocations = createSessionRevocations({ folder: options.endedSessionsFolder, redis, warn });
  const sessions = createSessions({ key, lifetime: options.sessionLifetime, revocations });
  const cookie = createSessionCookie({ ...options, sessions });
  return new Authenticators({
    policy,
    revocations,
    cookie,
    passwords: new PasswordCheck(policy, createThrottle(key, options)),
    tokens: new TokenCheck(policy, options.appTokens),
    checkJwt: options.jwt && createJwtCheck(options.jwt),
    provider: createProviderSignIn({ ...options, cookie }),
  });
}

/** What `Authenticators` combines. */
interface AuthenticatorParts {
  readonly policy: () => Policy;
  readonly revocations: SessionRevocations;
  readonly cookie: SessionCookie;
  readonly passwords: PasswordCheck;
  readonly tokens: TokenCheck;
  readonly checkJwt: JwtCheck | undefined;
  readonly provider: ProviderSignIn | undefined;
}

/** Authenticates requests and manages sessions. */
export class Authenticators {
  /** Sign-in with an identity provider; undefined if none is configured. */
  readonly provider: ProviderSignIn | undefined;
  /** The name of the session cookie, without the prefix of HTTPS. */
  readonly sessionCookie: string;
  readonly #parts: AuthenticatorParts;
  readonly #authentications = new WeakMap<FastifyRequest, Promise<Authentication | undefined>>();

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts;
    this.provider = parts.provider;
    this.sessionCookie = parts.cookie.name;
  }

  /**
   * Returns the authenticated user of a request; undefined if it has no credentials. Throws for invalid credentials. An
   * ended session counts as no credentials, and its cookie is cleared. Returns the same result for the same request.
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<Authentication | undefined> {
    let authentication = this.#authentications.get(request);
    if (!authentication) {
      authentication = this.reauthenticate(request, reply);
      this.#authentications.set(request, authentication);
    }
    return authentication;
  }

  /** Authenticates the request again, against the current policy and sessions. */
  async reauthenticate(request: FastifyRequest, reply: FastifyReply): Promise<Authentication | undefined> {
    const { authorization } = request.headers;
    const { cookie } = this.#parts;
    if (authorization === undefined) {
      if (ignoresCookies(request)) return undefined;
      const session = await cookie.find(request, reply);
      return session && { user: session.user, authMethod: 'session' };
    }
    const { scheme, credentials } = parseAuthorization(authorization);
    switch (scheme) {
      case 'bearer':
        return this.#verifyBearer(credentials);
      case 'basic':
        requireConfidential(request);
        return this.#verifyBasic(parseBasic(credentials), request, reply);
      default:
        throw new HttpError('invalid-credentials', 'The scheme of Authorization must be Bearer or Basic.');
    }
  }

  /**
   * Returns the user of `Authorization: Bearer` (RFC 6750): a token of the access file, an app token, or a JSON Web Token if
   * they are accepted. Throws 401 if the token is invalid or expired.
   */
  async #verifyBearer(token: string): Promise<Authentication> {
    const { tokens, checkJwt } = this.#parts;
    if (!isToken(token) && checkJwt) return { ...(await checkJwt(token)), authMethod: 'jwt' };
    return tokens.check(token);
  }

  /**
   * Returns the user of `Authorization: Basic`, whose password can be a token. The username is then the one of its user, or
   * empty.
   */
  async #verifyBasic(credentials: Credentials, request: FastifyRequest, reply: FastifyReply): Promise<Authentication> {
    if (!isTokenForm(credentials.password)) {
      const { name } = await this.#checkPassword('basic', credentials, request, reply);
      return { user: { name, groups: [] }, authMethod: 'password' };
    }
    const { tokens, passwords } = this.#parts;
    try {
      return await tokens.check(credentials.password, credentials.name);
    } catch (error) {
      if (error instanceof HttpError && (await passwords.countFailedToken(credentials, request, reply))) {
        request.access?.record({
          ...this.#signInEvent('basic', credentials),
          outcome: 'refused',
          reason: error.message,
        });
      }
      throw error;
    }
  }

  /** Throws 403 for a request that would start a session, and has an app token. */
  rejectAppToken({ headers: { authorization } }: FastifyRequest): void {
    if (authorization === undefined) return;
    const { scheme, credentials } = parseAuthorization(authorization);
    const token = scheme === 'basic' ? readBasic(credentials)?.password : credentials;
    if (token !== undefined && isAppTokenSecret(token)) throw appTokenRefused();
  }

  /** Returns the sign-in methods of the web UI. */
  signInMethods(): SignIn {
    return { password: this.#parts.policy().hasPasswords, provider: this.provider !== undefined };
  }

  /**
   * Returns the values of `WWW-Authenticate` for a request that must authenticate. Browsers get no Basic challenge: they
   * would open their own dialog instead of the web UI. Routes without a sign-in page offer Basic first, because some
   * clients read only the first challenge.
   */
  challenges(request: FastifyRequest): string[] {
    const { headers } = request;
    const isExplicit = ignoresCookies(request);
    const isBrowser =
      headers['sec-fetch-mode'] !== undefined || prefers(headers.accept, 'text/html', 'application/json');
    const offersBasic = isConfidential(request) && (isExplicit || !isBrowser);
    const basic = offersBasic ? ['Basic realm="Holdall", charset="UTF-8"'] : [];
    // RFC 6750, section 3.1: no error code for a request without a token.
    const error = /^bearer\s/i.test(headers.authorization ?? '') ? ', error="invalid_token"' : '';
    const bearer = `Bearer realm="Holdall"${error}`;
    return isExplicit ? [...basic, bearer] : [bearer, ...basic];
  }

  /** Starts a session for the user with these credentials. Throws 401 if they are wrong. */
  async signInWithPassword(credentials: Credentials, request: FastifyRequest, reply: FastifyReply): Promise<Identity> {
    const userEntry = await this.#checkPassword('password', credentials, request, reply);
    const user = { name: userEntry.name, groups: [] };
    await this.#parts.cookie.begin(request, reply, { user, signInMethod: 'password', userEntry });
    return user;
  }

  /** Ends the session of the request, if it has one. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined> {
    return this.#parts.cookie.end(request, reply);
  }

  close(): Promise<void> {
    return this.#parts.revocations.close();
  }

  /**
   * Returns the user of these credentials and records the attempt. For Basic, records a success only if the password
   * was not cached.
   */
  async #checkPassword(
    action: 'password' | 'basic',
    credentials: Credentials,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<UserEntry> {
    const event = this.#signInEvent(action, credentials);
    try {
      const { userEntry, isNew } = await this.#parts.passwords.check(credentials, request, reply);
      if (isNew || action === 'password') request.access?.record({ ...event, outcome: 'done' });
      return userEntry;
    } catch (error) {
      if (error instanceof HttpError) {
        request.access?.record({ ...event, outcome: 'refused', reason: error.message });
      }
      throw error;
    }
  }

  /** Returns the beginning of an audit event of a sign-in. */
  #signInEvent(action: 'password' | 'basic', credentials: Credentials) {
    // Record only names of existing users: an unknown name can be a password that a user typed in the wrong field.
    const name = this.#parts.policy().userEntry(credentials.name)?.name;
    return { event: 'sign-in', action, ...(name !== undefined && { name }) } as const;
  }
}

/** Returns the scheme of `Authorization`, in lower case, and the credentials that follow it. */
function parseAuthorization(authorization: string): { readonly scheme: string; readonly credentials: string } {
  // Trailing spaces are trimmed separately: one pattern for both takes quadratic time.
  const [, scheme = '', rest = ''] = /^(\S*) *(.*)$/s.exec(authorization) ?? [];
  return { scheme: scheme.toLowerCase(), credentials: rest.trimEnd() };
}

/**
 * Parses the credentials of `Authorization: Basic` (RFC 7617). `encoded` is the part after the scheme. Throws 401 if it
 * is not Base64 of UTF-8 text with a colon.
 */
function parseBasic(encoded: string): Credentials {
  const credentials = readBasic(encoded);
  if (credentials) return credentials;
  throw new HttpError(
    'invalid-credentials',
    'The value of Authorization: Basic is invalid. Send username:password in UTF-8 and Base64.',
  );
}

/**
 * Returns the credentials as `parseBasic` does; undefined if they are invalid. Clients that ignore the `charset` of the
 * challenge (RFC 7617) send Latin-1, which is hardly ever valid UTF-8.
 */
function readBasic(encoded: string): Credentials | undefined {
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  const colon = text.indexOf(':');
  const isEncoded = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded);
  return isEncoded && colon !== -1 ? { name: text.slice(0, colon), password: text.slice(colon + 1) } : undefined;
}

/** Throws 403 for a request over an unencrypted network, where others could have read the password. */
function requireConfidential(request: FastifyRequest): void {
  if (isConfidential(request)) return;
  throw new HttpError(
    'https-required',
    'Authorization: Basic requires HTTPS. Behind a proxy that terminates TLS, set TRUST_PROXY to its address, and ' +
      'let it send X-Forwarded-Proto.',
  );
}

/** Returns whether the request was confidential: it came over HTTPS or from this machine. */
function isConfidential(request: FastifyRequest): boolean {
  return request.protocol === 'https' || isLoopbackClient(request);
}
