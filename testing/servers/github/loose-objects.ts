import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';

/** Each object in a file of its own: https://git-scm.com/docs/gitrepository-layout, "objects/[0-9a-f][0-9a-f]". */
function fileOf(repository: string, sha: string): string {
  return join(repository, 'objects', sha.slice(0, 2), sha.slice(2));
}

/** Writes an object and returns its SHA. */
export function writeLooseObject(repository: string, type: string, bytes: Buffer): string {
  const head = Buffer.from(`${type} ${bytes.length}\0`);
  const sha = createHash('sha1').update(head).update(bytes).digest('hex');
  // Not compressed, because time matters here and space does not.
  const deflated = deflateSync(Buffer.concat([head, bytes]), { level: 0 });
  try {
    createFile(fileOf(repository, sha), deflated);
  } catch (error) {
    // The object already exists.
    if (!isCode(error, 'EEXIST')) throw error;
  }
  return sha;
}

function createFile(file: string, bytes: Buffer): void {
  try {
    writeFileSync(file, bytes, { flag: 'wx' });
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, bytes, { flag: 'wx' });
  }
}

/** Returns undefined if there is no such object, or if it is in a pack. */
export function readLooseObject(
  repository: string,
  sha: string,
): { readonly type: string; readonly bytes: Buffer } | undefined {
  let deflated: Buffer;
  try {
    deflated = readFileSync(fileOf(repository, sha));
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  const inflated = inflateSync(deflated);
  const end = inflated.indexOf(0);
  const [type = ''] = inflated.toString('latin1', 0, end).split(' ', 1);
  return { type, bytes: inflated.subarray(end + 1) };
}

export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
