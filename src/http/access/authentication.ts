import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import type { AuthenticationMethod } from '../../access/audit.ts';
import type { Identity, Policy, UserEntry } from '../../access/policy.ts';
import { createSessionRevocations } from '../../access/session-revocations.ts';
import { createSessions, type Session } from '../../access/sessions.ts';
import { prefers } from '../accept.ts';
import { HttpError } from '../errors.ts';
import { createLocalCounters, createRedisCounters, type WindowCounters } from '../limits/counters.ts';
import type { SignIn } from '../schemas.ts';
import { isConfidential, readBasic, readBearer, requireConfidential } from './credentials.ts';
import { createJwtCheck, type JwtSettings } from './jwt.ts';
import { type Credentials, createPasswordCheck } from './password-check.ts';
import type { ProviderSettings } from './provider.ts';
import { createProviderSignIn, type ProviderSignIn } from './provider-sign-in.ts';
import { createSessionCookie } from './session-cookie.ts';
import { createThrottle } from './throttle.ts';

/** Authenticates requests and manages sessions. */
export interface Authenticators {
  /**
   * Returns the authenticated user of a request; undefined if it has no credentials. Throws for invalid credentials. An
   * ended session counts as no credentials, and its cookie is cleared. Returns the same result for the same request.
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<Authentication | undefined>;
  /** Authenticates the request again, against the current policy and sessions. */
  authenticateAnew(request: FastifyRequest, reply: FastifyReply): Promise<Authentication | undefined>;
  /** Returns the sign-in methods of the web UI. */
  signIn(): SignIn;
  /** Returns the values of `WWW-Authenticate` for a request that must authenticate. */
  challenges(request: FastifyRequest): string[];
  /** Starts a session for the user with these credentials. Throws 401 if they are wrong. */
  signInByPassword(credentials: Credentials, request: FastifyRequest, reply: FastifyReply): Promise<Identity>;
  /** Sign-in with an identity provider; undefined if none is configured. */
  readonly provider: ProviderSignIn | undefined;
  /** Ends the session of the request, if it has one. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined>;
  close(): Promise<void>;
}

/** An authenticated user and the authentication method. */
export interface Authentication {
  readonly user: Identity;
  readonly authMethod: AuthenticationMethod;
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
  readonly provider?: ProviderSettings | undefined;
  readonly jwt?: JwtSettings | undefined;
  /** Shared by services on several machines. Its commands time out if it does not respond. */
  readonly redis?: Redis | undefined;
  /** Counts sign-in attempts of all processes on this machine. If undefined, this process counts on its own. */
  readonly counters?: WindowCounters | undefined;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** Prefix of the Redis keys for sign-in attempts. */
const ATTEMPTS = 'holdall:attempts:';

export function createAuthenticators(options: AuthenticatorsOptions): Authenticators {
  const { policy, key, redis, warn } = options;
  const revocations = createSessionRevocations({ folder: options.endedSessionsFolder, redis, warn });
  const sessions = createSessions({ key, lifetime: options.sessionLifetime, revocations });
  const local = options.counters ?? createLocalCounters();
  const counters = redis ? createRedisCounters(redis, { prefix: ATTEMPTS, fallback: local }) : local;
  const passwords = createPasswordCheck({ policy, throttle: createThrottle({ key, counters }) });
  const checkJwt = options.jwt && createJwtCheck(options.jwt);
  const cookie = createSessionCookie({ ...options, sessions });

  /**
   * Returns the user of these credentials and records the attempt. For Basic, records a success only if the password
   * was not remembered.
   */
  const signInWith = async (
    action: 'password' | 'basic',
    credentials: Credentials,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<UserEntry> => {
    // Record only names of existing users: an unknown name can be a password that a user typed in the wrong field.
    const name = policy().userEntry(credentials.name)?.name;
    const about = { event: 'sign-in', action, ...(name !== undefined && { name }) } as const;
    try {
      const { person, isNew } = await passwords.personOf(credentials, request, reply);
      if (isNew || action === 'password') request.access?.record({ ...about, outcome: 'done' });
      return person;
    } catch (error) {
      if (error instanceof HttpError) {
        request.access?.record({ ...about, outcome: 'refused', reason: error.message });
      }
      throw error;
    }
  };

  const proofOf = async (request: FastifyRequest, reply: FastifyReply): Promise<Authentication | undefined> => {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      const session = await cookie.sessionOf(request, reply);
      return session && { user: session.user, authMethod: 'session' };
    }
    // Trailing spaces are trimmed separately: one pattern for both takes quadratic time.
    const [, scheme = '', rest = ''] = /^(\S*) *(.*)$/s.exec(authorization) ?? [];
    const credentials = rest.trimEnd();
    switch (scheme.toLowerCase()) {
      case 'bearer':
        return readBearer(credentials, { policy: policy(), checkJwt });
      case 'basic': {
        requireConfidential(request);
        const { name } = await signInWith('basic', readBasic(credentials), request, reply);
        return { user: { name, groups: [] }, authMethod: 'password' };
      }
      default:
        throw new HttpError('invalid-credentials', 'The scheme of Authorization must be Bearer or Basic.');
    }
  };

  const proofs = new WeakMap<FastifyRequest, Promise<Authentication | undefined>>();
  return {
    authenticate(request, reply) {
      const proof = proofs.get(request) ?? proofOf(request, reply);
      proofs.set(request, proof);
      return proof;
    },
    authenticateAnew: proofOf,
    signIn: () => ({ password: policy().hasPasswords, provider: options.provider !== undefined }),
    challenges: challengesFor,
    async signInByPassword(credentials, request, reply) {
      const person = await signInWith('password', credentials, request, reply);
      const user = { name: person.name, groups: [] };
      await cookie.begin(request, reply, { user, by: 'password', person });
      return user;
    },
    provider: createProviderSignIn({ ...options, cookie }),
    signOut: (request, reply) => cookie.end(request, reply),
    close: () => revocations.close(),
  };
}

/**
 * Returns the `WWW-Authenticate` challenges. Browsers get no Basic challenge: they would open their own dialog instead
 * of the web UI.
 */
function challengesFor(request: FastifyRequest): string[] {
  const { headers } = request;
  const isBrowser = headers['sec-fetch-mode'] !== undefined || prefers(headers.accept, 'text/html', 'application/json');
  const basic = isConfidential(request) && !isBrowser ? ['Basic realm="Holdall", charset="UTF-8"'] : [];
  // RFC 6750, section 3.1: no error code for a request without a token.
  const error = /^bearer\s/i.test(headers.authorization ?? '') ? ', error="invalid_token"' : '';
  return [`Bearer realm="Holdall"${error}`, ...basic];
}

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
