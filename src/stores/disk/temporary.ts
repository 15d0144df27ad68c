import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { errorCode } from '../../model/error.ts';
import type { Root } from './root.ts';

/** Names for files and folders on their way, on the file system of the root. */
export interface Temporary {
  /** A path where nothing is yet. */
  name(): Promise<string>;
  /** A new file, open for writing. */
  create(): Promise<{ readonly path: string; readonly number: number }>;
  /** Removes all that is left of this process's own. */
  close(): Promise<void>;
}

/** Milliseconds between two signs of life that a process gives, and between two looks for those that give none. */
const SIGN_OF_LIFE = 60_000;

/** Milliseconds after the start for a look of its own: processes that were just killed may take a moment to be gone. */
const SECOND_LOOK = 3_000;

/** After this time without a sign of life, a process whose number tells us nothing is taken to be no more. */
const ABANDONED = 60 * 60 * 1000;

/**
 * A folder of this process's own below `parent`, which is in the root. What processes that are no more left there is swept, so that a
 * crash leaves nothing behind once the service has started again; what running ones hold is left alone.
 */
export async function openTemporary(parent: string, root: Pick<Root, 'system' | 'requireSame'>): Promise<Temporary> {
  const place = await placeOfProcess();
  const folder = join(parent, `${place}~${process.pid}~${randomUUID()}`);
  const make = async () => {
    await root.requireSame();
    await mkdir(folder, { recursive: true, mode: 0o700 });
  };
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await sweep(parent, place);
  await make();

  const live = async () => {
    await utimes(folder, new Date(), new Date());
    await sweep(parent, place);
  };
  // What fails here is tried again in a minute; meanwhile nothing depends on it.
  const tryToLive = () => void live().catch(() => {});
  const timers = [setTimeout(tryToLive, SECOND_LOOK), setInterval(tryToLive, SIGN_OF_LIFE)];
  for (const timer of timers) timer.unref();

  return {
    async name() {
      // It may be gone: swept by a process whose clock runs ahead, or removed by hand.
      await make();
      return join(folder, randomUUID());
    },
    async create() {
      const path = join(folder, randomUUID());
      try {
        return { path, number: await root.system.sync.create(path) };
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
        await make();
        return { path, number: await root.system.sync.create(path) };
      }
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Where the number of a process means something: this machine since it started, and this space of numbers on it. */
async function placeOfProcess(): Promise<string> {
  const [boot, space] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]);
  return `${hostname()}-${boot.trim().slice(0, 8)}-${space.replace(/\D/g, '')}`;
}

async function sweep(parent: string, place: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (await isAbandoned(parent, name, place)) await rm(join(parent, name), { recursive: true, force: true });
  }
}

async function isAbandoned(parent: string, name: string, place: string): Promise<boolean> {
  const [origin, pid] = name.split('~');
  if (origin === place && pid !== undefined) return Number(pid) !== process.pid && !isAlive(Number(pid));
  const found = await stat(join(parent, name)).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > ABANDONED;
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}
