import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isCode } from './loose-objects.ts';

/** Returns the SHA that a ref, by its full name, points to: from its own file, otherwise from `packed-refs`. */
export function readRef(repository: string, ref: string): string | undefined {
  const loose = readIfPresent(join(repository, ref));
  if (loose !== undefined) return loose.trim();
  const packed = readIfPresent(join(repository, 'packed-refs'))?.split('\n') ?? [];
  return packed.find((line) => line.endsWith(` ${ref}`))?.split(' ', 1)[0];
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // The error is the same for a folder of other refs, and for a path below another ref.
    if (isCode(error, 'ENOENT', 'EISDIR', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/**
 * Moves a ref as git does: the lock excludes git's own processes. Throws if the ref is locked, or does not point to
 * `from`.
 */
export function updateRef(
  repository: string,
  { ref, to, from }: { readonly ref: string; readonly to: string; readonly from: string | undefined },
): void {
  const file = join(repository, ref);
  const lock = `${file}.lock`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(lock, `${to}\n`, { flag: 'wx' });
  try {
    const current = readRef(repository, ref);
    if (current !== from) throw new Error(`${ref} points to ${current ?? 'nothing'}, not to ${from ?? 'nothing'}.`);
    renameSync(lock, file);
  } catch (error) {
    rmSync(lock);
    throw error;
  }
}
