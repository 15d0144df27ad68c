import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Identity } from '../../access/identity.ts';
import type { Person, Policy } from '../../access/policy.ts';
import type { Session, Sessions } from '../../access/sessions.ts';
import { HttpError } from '../errors.ts';

/** Sessions, kept by browsers in a cookie. */
export interface SessionCookie {
  /** The session that the request belongs to: none if it has several cookies. One that proves none is taken away. */
  sessionOf(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined>;
  /** Begins a new session, and ends those that the request has proofs of. */
  begin(request: FastifyRequest, reply: FastifyReply, beginning: Beginning): Promise<void>;
  /** Ends every session that the request has a proof of, everywhere, and returns the first. */
  end(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined>;
}

/** Who signed in, how, and by which entry of the access file. */
export interface Beginning {
  readonly who: Identity;
  readonly by: Session['by'];
  readonly person: Person | undefined;
}

export interface SessionCookieOptions {
  readonly sessions: Sessions;
  readonly policy: () => Policy;
  readonly publicUrl: string | undefined;
  /** Seconds that a session lasts. */
  readonly sessionLifetime: number;
}

/** Characters of a value that browsers keep for sure, with its name and attributes: RFC 6265, section 6.1. */
const MAX_LENGTH = 3900;

export function createSessionCookie({
  sessions,
  policy,
  publicUrl,
  sessionLifetime,
}: SessionCookieOptions): SessionCookie {
  const cookie = createCookie('holdall', publicUrl);

  const endAllOf = async (request: FastifyRequest) => {
    const proofs = cookie.all(request).filter((proof) => proof.length <= MAX_LENGTH);
    // One that can't be ended keeps no other from being so.
    const endings = await Promise.allSettled(proofs.map((proof) => sessions.end(proof)));
    return endings.flatMap((ending) => {
      if (ending.status === 'rejected') throw ending.reason;
      return ending.value ?? [];
    });
  };

  return {
    async sessionOf(request, reply) {
      const [proof, ...others] = cookie.all(request);
      // By plain HTTP, another host of the same domain can have set a second one. Which is ours can't be known, so nobody is
      // signed in by either; but ours is good again once the other is gone, and nobody can have the browser forget it.
      if (proof === undefined || others.length > 0) return undefined;
      const session = proof.length > MAX_LENGTH ? undefined : await sessions.find(proof, policy());
      if (!session) cookie.forget(request, reply);
      return session;
    },
    async begin(request, reply, { who, by, person }) {
      const { proof } = await sessions.begin(who, by, person);
      if (proof.length > MAX_LENGTH) throw new HttpError(403, describeTooLarge(who));
      await endAllOf(request);
      cookie.keep(request, reply, proof, sessionLifetime);
    },
    async end(request, reply) {
      // Whatever comes of it, this browser is signed out.
      if (cookie.isSent(request)) cookie.forget(request, reply);
      const [first] = await endAllOf(request);
      return first;
    },
  };
}

function describeTooLarge({ groups }: Identity): string {
  return (
    `The provider tells of more groups of yours (${groups.length}) than a cookie can hold. ` +
    'Those who run the service can have it tell of fewer, or name another claim in OIDC_GROUPS_CLAIM.'
  );
}

/** A cookie of the service's own, which no script reads, and which other sites send by links alone. */
export interface Cookie {
  /** What the request has; undefined where it has none, or several, of which nobody knows which is ours. */
  read(request: FastifyRequest): string | undefined;
  /** All that the request has of that name, each once. */
  all(request: FastifyRequest): readonly string[];
  /** Whether the request has anything of that name. */
  isSent(request: FastifyRequest): boolean;
  /** Has the browser keep a value for so many seconds. */
  keep(request: FastifyRequest, reply: FastifyReply, value: string, seconds: number): void;
  /** Has the browser forget it. */
  forget(request: FastifyRequest, reply: FastifyReply): void;
}

/**
 * By HTTPS the name begins with `__Host-`, so that no other host can set it (RFC 6265bis, section 4.1.3.2), and the
 * browser never sends it in the clear.
 */
export function createCookie(name: string, publicUrl: string | undefined): Cookie {
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  // A proxy that ends HTTPS and is not trusted does not make the request one by HTTPS, but it is for the same host.
  const isSecure = ({ protocol, host }: FastifyRequest) =>
    protocol === 'https' || (known?.protocol === 'https:' && known.host === host);
  const nameFor = (request: FastifyRequest) => (isSecure(request) ? `__Host-${name}` : name);
  const set = (request: FastifyRequest, reply: FastifyReply, value: string, seconds: number) => {
    const secure = isSecure(request) ? '; Secure' : '';
    reply.header(
      'set-cookie',
      `${nameFor(request)}=${value}; Max-Age=${seconds}; Path=/; HttpOnly${secure}; SameSite=Lax`,
    );
  };
  return {
    read(request) {
      const [value, ...others] = valuesOf(request, nameFor(request));
      return others.length === 0 ? value : undefined;
    },
    all: (request) => [...new Set(valuesOf(request, nameFor(request)))],
    isSent: (request) => valuesOf(request, nameFor(request)).length > 0,
    keep: set,
    forget: (request, reply) => set(request, reply, '', 0),
  };
}

function valuesOf({ headers }: FastifyRequest, name: string): string[] {
  return (headers.cookie ?? '').split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return pair.slice(0, equals).trim() === name && equals !== -1 ? [pair.slice(equals + 1).trim()] : [];
  });
}
