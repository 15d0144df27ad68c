import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Identity } from '../../access/identity.ts';
import type { Person, Policy } from '../../access/policy.ts';
import type { Session, Sessions } from '../../access/sessions.ts';
import { HttpError } from '../errors.ts';
import { createCookie } from './cookies.ts';

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
