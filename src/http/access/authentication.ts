import { isUtf8 } from 'node:buffer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import type { AuthenticationMethod } from '../../access/audit.ts';
import { hashToken, isToken } from '../../access/credentials.ts';
import type { Identity, Policy, UserEntry } from '../../access/policy.ts';
import { createSessionRevocations, type SessionRevocations } from '../../access/session-revocations.ts';
import { createSessions, type Session } from '../../access/sessions.ts';
import { prefers } from '../accept.ts';
import { HttpError } from '../errors.ts';
import type { WindowCounters } from '../limits/counters.ts';
import type { SignIn } from '../schemas.ts';
import { createJwtCheck, type JwtCheck, type JwtSettings } from './jwt.ts';
import { type Credentials, createThrottle, PasswordCheck } from './password-check.ts';
import type { ProviderSettings } from './provider.ts';
import { createProviderSignIn, type ProviderSignIn } from './provider-sign-in.ts';
import { isLoopbackClient } from './request-origin.ts';
import { createSessionCookie, ignoresCookies, type SessionCookie } from './session-cookie.ts';

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
}

/** An authenticated user and the authentication method. */
export interface Authentication {
  readonly user: Identity;
  readonly authMethod: AuthenticationMethod;
  /** The hash of the token of the access file; undefined for other authentication methods. */
  readonly tokenHash?: string;
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
  readonly checkJwt: JwtCheck | undefined;
  readonly provider: ProviderSignIn | undefined;
}

/** Authenticates requests and manages sessions. */
export class Authenticators {
  /** Sign-in with an identity provider; undefined if none is configured. */
  readonly provider: ProviderSignIn | undefined;
  readonly #parts: AuthenticatorParts;
  readonly #authentications = new WeakMap<FastifyRequest, Promise<Authentication | undefined>>();

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts;
    this.provider = parts.provider;
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
    const { cookie, policy, checkJwt } = this.#parts;
    if (authorization === undefined) {
      if (ignoresCookies(request)) return undefined;
      const session = await cookie.find(request, reply);
      return session && { user: session.user, authMethod: 'session' };
    }
    // Trailing spaces are trimmed separately: one pattern for both takes quadratic time.
    const [, scheme = '', rest = ''] = /^(\S*) *(.*)$/s.exec(authorization) ?? [];
    const credentials = rest.trimEnd();
    switch (scheme.toLowerCase()) {
      case 'bearer':
        return verifyBearer(credentials, { policy: policy(), checkJwt });
      case 'basic': {
        requireConfidential(request);
        const { name } = await this.#checkPassword('basic', parseBasic(credentials), request, reply);
        return { user: { name, groups: [] }, authMethod: 'password' };
      }
      default:
        throw new HttpError('invalid-credentials', 'The scheme of Authorization must be Bearer or Basic.');
    }
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
    // Record only names of existing users: an unknown name can be a password that a user typed in the wrong field.
    const name = this.#parts.policy().userEntry(credentials.name)?.name;
    const event = { event: 'sign-in', action, ...(name !== undefined && { name }) } as const;
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
}

/**
 * Parses the credentials of `Authorization: Basic` (RFC 7617). `encoded` is the part after the scheme. Throws 401 if it
 * is not Base64 of UTF-8 text with a colon.
 */
function parseBasic(encoded: string): Credentials {
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString();
  const colon = text.indexOf(':');
  const isEncoded = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && isUtf8(bytes);
  if (!isEncoded || colon === -1) {
    throw new HttpError(
      'invalid-credentials',
      'The value of Authorization: Basic is invalid. Send username:password in UTF-8 and Base64.',
    );
  }
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
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

/**
 * Returns the user of a token in `Authorization: Bearer` (RFC 6750).
 * Accepts tokens of the access file and, if `checkJwt` is given, JSON Web Tokens. Throws 401 if the token is invalid or
 * expired.
 */
async function verifyBearer(
  token: string,
  { policy, checkJwt }: { readonly policy: Policy; readonly checkJwt: JwtCheck | undefined },
): Promise<Authentication> {
  if (!isToken(token) && checkJwt) return { user: await checkJwt(token), authMethod: 'jwt' };
  const found = policy.tokenOf(hashToken(token));
  if (!found) throw new HttpError('invalid-token', 'Invalid or revoked token.');
  const { expires } = found.token;
  if (expires && expires.getTime() <= Date.now()) {
    throw new HttpError('token-expired', `The token expired on ${expires.toISOString()}.`);
  }
  return { user: { name: found.user.name, groups: [] }, authMethod: 'token', tokenHash: found.token.hash };
}
