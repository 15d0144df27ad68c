import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { mkdir, open, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemErrorCode } from './model/error.ts';
import type { Space } from './model/store.ts';

/** The folder of the package. This file (`src`) and its build output (`dist`) are both one level below it. */
export const PACKAGE_FOLDER = join(import.meta.dirname, '..');

const manifest: unknown = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8'));

/** The version of Holdall in `package.json`; `unknown` if it has none. */
export const version =
  typeof manifest === 'object' && manifest && 'version' in manifest ? String(manifest.version) : 'unknown';

/**
 * The commit of the build, with the suffix `-dirty` if its sources had other changes. Null if the build did not know its commit,
 * as from a source archive, and for sources that run without a build.
 */
export const commit = readCommit();

/** The version with the commit, as `--version` prints it. */
export const versionAndCommit = `${version} (${commit ?? 'unknown commit'})`;

function readCommit(): string | null {
  try {
    // The build writes the file: scripts/build.js.
    const built: unknown = JSON.parse(readFileSync(join(import.meta.dirname, 'commit.json'), 'utf8'));
    if (typeof built !== 'object' || !built || !('commit' in built)) return null;
    return typeof built.commit === 'string' ? built.commit : null;
  } catch {
    return null;
  }
}

/** The exit codes of the command `holdall`. From 69 on, the codes of sysexits.h. */
export const EXIT_CODES = {
  ok: 0,
  /** The command failed, a check failed, or access is denied. */
  failed: 1,
  usage: 2,
  /** The store or the database is unreachable, busy or full. */
  unavailable: 69,
  configuration: 78,
  /** Ctrl+C, as shells define it. */
  interrupted: 130,
} as const;

/**
 * Returns whether a host is a loopback host: `localhost` and its subdomains (RFC 6761, section 6.3), or a loopback
 * address. IPv6 addresses can have brackets. `host` has no port.
 */
export function isLoopback(host: string): boolean {
  // Fast path: called three times per request, nearly always with one of these.
  if (host === '127.0.0.1' || host === 'localhost') return true;
  const plain = host.replace(/^\[(.*)\]$/, '$1').replace(/^::ffff:/i, '');
  return /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(plain);
}

/**
 * Returns the space of the volume that holds a folder. A volume without free inodes takes no new files, so it has none left.
 * Throws the system's error.
 */
export async function spaceOf(folder: string): Promise<Space> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(folder);
  return { available: files > 0 && ffree === 0 ? 0 : bavail * bsize, used: (blocks - bfree) * bsize };
}

/**
 * Creates a folder and its missing parents, and makes them durable. Throws the system's error on failure. An existing file of that name is no
 * error here; the next use of the folder fails. Does not use the `recursive` option of `mkdir`: Node.js then loops
 * forever if a folder does not exist and can't be created, as below `/proc`.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    createFolder(folder, mode);
  } catch (error) {
    const above = dirname(folder);
    if (systemErrorCode(error) !== 'ENOENT' || above === folder) throw error;
    makeFolder(above, mode);
    createFolder(folder, mode);
  }
}

function createFolder(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error;
    return;
  }
  syncNamesSync(dirname(folder));
}

/**
 * Like `makeFolder`, without blocking the process. Rejects with EEXIST or ENOTDIR if a file has one of the names. Does not use
 * the `recursive` option either: Node.js then reports a read-only file system or an exhausted quota as ENOENT.
 */
export async function makeDurableFolder(folder: string, mode?: number): Promise<void> {
  try {
    await createDurableFolder(folder, mode);
  } catch (error) {
    const above = dirname(folder);
    if (systemErrorCode(error) !== 'ENOENT' || above === folder) throw error;
    await makeDurableFolder(above, mode);
    await createDurableFolder(folder, mode);
  }
}

async function createDurableFolder(folder: string, mode: number | undefined): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    throw error;
  }
  await syncNames(dirname(folder));
}

/** Makes the names in the folder at a path durable. */
export async function syncNames(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, 'r');
    await handle.sync();
  } catch (error) {
    ignoreUnsyncable(error);
  }
}

function syncNamesSync(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    ignoreUnsyncable(error);
  }
}

/**
 * Ignores the errors of folders that can be changed and not read, of file systems that can't sync folders, and of folders that
 * another process has removed: they have no names.
 */
function ignoreUnsyncable(error: unknown): void {
  if (!UNSYNCABLE_CODES.has(systemErrorCode(error) ?? '')) throw error;
}

const UNSYNCABLE_CODES = new Set(['EACCES', 'EINVAL', 'ENOENT', 'ENOTDIR']);
