import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { createEndedSessions } from '../../access/ended-sessions.ts';
import type { Identity, Way } from '../../access/identity.ts';
import type { Person, Policy } from '../../access/policy.ts';
import { createSessions, type Session } from '../../access/sessions.ts';
import { prefers } from '../accept.ts';
import { HttpError } from '../errors.ts';
import { createRedisCounters } from '../limits/redis-counters.ts';
import { createLocalCounters, type WindowCounters } from '../limits/window-counters.ts';
import type { SignIn } from '../schemas.ts';
import { isConfidential, readBasic, requireConfidential } from './basic.ts';
import { readBearer } from './bearer.ts';
import { createJwtCheck, type JwtSettings } from './jwt.ts';
import { type Credentials, createPasswordCheck } from './password-check.ts';
import type { ProviderSettings } from './provider.ts';
import { createProviderSignIn, type ProviderSignIn } from './provider-sign-in.ts';
import { createSessionCookie } from './session-cookie.ts';
import { createThrottle } from './throttle.ts';

/** How people prove who they are. */
export interface WaysIn {
  /**
   * Who sent the request; undefined where it does not say. Throws for credentials that are wrong, but for a session that
   * has ended: that one counts as none, and its cookie is taken away. Asked again, it gives the same answer.
   */
  authenticate(request: FastifyRequest, reply: FastifyReply): Promise<Proof | undefined>;
  /** As `authenticate`, by what holds at this moment. */
  authenticateAnew(request: FastifyRequest, reply: FastifyReply): Promise<Proof | undefined>;
  /** By what people can sign in at the page. */
  signIn(): SignIn;
  /** The values of `WWW-Authenticate` for a request that has to say who sent it. */
  challenges(request: FastifyRequest): string[];
  /** Begins a session for the person whose password this is. Throws 401 where it is nobody's. */
  signInByPassword(credentials: Credentials, request: FastifyRequest, reply: FastifyReply): Promise<Identity>;
  /** Signs in by a provider; undefined where there is none. */
  readonly provider: ProviderSignIn | undefined;
  /** Ends the session of the request, if it has one. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined>;
  close(): Promise<void>;
}

/** What was proven, and how. */
export interface Proof {
  readonly who: Identity;
  readonly way: Way;
}

export interface WaysInOptions {
  /** What holds at this moment. */
  readonly policy: () => Policy;
  /** The key of the service; what is done with it here are other keys, made from it. */
  readonly key: Buffer;
  /** Seconds that a session lasts. */
  readonly sessionLifetime: number;
  /** The folder whose `ended-sessions` holds what its name says. */
  readonly endedSessionsFolder: string;
  readonly publicUrl: string | undefined;
  readonly provider?: ProviderSettings | undefined;
  readonly jwt?: JwtSettings | undefined;
  /** What services on several machines share. Its commands give up by themselves when it does not answer. */
  readonly redis?: Redis | undefined;
  /** Counts attempts to sign in for the processes of this machine; this process counts for itself if undefined. */
  readonly counters?: WindowCounters | undefined;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** Prefix of the keys of attempts in Redis. */
const ATTEMPTS = 'holdall:attempts:';

export function createWaysIn(options: WaysInOptions): WaysIn {
  const { policy, key, redis, warn } = options;
  const ended = createEndedSessions({ folder: options.endedSessionsFolder, redis, warn });
  const sessions = createSessions({ key, lifetime: options.sessionLifetime, ended });
  const local = options.counters ?? createLocalCounters();
  const counters = redis ? createRedisCounters(redis, { prefix: ATTEMPTS, fallback: local }) : local;
  const passwords = createPasswordCheck({ policy, throttle: createThrottle({ key, counters }) });
  const checkJwt = options.jwt && createJwtCheck(options.jwt);
  const cookie = createSessionCookie({ ...options, sessions });

  /** The person whose credentials these are. What is tried is written down; of a program, not with each request. */
  const signInWith = async (
    action: 'password' | 'basic',
    credentials: Credentials,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Person> => {
    // Of those that are nobody's, people may have typed a password.
    const name = policy().person(credentials.name)?.name;
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

  const proofOf = async (request: FastifyRequest, reply: FastifyReply): Promise<Proof | undefined> => {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      const session = await cookie.sessionOf(request, reply);
      return session && { who: session.who, way: 'session' };
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
        return { who: { name, groups: [] }, way: 'password' };
      }
      default:
        throw new HttpError(401, 'The scheme of Authorization must be Bearer or Basic.');
    }
  };

  const proofs = new WeakMap<FastifyRequest, Promise<Proof | undefined>>();
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
      const who = { name: person.name, groups: [] };
      await cookie.begin(request, reply, { who, by: 'password', person });
      return who;
    },
    provider: createProviderSignIn({ ...options, cookie }),
    signOut: (request, reply) => cookie.end(request, reply),
    close: () => ended.close(),
  };
}

/** A browser that was told of Basic would show a window of its own, instead of what the page says. */
function challengesFor(request: FastifyRequest): string[] {
  const { headers } = request;
  const isBrowser = headers['sec-fetch-mode'] !== undefined || prefers(headers.accept, 'text/html', 'application/json');
  const basic = isConfidential(request) && !isBrowser ? ['Basic realm="Holdall", charset="UTF-8"'] : [];
  // RFC 6750, section 3.1: of a request without a token nothing is said.
  const error = /^bearer\s/i.test(headers.authorization ?? '') ? ', error="invalid_token"' : '';
  return [`Bearer realm="Holdall"${error}`, ...basic];
}
