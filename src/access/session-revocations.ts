import { createHash, randomUUID } from 'node:crypto';
import { opendir, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/lru-options.ts';
import { StoreError } from '../model/error.ts';
import { makeFolder } from '../system.ts';

/** The sessions that were ended before their time. */
export interface SessionRevocations {
  /** Throws `unavailable` where it can't be known. */
  has(id: string): Promise<boolean>;
  /**
   * Ends a session that would have lasted until `expires`. Throws `unavailable` where not all will know of it; those who
   * can be told know of it then as well.
   */
  add(id: string, expires: Date): Promise<void>;
  /** Ends what goes on in the background. */
  close(): Promise<void>;
}

export interface SessionRevocationsOptions {
  /** Made when it is needed: see `prepareSessionRevocations`. All processes of a machine that share it know of each other's at once. */
  readonly folder: string;
  /** What services on several machines share; its commands give up by themselves when it does not answer. */
  readonly redis: Pick<Redis, 'set' | 'exists'> | undefined;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** Milliseconds between two looks for what has expired. */
const SWEEP_INTERVAL = 60 * 60 * 1000;

/**
 * Milliseconds that a file is kept beyond its time: it is there for a moment before it gets its own, and the clocks of
 * machines that share a folder differ.
 */
const KEPT_BEYOND = 60 * 60 * 1000;

/** Milliseconds for which it is believed that a session has not ended elsewhere. */
const TRUST = 2000;

/** How many answers are remembered. */
const REMEMBERED = 10_000;

/**
 * An empty file stands for each session that ended, named by the hash of its id, with the session's expiry as its time.
 * A look for it is one call of the system, and it is still there after a restart.
 */
export function createSessionRevocations({ folder, redis, warn }: SessionRevocationsOptions): SessionRevocations {
  const shared = redis && createSharedEndings(redis);
  const closing = new AbortController();
  const sweepOrWarn = () =>
    sweep(folder, closing.signal).catch((error: unknown) =>
      warn('The folder of ended sessions could not be swept.', { folder, reason: messageOf(error) }),
    );
  let sweeping = sweepOrWarn();
  const timer = setInterval(() => {
    sweeping = sweeping.then(sweepOrWarn);
  }, SWEEP_INTERVAL).unref();

  return {
    async has(id) {
      const name = nameOf(id);
      return (await isThere(join(folder, name))) || ((await shared?.has(name)) ?? false);
    },
    async add(id, expires) {
      const name = nameOf(id);
      const told = await Promise.allSettled([keep(folder, name, expires), shared?.add(name, expires)]);
      for (const each of told) if (each.status === 'rejected') throw each.reason;
    },
    async close() {
      clearInterval(timer);
      closing.abort();
      await sweeping;
    },
  };
}

/**
 * Makes the folder where it is missing, and tries whether something can be kept in it: else it would show when somebody
 * signs out. Throws the system's error.
 */
export async function prepareSessionRevocations(folder: string): Promise<void> {
  makeFolder(folder);
  const probe = join(folder, `probe-${randomUUID()}`);
  try {
    await writeFile(probe, '', { mode: 0o600 });
  } finally {
    await rm(probe, { force: true });
  }
}

async function keep(folder: string, name: string, expires: Date): Promise<void> {
  try {
    makeFolder(folder);
    await writeFile(join(folder, name), '', { mode: 0o600 });
    await utimes(join(folder, name), expires, expires);
  } catch (error) {
    throw new StoreError('unavailable', notEnded('the service can not remember it'), { cause: error });
  }
}

const notEnded = (reason: string) =>
  `The session has not ended everywhere, as ${reason} at this moment. Sign in and out again later.`;

/** What is shared by Redis, under a key for each that goes by itself when the session would have expired. */
function createSharedEndings(redis: Pick<Redis, 'set' | 'exists'>): Pick<SessionRevocations, 'has' | 'add'> {
  const remembered = new LRUCache<string, { isEnded: boolean; until: number }>(maxEntries(REMEMBERED));
  const ask = async <Answer>(asked: Promise<Answer>, problem: string): Promise<Answer> => {
    try {
      return await asked;
    } catch (error) {
      throw new StoreError('unavailable', problem, { cause: error });
    }
  };

  return {
    async has(name) {
      const known = remembered.get(name);
      if (known && (known.isEnded || Date.now() < known.until)) return known.isEnded;
      const until = Date.now() + TRUST;
      const isEnded = (await ask(redis.exists(keyOf(name)), UNKNOWN)) > 0;
      remembered.set(name, { isEnded, until });
      return isEnded;
    },
    async add(name, expires) {
      const setting = redis.set(keyOf(name), '1', 'EXAT', Math.ceil(expires.getTime() / 1000));
      await ask(setting, notEnded('Redis does not answer'));
      remembered.set(name, { isEnded: true, until: 0 });
    },
  };
}

const UNKNOWN = 'It can not be told now which sessions have ended, as Redis does not answer. Try again in a moment.';

/** Hexadecimal, since some file systems do not tell small letters from large ones. */
const nameOf = (id: string) => createHash('sha256').update(id).digest('hex');

const keyOf = (name: string) => `holdall:ended:${name}`;

/** A file that can't be looked for may be there. */
async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw new StoreError('unavailable', 'It can not be told now which sessions have ended.', { cause: error });
  }
}

async function sweep(folder: string, signal: AbortSignal): Promise<void> {
  const files = await opendir(folder).catch(ignoreMissing);
  if (!files) return;
  for await (const { name } of files) {
    if (signal.aborted) return;
    if (!/^[0-9a-f]{64}$/.test(name)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(ignoreMissing);
    if (found && found.mtimeMs + KEPT_BEYOND < Date.now()) await unlink(path).catch(ignoreMissing);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
