import { createHmac, randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { MAX_PASSWORD_BYTES, verifyPassword } from '../../access/credentials.ts';
import type { Person, Policy } from '../../access/policy.ts';
import { maxEntries } from '../../cache/lru-options.ts';
import { HttpError } from '../errors.ts';
import { clientNetwork } from '../limits/connections.ts';
import type { Throttle } from './throttle.ts';

/** A name and a password, as somebody gave them. */
export interface Credentials {
  readonly name: string;
  readonly password: string;
}

/** Tells whose password it is. */
export interface PasswordCheck {
  /**
   * The person's entry of the access file as it was checked, and whether it was checked just now. Throws 401 where there
   * is no such person, or the password is another one, at the same cost; 429 with `Retry-After` after too many
   * attempts; and 400 for a password that is longer than any can be.
   */
  personOf(
    credentials: Credentials,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ readonly person: Person; readonly isNew: boolean }>;
}

export interface PasswordCheckOptions {
  readonly policy: () => Policy;
  readonly throttle: Throttle;
}

/** Milliseconds for which a password that was right is not hashed again: programs send it with each request. */
const REMEMBERED_FOR = 5 * 60 * 1000;

/** How many of them are remembered. */
const REMEMBERED = 1000;

export function createPasswordCheck({ policy, throttle }: PasswordCheckOptions): PasswordCheck {
  const ownKey = randomBytes(32);
  /** Until when credentials hold. Those that are altered in the access file have another key at once. */
  const remembered = new LRUCache<string, number>(maxEntries(REMEMBERED));
  /** Requests with the same credentials, of which a program sends many at once, are one attempt. */
  const underWay = new Map<string, Promise<boolean>>();

  const attempt = async (
    { name, password }: Credentials,
    person: Person | undefined,
    { ip }: FastifyRequest,
  ): Promise<boolean> => {
    const { retryAfter } = await throttle.take({ name, from: ip });
    if (retryAfter !== undefined) throw new TooManyAttempts(retryAfter);
    const isRight = await verifyPassword(password, person?.password).catch(async (error: unknown) => {
      // Nobody looked at the password, so it was no guess: a crowd must not use up the attempts of those who know theirs.
      await throttle.giveBack({ name, from: ip });
      throw error;
    });
    // A check of no password at all must not be taken for one.
    if (!isRight || person?.password === undefined) return false;
    await throttle.giveBack({ name, from: ip });
    return true;
  };

  return {
    async personOf(credentials, request, reply) {
      const { name, password } = credentials;
      requirePossible(password);
      const person = policy().person(name);
      // By client too: a correct password of one client must not let others past the limits.
      const id = createHmac('sha256', ownKey)
        .update(JSON.stringify([name, password, person?.password ?? null, clientNetwork(request.ip)]))
        .digest('base64url');
      try {
        if (person && (remembered.get(id) ?? 0) > Date.now()) {
          const { retryAfter } = throttle.look({ name, from: request.ip });
          if (retryAfter !== undefined) throw new TooManyAttempts(retryAfter);
          return { person, isNew: false };
        }
        const checking = underWay.get(id);
        const checked = checking ?? attempt(credentials, person, request).finally(() => underWay.delete(id));
        underWay.set(id, checked);
        if (!(await checked) || !person) throw new HttpError(401, 'The name or the password is not right.');
        remembered.set(id, Date.now() + REMEMBERED_FOR);
        return { person, isNew: checking === undefined };
      } catch (error) {
        if (error instanceof TooManyAttempts) reply.header('retry-after', error.retryAfter);
        throw error;
      }
    },
  };
}

/** Before anything is done with it: hashing takes time by the length. */
function requirePossible(password: string): void {
  if (Buffer.byteLength(password) <= MAX_PASSWORD_BYTES) return;
  throw new HttpError(400, `The password is longer than ${MAX_PASSWORD_BYTES} bytes, which no password is.`);
}

class TooManyAttempts extends HttpError {
  /** Seconds. */
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    super(429, `There were too many attempts to sign in. Try again in ${retryAfter} seconds.`);
    this.retryAfter = retryAfter;
  }
}
