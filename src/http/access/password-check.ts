import { createHmac, randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { MAX_PASSWORD_BYTES, verifyPassword } from '../../access/credentials.ts';
import type { Policy, UserEntry } from '../../access/policy.ts';
import { maxEntries } from '../../cache/lru-options.ts';
import { HttpError } from '../errors.ts';
import { clientNetwork } from '../limits/connections.ts';
import type { Throttle } from './throttle.ts';

/** A username and password, as the client sent them. */
export interface Credentials {
  readonly name: string;
  readonly password: string;
}

/** Checks usernames and passwords. */
export interface PasswordCheck {
  /**
   * Returns the user's entry of the access file, and whether this request checked the password (`isNew`).
   * Throws 401 for an unknown user or a wrong password, at the same cost; 429 with `Retry-After` after too many
   * attempts; 400 if the password is longer than `MAX_PASSWORD_BYTES`.
   */
  personOf(
    credentials: Credentials,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ readonly person: UserEntry; readonly isNew: boolean }>;
}

export interface PasswordCheckOptions {
  readonly policy: () => Policy;
  readonly throttle: Throttle;
}

/** Milliseconds for which a correct password is not hashed again, because programs send it with each request. */
const REMEMBERED_FOR = 5 * 60 * 1000;

/** Maximum number of remembered credentials. */
const REMEMBERED = 1000;

export function createPasswordCheck({ policy, throttle }: PasswordCheckOptions): PasswordCheck {
  const ownKey = randomBytes(32);
  /**
   * Expiry times of correct credentials. The key includes the password hash of the access file, so a change there takes
   * effect at once.
   */
  const remembered = new LRUCache<string, number>(maxEntries(REMEMBERED));
  /** Checks in progress. Concurrent requests with the same credentials count as one attempt. */
  const underWay = new Map<string, Promise<boolean>>();

  const attempt = async (
    { name, password }: Credentials,
    person: UserEntry | undefined,
    { ip }: FastifyRequest,
  ): Promise<boolean> => {
    const { retryAfter } = await throttle.take({ name, from: ip });
    if (retryAfter !== undefined) throw new TooManyAttempts(retryAfter);
    const isRight = await verifyPassword(password, person?.password).catch(async (error: unknown) => {
      // The password was not checked, so this was not a guess. Overload must not use up the attempts of legitimate
      // users.
      await throttle.giveBack({ name, from: ip });
      throw error;
    });
    // Without a stored password, `verifyPassword` hashes only to equalize the time; its result is no match.
    if (!isRight || person?.password === undefined) return false;
    await throttle.giveBack({ name, from: ip });
    return true;
  };

  return {
    async personOf(credentials, request, reply) {
      const { name, password } = credentials;
      requirePossible(password);
      const person = policy().userEntry(name);
      // The key includes the client's network: a correct password from one client must not exempt other clients from
      // the limits.
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
        if (!(await checked) || !person)
          throw new HttpError('wrong-password', 'The name or the password is not right.');
        remembered.set(id, Date.now() + REMEMBERED_FOR);
        return { person, isNew: checking === undefined };
      } catch (error) {
        if (error instanceof TooManyAttempts) reply.header('retry-after', error.retryAfter);
        throw error;
      }
    },
  };
}

/** Throws 400 for a password that is too long. Called before hashing, whose time grows with the length. */
function requirePossible(password: string): void {
  if (Buffer.byteLength(password) <= MAX_PASSWORD_BYTES) return;
  throw new HttpError(
    'invalid-parameter',
    `The password is longer than ${MAX_PASSWORD_BYTES} bytes, which no password is.`,
  );
}

class TooManyAttempts extends HttpError {
  /** Seconds until the next attempt is allowed. */
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    super('sign-in-throttled', `There were too many attempts to sign in. Try again in ${retryAfter} seconds.`);
    this.retryAfter = retryAfter;
  }
}
