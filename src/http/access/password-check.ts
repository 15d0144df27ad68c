import { createHmac, randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { MAX_PASSWORD_BYTES, verifyPassword } from '../../access/credentials.ts';
import { deriveKey } from '../../access/derived-keys.ts';
import type { Policy, UserEntry } from '../../access/policy.ts';
import { maxEntries } from '../../cache/lru-options.ts';
import { HttpError } from '../errors.ts';
import { clientNetwork } from '../limits/connections.ts';
import { createLocalCounters, createRedisCounters, type WindowCounters } from '../limits/counters.ts';

/** A username and password, as the client sent them. */
export interface Credentials {
  readonly name: string;
  readonly password: string;
}

/** The user's entry of the access file, and whether this request checked the password (`isNew`). */
export interface CheckedPassword {
  readonly userEntry: UserEntry;
  readonly isNew: boolean;
}

/** Milliseconds for which a correct password is not hashed again, because programs send it with each request. */
const CACHE_LIFETIME_MS = 5 * 60 * 1000;

/** Maximum number of cached credentials. */
const MAX_CACHED_CREDENTIALS = 1000;

/** Milliseconds for which the same invalid token is not counted again: programs repeat a token that was revoked. */
const FAILED_TOKEN_LIFETIME_MS = 60_000;

/** Checks usernames and passwords, and counts failed attempts. */
export class PasswordCheck {
  readonly #policy: () => Policy;
  readonly #throttle: SignInThrottle;
  readonly #cacheKey = randomBytes(32);
  /**
   * Expiry times of correct credentials. The id includes the password hash of the access file, so a change there takes
   * effect at once.
   */
  readonly #cache = new LRUCache<string, number>(maxEntries(MAX_CACHED_CREDENTIALS));
  /** Until when the failures of credentials with a token are not counted again. */
  readonly #failedTokens = new LRUCache<string, number>(maxEntries(MAX_CACHED_CREDENTIALS));
  /** Checks in progress. Concurrent requests with the same credentials count as one attempt. */
  readonly #checks = new Map<string, Promise<boolean>>();

  constructor(policy: () => Policy, throttle: SignInThrottle) {
    this.#policy = policy;
    this.#throttle = throttle;
  }

  /**
   * Throws 401 for an unknown user or a wrong password, at the same cost; 429 with `Retry-After` after too many
   * attempts; 400 if the password is longer than `MAX_PASSWORD_BYTES`.
   */
  async check(credentials: Credentials, { ip }: FastifyRequest, reply: FastifyReply): Promise<CheckedPassword> {
    const { name, password } = credentials;
    requirePossible(password);
    const userEntry = this.#policy().userEntry(name);
    const id = this.#idOf(credentials, userEntry, ip);
    try {
      if (userEntry && (this.#cache.get(id) ?? 0) > Date.now()) {
        requireAttempts(this.#throttle.peek({ name, address: ip }));
        return { userEntry, isNew: false };
      }
      const running = this.#checks.get(id);
      const check = running ?? this.#attempt(credentials, userEntry, ip).finally(() => this.#checks.delete(id));
      this.#checks.set(id, check);
      if (!(await check) || !userEntry) throw new HttpError('wrong-password', 'Wrong username or password.');
      this.#cache.set(id, Date.now() + CACHE_LIFETIME_MS);
      return { userEntry, isNew: running === undefined };
    } catch (error) {
      if (error instanceof TooManyAttempts) reply.header('retry-after', error.retryAfter);
      throw error;
    }
  }

  /**
   * Counts an attempt with an invalid token as the password. Returns false if the same attempt was counted less than a minute
   * ago. Throws 429 with `Retry-After` after too many attempts.
   */
  async countFailedToken(credentials: Credentials, { ip }: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const id = this.#idOf(credentials, undefined, ip);
    if ((this.#failedTokens.get(id) ?? 0) > Date.now()) return false;
    this.#failedTokens.set(id, Date.now() + FAILED_TOKEN_LIFETIME_MS);
    const retryAfter = await this.#throttle.consume({ name: credentials.name, address: ip });
    if (retryAfter === undefined) return true;
    this.#failedTokens.delete(id);
    reply.header('retry-after', retryAfter);
    throw new TooManyAttempts(retryAfter);
  }

  /**
   * Returns the cache id of credentials. It includes the client's network: a correct password from one client must not
   * exempt other clients from the limits.
   */
  #idOf({ name, password }: Credentials, userEntry: UserEntry | undefined, ip: string): string {
    return createHmac('sha256', this.#cacheKey)
      .update(JSON.stringify([name, password, userEntry?.password ?? null, clientNetwork(ip)]))
      .digest('base64url');
  }

  /** Counts an attempt and checks the password. Returns whether it is correct. */
  #attempt({ name, password }: Credentials, userEntry: UserEntry | undefined, ip: string): Promise<boolean> {
    return attemptPassword(this.#throttle, { name, address: ip }, password, userEntry?.password);
  }
}

/**
 * Counts an attempt and compares a password with a hash. Returns whether it is correct; false without a hash, after the
 * same time. Throws 429 after too many attempts.
 */
export async function attemptPassword(
  throttle: SignInThrottle,
  attempt: Attempt,
  password: string,
  hash: string | undefined,
): Promise<boolean> {
  requireAttempts(await throttle.consume(attempt));
  const isCorrect = await verifyPassword(password, hash, clientNetwork(attempt.address)).catch(
    async (error: unknown) => {
      // The password was not checked, so this was not a guess. Overload must not use up the attempts of legitimate
      // users.
      await throttle.refund(attempt);
      throw error;
    },
  );
  // Without a stored password, `verifyPassword` hashes only to equalize the time; its result is no match.
  if (!isCorrect || hash === undefined) return false;
  await throttle.refund(attempt);
  return true;
}

/** Throws 400 for a password that is too long. Called before hashing, whose time grows with the length. */
export function requirePossible(password: string): void {
  if (Buffer.byteLength(password) <= MAX_PASSWORD_BYTES) return;
  throw new HttpError('invalid-parameter', `The password is longer than ${MAX_PASSWORD_BYTES} bytes.`);
}

function requireAttempts(retryAfter: number | undefined): void {
  if (retryAfter !== undefined) throw new TooManyAttempts(retryAfter);
}

export class TooManyAttempts extends HttpError {
  /** Seconds until the next attempt is allowed. */
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    super('sign-in-throttled', `Too many sign-in attempts. Try again in ${retryAfter} seconds.`);
    this.retryAfter = retryAfter;
  }
}

/** A sign-in attempt. */
export interface Attempt {
  /** The username as it was sent, whether or not such a user exists. */
  readonly name: string;
  /** The address of the client, possibly with a port. */
  readonly address: string;
}

/** Maximum number of attempts in a time window, for all attempts with equal `keyOf`. */
interface AttemptLimit {
  readonly keyOf: (attempt: Attempt) => readonly string[];
  readonly max: number;
  readonly seconds: number;
}

const PER_ADDRESS: readonly AttemptLimit[] = [
  { keyOf: ({ address }) => ['address', clientNetwork(address)], max: 20, seconds: 60 },
  { keyOf: ({ name, address }) => ['account', name, clientNetwork(address)], max: 10, seconds: 60 },
  { keyOf: ({ name, address }) => ['account for long', name, clientNetwork(address)], max: 30, seconds: 15 * 60 },
];

/**
 * Checked in this order. An attempt that exceeds one limit is not counted for the next. A single address therefore
 * cannot lock an account, and the names that it sends take no memory.
 */
const ATTEMPT_LIMITS: readonly AttemptLimit[] = [
  ...PER_ADDRESS,
  { keyOf: ({ name }) => ['account', name], max: 100, seconds: 15 * 60 },
];

/** Limits how often clients can guess passwords. */
export class SignInThrottle {
  readonly #key: Buffer;
  readonly #counters: WindowCounters;

  constructor(key: Buffer, counters: WindowCounters) {
    this.#key = deriveKey(key, 'throttle');
    this.#counters = counters;
  }

  /** Counts an attempt. Returns the seconds to wait if the attempt exceeds a limit. */
  async consume(attempt: Attempt): Promise<number | undefined> {
    for (const { keyOf, max, seconds } of ATTEMPT_LIMITS) {
      const { granted, ends } = await this.#counters.consume(this.#idOf(keyOf(attempt)), {
        requested: 1,
        max,
        seconds,
      });
      if (granted === 0) return secondsUntil(ends);
    }
    return undefined;
  }

  /** Removes an attempt from the count, because it was not a guess. */
  async refund(attempt: Attempt): Promise<void> {
    await Promise.all(ATTEMPT_LIMITS.map(({ keyOf }) => this.#counters.refund(this.#idOf(keyOf(attempt)))));
  }

  /**
   * Checks the limits for credentials that were correct before, without counting them. Returns the seconds to wait if
   * the address, or the account from this address, has no attempts left. Otherwise such a client could distinguish a
   * correct password from a wrong one. Attempts from other addresses don't count.
   */
  peek(attempt: Attempt): number | undefined {
    let latest: number | undefined;
    for (const { keyOf, max } of PER_ADDRESS) {
      const window = this.#counters.peek(this.#idOf(keyOf(attempt)));
      if (window && window.count >= max) latest = Math.max(latest ?? 0, window.ends);
    }
    return latest === undefined ? undefined : secondsUntil(latest);
  }

  /** Returns the id of a window. Users type passwords into the username field, so names are only kept as keyed hashes. */
  #idOf(parts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('base64url');
  }
}

/** Prefix of the Redis keys for attempts. */
const ATTEMPTS_KEY_PREFIX = 'holdall:attempts:';

/** Where attempts are counted: in Redis, in `counters`, which processes can share, or in this process. */
export interface AttemptCounters {
  readonly redis?: Redis | undefined;
  readonly counters?: WindowCounters | undefined;
}

export function createThrottle(
  key: Buffer,
  { redis, counters: local = createLocalCounters() }: AttemptCounters,
): SignInThrottle {
  const counters = redis ? createRedisCounters(redis, { prefix: ATTEMPTS_KEY_PREFIX, fallback: local }) : local;
  return new SignInThrottle(key, counters);
}

function secondsUntil(time: number): number {
  return Math.max(1, Math.ceil((time - Date.now()) / 1000));
}
