import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';

interface StoredObject {
  readonly type: string;
  readonly bytes: Buffer;
}

/**
 * The objects that git has not needed yet, by the folder of the repositories that share them. Writing a file for each object
 * takes longer than most requests.
 */
const unwritten = new Map<string, Map<string, StoredObject>>();

/** Larger objects are always files. */
const MAX_UNWRITTEN_BYTES = 64 * 1024;

/** The number of objects above which a pack is written faster than files. */
const MAX_LOOSE_OBJECTS = 100;

/** Each object in a file of its own: https://git-scm.com/docs/gitrepository-layout, "objects/[0-9a-f][0-9a-f]". */
function fileOf(repository: string, sha: string): string {
  return join(repository, 'objects', sha.slice(0, 2), sha.slice(2));
}

/** The number of git processes that read objects, by the folder of the repositories that share them. */
const readers = new Map<string, number>();

/** Lets a git process read all objects, also those that are stored until the returned function is called. */
export function openToGit(repository: string): () => void {
  const shared = dirname(repository);
  readers.set(shared, (readers.get(shared) ?? 0) + 1);
  writeObjects(repository);
  return () => void readers.set(shared, (readers.get(shared) ?? 0) - 1);
}

/** Stores an object, which git sees after the next `writeObjects`, and returns its SHA. */
export function storeObject(repository: string, type: string, bytes: Buffer): string {
  const sha = createHash('sha1').update(headOf(type, bytes)).update(bytes).digest('hex');
  const shared = dirname(repository);
  if (bytes.length > MAX_UNWRITTEN_BYTES || (readers.get(shared) ?? 0) > 0) {
    writeLooseObject(repository, sha, { type, bytes });
  } else {
    const objects = unwritten.get(shared) ?? new Map<string, StoredObject>();
    unwritten.set(shared, objects.set(sha, { type, bytes }));
  }
  return sha;
}

/** Writes the files of all stored objects of the repositories that share objects with this one. */
export function writeObjects(repository: string): void {
  for (const [sha, object] of takeUnwritten(repository)) writeLooseObject(repository, sha, object);
}

/** Returns a pack with all stored objects that have no file yet, if they are many: https://git-scm.com/docs/gitformat-pack. */
export function packObjects(repository: string): Buffer | undefined {
  if ((unwritten.get(dirname(repository))?.size ?? 0) <= MAX_LOOSE_OBJECTS) return undefined;
  const objects = takeUnwritten(repository);
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  head.writeUInt32BE(objects.size, 8);
  const entries = [...objects.values()].flatMap(({ type, bytes }) => [packHeadOf(type, bytes.length), deflate(bytes)]);
  const content = Buffer.concat([head, ...entries]);
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
}

function takeUnwritten(repository: string): ReadonlyMap<string, StoredObject> {
  const shared = dirname(repository);
  const objects = unwritten.get(shared) ?? new Map<string, StoredObject>();
  unwritten.delete(shared);
  return objects;
}

/** Three bits of type and four of size, then seven of size in each byte. The first bit tells whether another byte follows. */
function packHeadOf(type: string, size: number): Buffer {
  const bytes = [((PACKED_TYPES.indexOf(type) + 1) << 4) | (size & 0x0f)];
  for (let rest = size >> 4; rest > 0; rest >>= 7) {
    bytes.push((bytes.pop() ?? 0) | 0x80, rest & 0x7f);
  }
  return Buffer.from(bytes);
}

const PACKED_TYPES = ['commit', 'tree', 'blob', 'tag'];

const headOf = (type: string, { length }: Buffer) => Buffer.from(`${type} ${length}\0`);

/** Does not compress, because time matters here and space does not. */
const deflate = (bytes: Buffer) => deflateSync(bytes, { level: 0 });

function writeLooseObject(repository: string, sha: string, { type, bytes }: StoredObject): void {
  try {
    createFile(fileOf(repository, sha), deflate(Buffer.concat([headOf(type, bytes), bytes])));
  } catch (error) {
    // The object already exists.
    if (!isCode(error, 'EEXIST')) throw error;
  }
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
export function readObject(repository: string, sha: string): StoredObject | undefined {
  const object = unwritten.get(dirname(repository))?.get(sha);
  if (object) return object;
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
