import { createHash, randomUUID } from 'node:crypto';
import { opendir, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/lru-options.ts';
import { isDiskFull, StoreError } from '../model/error.ts';
import { makeFolder } from '../system.ts';

/** The sessions that were revoked before they expired. */
export interface SessionRevocations {
  /** Returns whether the session is revoked. Throws `unavailable` if that can't be determined. */
  has(id: string): Promise<boolean>;
  /**
   * Revokes a session that would expire at `expires`. Throws `unavailable` if the revocation can't be stored
   * everywhere. It then applies wherever it could be stored.
   */
  add(id: string, expires: Date): Promise<void>;
  /** Stops the background work. */
  close(): Promise<void>;
}

export interface SessionRevocationsOptions {
  /**
   * The folder for revocations, created by `createRevocationFolder`. All processes that share it see a revocation
   * immediately.
   */
  readonly folder: string;
  /** The Redis that services on several machines share. Its commands must time out if it does not respond. */
  readonly redis: Pick<Redis, 'set' | 'exists'> | undefined;
  readonly warn: (message: string, details: Record<string, unknown>) => void;
}

/** Milliseconds between two removals of expired files. */
const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Milliseconds after the expiry until a file is removed. A new file has no expiry for a moment, and the clocks of
 * machines that share a folder differ.
 */
const SWEEP_DELAY_MS = 60 * 60 * 1000;

/** Milliseconds for which a session counts as active after Redis returned no revocation. */
const NOT_REVOKED_TTL_MS = 2000;

/** Maximum number of cached Redis responses. */
const MAX_CACHED_RESPONSES = 10_000;

/**
 * Creates the revocations. Each is an empty file, named by the hash of the session's ID, with the session's expiry as
 * its modification time. A lookup is one system call, and revocations survive a restart.
 */
export function createSessionRevocations({ folder, redis, warn }: SessionRevocationsOptions): SessionRevocations {
  const shared = redis && createRedisRevocations(redis);
  const closing = new AbortController();
  const sweepOrWarn = () =>
    sweep(folder, closing.signal).catch((error: unknown) =>
      warn('Sweep of expired session revocations failed', { folder, reason: messageOf(error) }),
    );
  let sweeping = sweepOrWarn();
  const timer = setInterval(() => {
    sweeping = sweeping.then(sweepOrWarn);
  }, SWEEP_INTERVAL_MS).unref();

  return {
    async has(id) {
      const name = fileNameOf(id);
      return (await fileExists(join(folder, name))) || ((await shared?.has(name)) ?? false);
    },
    async add(id, expires) {
      const name = fileNameOf(id);
      const results = await Promise.allSettled([storeRevocation(folder, name, expires), shared?.add(name, expires)]);
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    },
    async close() {
      clearInterval(timer);
      closing.abort();
      await sweeping;
    },
  };
}

/**
 * Creates the folder if it is missing, and checks that it is writable. A failure shows at the start instead of at the
 * first sign-out. Throws the system's error, except for a full disk, which only prevents revocations.
 */
export async function createRevocationFolder(folder: string): Promise<void> {
  const probe = join(folder, `probe-${randomUUID()}`);
  try {
    makeFolder(folder);
    await writeFile(probe, '', { mode: 0o600 });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  } finally {
    await rm(probe, { force: true });
  }
}

async function storeRevocation(folder: string, name: string, expires: Date): Promise<void> {
  try {
    makeFolder(folder);
    await writeFile(join(folder, name), '', { mode: 0o600 });
    await utimes(join(folder, name), expires, expires);
  } catch (error) {
    throw new StoreError('sessions-unavailable', notRevoked('the revocation could not be stored'), { cause: error });
  }
}

const notRevoked = (reason: string) =>
  `The session could not be revoked everywhere: ${reason}. Sign in and out again later.`;

/** Creates the revocations in Redis. Each is a key that expires with its session. */
function createRedisRevocations(redis: Pick<Redis, 'set' | 'exists'>): Pick<SessionRevocations, 'has' | 'add'> {
  const cached = new LRUCache<string, { isRevoked: boolean; until: number }>(maxEntries(MAX_CACHED_RESPONSES));
  const orUnavailable = async <Response>(command: Promise<Response>, problem: string): Promise<Response> => {
    try {
      return await command;
    } catch (error) {
      throw new StoreError('sessions-unavailable', problem, { cause: error });
    }
  };

  return {
    async has(name) {
      const known = cached.get(name);
      if (known && (known.isRevoked || Date.now() < known.until)) return known.isRevoked;
      const until = Date.now() + NOT_REVOKED_TTL_MS;
      const isRevoked = (await orUnavailable(redis.exists(redisKeyOf(name)), UNKNOWN_STATE)) > 0;
      cached.set(name, { isRevoked, until });
      return isRevoked;
    },
    async add(name, expires) {
      const command = redis.set(redisKeyOf(name), '1', 'EXAT', Math.ceil(expires.getTime() / 1000));
      await orUnavailable(command, notRevoked('Redis does not respond'));
      cached.set(name, { isRevoked: true, until: 0 });
    },
  };
}

const UNKNOWN_STATE = "Can't check whether the session is revoked: Redis does not respond. Try again in a moment.";

/** Hexadecimal, because some file systems are case-insensitive. */
const fileNameOf = (id: string) => createHash('sha256').update(id).digest('hex');

const redisKeyOf = (name: string) => `holdall:ended:${name}`;

/** Returns whether a file exists. Throws `unavailable` if the check fails, because the file might exist. */
async function fileExists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw new StoreError('sessions-unavailable', "Can't check whether the session is revoked. Try again in a moment.", {
      cause: error,
    });
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
    if (found && found.mtimeMs + SWEEP_DELAY_MS < Date.now()) await unlink(path).catch(ignoreMissing);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
