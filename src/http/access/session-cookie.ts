import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Identity } from '../../access/identity.ts';
import type { Person, Policy } from '../../access/policy.ts';
import type { Session, Sessions } from '../../access/sessions.ts';
import { HttpError } from '../errors.ts';
import { createCookie } from './cookies.ts';

/** Sessions, kept by browsers in a cookie. */
export interface SessionCookie {
  /** The session that the request belongs to. A cookie that proves none is taken away. */
  sessionOf(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined>;
  /** Begins a new session, and ends the one that the request belonged to. */
  begin(request: FastifyRequest, reply: FastifyReply, beginning: Beginning): Promise<void>;
  /** Ends the session that the request belongs to everywhere, and returns it. */
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

  const find = async (request: FastifyRequest) => {
    const proof = cookie.read(request);
    return proof === undefined || proof.length > MAX_LENGTH ? undefined : sessions.find(proof, policy());
  };
  const endOf = async (request: FastifyRequest) => {
    const session = await find(request);
    if (session) await sessions.end(session);
    return session;
  };

  return {
    async sessionOf(request, reply) {
      const session = await find(request);
      if (!session && cookie.isSent(request)) cookie.forget(request, reply);
      return session;
    },
    async begin(request, reply, { who, by, person }) {
      const { proof } = await sessions.begin(who, by, person);
      if (proof.length > MAX_LENGTH) throw new HttpError(403, describeTooLarge(who));
      await endOf(request);
      cookie.keep(request, reply, proof, sessionLifetime);
    },
    async end(request, reply) {
      // Whatever comes of it, this browser is signed out.
      if (cookie.isSent(request)) cookie.forget(request, reply);
      return endOf(request);
    },
  };
}

function describeTooLarge({ groups }: Identity): string {
  return (
    `The provider tells of more groups of yours (${groups.length}) than a cookie can hold. ` +
    'Those who run the service can have it tell of fewer, or name another claim in OIDC_GROUPS_CLAIM.'
  );
}
