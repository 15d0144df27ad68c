import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCode } from './model/error.ts';

/** The folder of the package. Both this file and what the build makes of it, in `dist`, are one folder below it. */
export const PACKAGE_FOLDER = join(import.meta.dirname, '..');

const manifest: unknown = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8'));

/** The version of Holdall, as its package says it. */
export const version =
  typeof manifest === 'object' && manifest && 'version' in manifest ? String(manifest.version) : 'unknown';

/**
 * Whether a host is this machine for itself, which no other can be: `localhost` and what is below it (RFC 6761, section
 * 6.3), and the loopback addresses, of IPv6 in brackets or without. `host` has no port.
 */
export function isLoopback(host: string): boolean {
  // Asked three times of each request, and nearly always about these.
  if (host === '127.0.0.1' || host === 'localhost') return true;
  const plain = host.replace(/^\[(.*)\]$/, '$1').replace(/^::ffff:/i, '');
  return /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(plain);
}

/**
 * Makes a folder and those above it that are missing. Throws the system's error where it can't; a file of that name is
 * found out by whoever uses the folder. `mkdir` of Node, told to make those above, asks for ever where the system says of
 * a folder that it is not there and lets nobody make it, as below `/proc`.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    makeOne(folder, mode);
  } catch (error) {
    const above = dirname(folder);
    if (errorCode(error) !== 'ENOENT' || above === folder) throw error;
    makeFolder(above, mode);
    makeOne(folder, mode);
  }
}

function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}
