import { hash as digest, randomBytes, scrypt as scryptWithCallback, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { createFairSemaphore } from '../concurrency/fair-semaphore.ts';

/** Maximum length of a password in UTF-8 bytes: enough for every passphrase, but too short for a denial of service. */
export const MAX_PASSWORD_BYTES = 1024;

/**
 * Returns the salted hash of a password: `scrypt:N=32768,r=8,p=3:<salt>:<hash>`, with salt and hash in base64url.
 * Throws a RangeError if the password is not usable, and `unavailable` if too many hashes are in progress.
 *
 * Hashes the UTF-8 bytes of the NFC form (RFC 8265, section 4.2), because keyboards produce composed characters on
 * some systems and decomposed ones on others. The password is not changed otherwise. `client` is the network of the
 * request: clients take turns.
 */
export async function hashPassword(password: string, client = ''): Promise<string> {
  if (!isUsablePassword(password))
    throw new RangeError(`A password must have 1 to ${MAX_PASSWORD_BYTES} bytes and no control characters.`);
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, { cost: DEFAULT_COST, salt, length: KEY_BYTES, client });
  const { N, r, p } = DEFAULT_COST;
  return `scrypt:N=${N},r=${r},p=${p}:${salt.toString('base64url')}:${key.toString('base64url')}`;
}

/**
 * Returns whether a password matches a hash that `readPasswordHash` accepts. Without a hash, returns false after the
 * time that a default hash takes, so that timing does not reveal which users have a password. Throws `unavailable` if
 * too many hashes are in progress.
 */
export async function verifyPassword(password: string, hash: string | undefined, client = ''): Promise<boolean> {
  // Returning early reveals nothing about users, because no user has such a password.
  if (!isUsablePassword(password)) return false;
  const reading = hash === undefined ? PLACEHOLDER_HASH : readPasswordHash(hash);
  if ('problem' in reading) throw new Error(`The password hash ${reading.problem}.`);
  const { cost, salt, key } = reading;
  const derived = await derive(password, { cost, salt, length: key.length, client });
  return timingSafeEqual(derived, key) && hash !== undefined;
}

/**
 * Returns whether a text can be a password: not empty, not too long, and without control characters. Forms don't send
 * line breaks. Trailing NUL characters would have no effect, because HMAC pads the key with zeros (RFC 2104, section
 * 2).
 */
export function isUsablePassword(password: string): boolean {
  return password !== '' && Buffer.byteLength(password) <= MAX_PASSWORD_BYTES && !/\p{Cc}/u.test(password);
}

export interface PasswordHash {
  readonly cost: Cost;
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** The scrypt parameters of RFC 7914. A hash takes 128·N·r bytes of memory, and time in proportion to N·r·p. */
interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/**
 * Parses a hash. Returns a description of the problem, without the hash, if it is invalid or if its cost is high
 * enough for a denial of service.
 */
export function readPasswordHash(hash: string): PasswordHash | { readonly problem: string } {
  const parts = HASH_FORMAT.exec(hash)?.groups;
  if (!parts) return { problem: 'must be a hash that "holdall password" printed' };
  const cost = { N: Number(parts['N']), r: Number(parts['r']), p: Number(parts['p']) };
  const isPowerOfTwo = Number.isInteger(Math.log2(cost.N)) && cost.N >= MIN_N;
  if (!isPowerOfTwo || cost.r < 1 || cost.p < 1 || memoryBytes(cost) > MAX_MEMORY_BYTES || workOf(cost) > MAX_WORK) {
    return { problem: `must have a cost similar to that of "holdall password": ${describe(DEFAULT_COST)}` };
  }
  const salt = Buffer.from(parts['salt'] ?? '', 'base64url');
  const key = Buffer.from(parts['key'] ?? '', 'base64url');
  if (salt.length < SALT_BYTES || key.length < KEY_BYTES) return { problem: 'is truncated' };
  return { cost, salt, key };
}

/** Returns whether guessing is much cheaper than for a hash of `hashPassword`. */
export function isCheapToGuess({ cost }: PasswordHash): boolean {
  return workOf(cost) < workOf(DEFAULT_COST) / 2;
}

/**
 * The OWASP Password Storage Cheat Sheet recommends these parameters as a minimum. Of its options, this one takes 32
 * MiB.
 */
const DEFAULT_COST: Cost = { N: 2 ** 15, r: 8, p: 3 };

const MIN_N = 2 ** 10;
const MAX_MEMORY_BYTES = 128 * 2 ** 20;
const MAX_WORK = 2 ** 22;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

const HASH_FORMAT = /^scrypt:N=(?<N>\d{1,7}),r=(?<r>\d{1,3}),p=(?<p>\d{1,3}):(?<salt>[\w-]{1,86}):(?<key>[\w-]{1,86})$/;

/** The hash to compare with if there is none. No password is known to have this hash. */
const PLACEHOLDER_HASH: PasswordHash = {
  cost: DEFAULT_COST,
  salt: Buffer.alloc(SALT_BYTES),
  key: Buffer.alloc(KEY_BYTES),
};

/**
 * Two in parallel, of different clients: each takes 32 MiB and a thread of the pool that file reads need too. Clients
 * take turns, so that many attempts of one network don't delay the others. An office behind one address can sign in at
 * the same time.
 */
const semaphore = createFairSemaphore({
  limit: 2,
  limitPerClient: 1,
  maxWaiting: 64,
  maxWaitingPerClient: 16,
  busyMessage: 'Too many password checks',
});

async function derive(
  password: string,
  { cost, salt, length, client }: { cost: Cost; salt: Buffer; length: number; client: string },
): Promise<Buffer> {
  const release = await semaphore.acquire(client);
  try {
    return await scrypt(password.normalize('NFC'), salt, length, { ...cost, maxmem: 2 * MAX_MEMORY_BYTES });
  } finally {
    release();
  }
}

const scrypt = promisify<string, Buffer, number, Cost & { maxmem: number }, Buffer>(scryptWithCallback);

const memoryBytes = ({ N, r }: Cost) => 128 * N * r;
const workOf = ({ N, r, p }: Cost) => N * r * p;
const describe = ({ N, r, p }: Cost) => `N=${N}, r=${r} and p=${p}`;

/** Returns a new token and its hash for the access file. The token itself is not stored. */
export function createToken(): { readonly token: string; readonly hash: string } {
  const token = `${TOKEN_PREFIX}${randomBytes(32).toString('base64url')}`;
  return { token, hash: hashToken(token) };
}

/**
 * Returns the hash of a token: `sha256:` and 43 characters of base64url. A password hash needs a salt and a high
 * cost. A token hash does not, because 256 random bits can't be guessed.
 */
export function hashToken(token: string): string {
  return `sha256:${digest('sha256', token, 'base64url')}`;
}

/** Returns whether a text has the format of a Holdall token, instead of a token of another issuer. */
export function isToken(text: string): boolean {
  return text.startsWith(TOKEN_PREFIX);
}

/** The prefix identifies tokens for users and for secret scanners. */
const TOKEN_PREFIX = 'holdall_';
