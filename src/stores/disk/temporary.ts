import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { codeOf } from './translate.ts';

/** Names for files and folders on their way, on the file system of the root. */
export interface Temporary {
  /** A path where nothing is yet. */
  name(): string;
  /** Removes all that is left of this process's own. */
  close(): Promise<void>;
}

/** After this time without a change, what a process of another machine left behind is taken for debris. */
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/**
 * A folder of this process's own below `parent`. What processes that are no more left there is swept, so that a
 * crash leaves nothing behind once the service has started again; what running ones hold is left alone.
 */
export async function openTemporary(parent: string): Promise<Temporary> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const own = `${hostname()}~${process.pid}~${randomUUID()}`;
  await sweep(parent);
  const folder = join(parent, own);
  await mkdir(folder, { mode: 0o700 });
  return {
    name: () => join(folder, randomUUID()),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (await isAbandoned(parent, name)) await rm(join(parent, name), { recursive: true, force: true });
  }
}

async function isAbandoned(parent: string, name: string): Promise<boolean> {
  const [host, pid] = name.split('~');
  if (host === hostname() && pid !== undefined) return !isAlive(Number(pid));
  const found = await stat(join(parent, name)).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS;
}

/** Whether another process has this number. Our own number was, in a folder older than us, that of one before. */
function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
