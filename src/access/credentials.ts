import { hash as digest, randomBytes, scrypt as scryptWithCallback, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { createSemaphore } from '../concurrency/semaphore.ts';

/** The longest password, in bytes of UTF-8: long enough for every passphrase, too short to make work of. */
export const MAX_PASSWORD_BYTES = 1024;

/**
 * The hash of a password, salted: `scrypt:N=32768,r=8,p=3:<salt>:<hash>`, the two in base64url. Throws a RangeError
 * for one that can be none, and `unavailable` when too many are asked for at once.
 *
 * A password is hashed as the UTF-8 bytes of its NFC form (RFC 8265, section 4.2), since the same keys give composed
 * characters on one machine and decomposed ones on another. Nothing else about it is changed.
 */
export async function hashPassword(password: string): Promise<string> {
  if (!isUsablePassword(password))
    throw new RangeError(`A password has 1 to ${MAX_PASSWORD_BYTES} bytes, and no control characters.`);
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, { cost: USUAL_COST, salt, length: KEY_BYTES });
  const { N, r, p } = USUAL_COST;
  return `scrypt:N=${N},r=${r},p=${p}:${salt.toString('base64url')}:${key.toString('base64url')}`;
}

/**
 * Whether a password is the one of a hash that `readPasswordHash` takes. Without a hash it is none, found out at the
 * cost of one that `hashPassword` makes, so that the time does not tell who has a password. `unavailable` when too
 * many are asked for at once.
 */
export async function verifyPassword(password: string, hash: string | undefined): Promise<boolean> {
  // It says nothing of who there is: nobody has such a password.
  if (!isUsablePassword(password)) return false;
  const reading = hash === undefined ? NOBODYS : readPasswordHash(hash);
  if ('problem' in reading) throw new Error(`A password's hash ${reading.problem}.`);
  const { cost, salt, key } = reading;
  const derived = await derive(password, { cost, salt, length: key.length });
  return timingSafeEqual(derived, key) && hash !== undefined;
}

/**
 * Whether a text can be a password: not empty, not too long, and without control characters. No form sends line breaks,
 * and zeros at its end would make no difference to scrypt, which fills up with them (RFC 2104, section 2).
 */
export function isUsablePassword(password: string): boolean {
  return password !== '' && Buffer.byteLength(password) <= MAX_PASSWORD_BYTES && !/\p{Cc}/u.test(password);
}

export interface PasswordHash {
  readonly cost: Cost;
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** Of scrypt, as RFC 7914 names them: it takes 128·N·r bytes of memory, and time in proportion to N·r·p. */
interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

/** Reads a hash, or says what is wrong with it, without showing it. A cost that would be an attack is wrong. */
export function readPasswordHash(hash: string): PasswordHash | { readonly problem: string } {
  const parts = FORM.exec(hash)?.groups;
  if (!parts) return { problem: 'must be a hash as "holdall password" prints it' };
  const cost = { N: Number(parts['N']), r: Number(parts['r']), p: Number(parts['p']) };
  const isPowerOfTwo = Number.isInteger(Math.log2(cost.N)) && cost.N >= LEAST_N;
  if (!isPowerOfTwo || cost.r < 1 || cost.p < 1 || memoryOf(cost) > MAX_MEMORY || workOf(cost) > MAX_WORK) {
    return { problem: `must have a cost as "holdall password" gives it, of about ${describe(USUAL_COST)}` };
  }
  const salt = Buffer.from(parts['salt'] ?? '', 'base64url');
  const key = Buffer.from(parts['key'] ?? '', 'base64url');
  if (salt.length < SALT_BYTES || key.length < KEY_BYTES) return { problem: 'is cut short' };
  return { cost, salt, key };
}

/** Whether guessing costs much less than with a hash of `hashPassword`. */
export function isCheap({ cost }: PasswordHash): boolean {
  return workOf(cost) < workOf(USUAL_COST) / 2;
}

/** The least that OWASP's Password Storage Cheat Sheet advises, of its choices the one with 32 MiB. */
const USUAL_COST: Cost = { N: 2 ** 15, r: 8, p: 3 };

const LEAST_N = 2 ** 10;
const MAX_MEMORY = 128 * 2 ** 20;
const MAX_WORK = 2 ** 22;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

const FORM = /^scrypt:N=(?<N>\d{1,7}),r=(?<r>\d{1,3}),p=(?<p>\d{1,3}):(?<salt>[\w-]{1,86}):(?<key>[\w-]{1,86})$/;

/** Stands where there is no hash; as no password was hashed for it, none is right. */
const NOBODYS: PasswordHash = { cost: USUAL_COST, salt: Buffer.alloc(SALT_BYTES), key: Buffer.alloc(KEY_BYTES) };

/**
 * Two at once: each takes 32 MiB, and one of the few threads that reading files is done by as well. In the queue it is
 * a few seconds at the most.
 */
const places = createSemaphore({ places: 2, queue: 32, busyMessage: 'Too many passwords are looked at' });

async function derive(
  password: string,
  { cost, salt, length }: { cost: Cost; salt: Buffer; length: number },
): Promise<Buffer> {
  const leave = await places.acquire();
  try {
    return await scrypt(password.normalize('NFC'), salt, length, { ...cost, maxmem: 2 * MAX_MEMORY });
  } finally {
    leave();
  }
}

const scrypt = promisify<string, Buffer, number, Cost & { maxmem: number }, Buffer>(scryptWithCallback);

const memoryOf = ({ N, r }: Cost) => 128 * N * r;
const workOf = ({ N, r, p }: Cost) => N * r * p;
const describe = ({ N, r, p }: Cost) => `N=${N}, r=${r} and p=${p}`;

/** A new token, and the hash by which the access file knows it: the token itself is kept nowhere. */
export function createToken(): { readonly token: string; readonly hash: string } {
  const token = `${PREFIX}${randomBytes(32).toString('base64url')}`;
  return { token, hash: hashToken(token) };
}

/**
 * The hash of a token: `sha256:` and 43 characters of base64url. It is neither salted nor slow, as the hash of a
 * password has to be: nobody guesses 256 random bits, however fast.
 */
export function hashToken(token: string): string {
  return `sha256:${digest('sha256', token, 'base64url')}`;
}

/** Whether a text looks like a token of ours, and not like one of another issuer. */
export function isToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** By which people, and programs that look for leaked secrets, know what it is. */
const PREFIX = 'holdall_';
