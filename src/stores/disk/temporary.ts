import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { systemErrorCode } from '../../model/error.ts';
import type { Root } from './root.ts';

/** The temporary files and folders of this process, on the file system of the root. */
export interface Temporary {
  /** Returns a new path that does not exist yet. */
  name(): Promise<string>;
  /** Creates a file. Returns its path and a file descriptor open for writing. */
  create(): Promise<{ readonly path: string; readonly number: number }>;
  /** Removes the temporary folder of this process. */
  close(): Promise<void>;
}

/** Interval in milliseconds at which a process updates the time of its folder and removes abandoned folders. */
const SIGN_OF_LIFE = 60_000;

/** Delay in milliseconds of an extra sweep after the start: killed processes may take a moment to disappear. */
const SECOND_LOOK = 3_000;

/** Milliseconds without an update after which a folder is abandoned, if its process can't be checked by its pid. */
const ABANDONED = 60 * 60 * 1000;

/**
 * Creates a folder for this process in `parent`, which is inside the root. Removes orphaned folders of ended processes
 * at the start and every minute, so that no temporary file outlives a crash and restart. Folders of running processes
 * remain.
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
  // Errors are ignored: the next run is a minute later, and no request depends on it.
  const tryToLive = () => void live().catch(() => {});
  const timers = [setTimeout(tryToLive, SECOND_LOOK), setInterval(tryToLive, SIGN_OF_LIFE)];
  for (const timer of timers) timer.unref();

  return {
    async name() {
      // The folder may be missing: removed by a process whose clock is ahead, or by hand.
      await make();
      return join(folder, randomUUID());
    },
    async create() {
      const path = join(folder, randomUUID());
      try {
        return { path, number: await root.system.sync.create(path) };
      } catch (error) {
        if (systemErrorCode(error) !== 'ENOENT') throw error;
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

/** Returns an identifier of the scope in which a pid is meaningful: the machine, its boot, and the pid namespace. */
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
    return systemErrorCode(error) !== 'ESRCH';
  }
}
