import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGitProcess, type GitContext, type Parse, parseLine } from './git-process.ts';
import { readObject, storeObject } from './loose-objects.ts';
import { readRef, updateRef } from './ref-files.ts';

type ObjectType = 'blob' | 'tree' | 'commit' | 'tag';

export interface ObjectHeader {
  readonly sha: string;
  readonly type: ObjectType;
  /** In bytes. */
  readonly size: number;
}

export interface TreeEntry {
  /** Six digits, as GitHub writes them: `040000`. */
  readonly mode: string;
  /** One character per byte, because git's names need not be UTF-8. */
  readonly name: string;
  readonly sha: string;
}

/**
 * The objects and refs of a git repository. Objects and refs are read and written in this process, because starting git
 * takes longer than most requests. `git fsck` checks them when the host stops.
 */
export interface ObjectStore {
  /** Undefined if the object does not exist. */
  header(sha: string): Promise<ObjectHeader | undefined>;
  /** Returns the object that a ref, by its full name, points to. Never cached. */
  resolve(ref: string): Promise<ObjectHeader | undefined>;
  read(sha: string): Promise<Buffer>;
  readTree(sha: string): Promise<readonly TreeEntry[]>;
  /** Returns the bytes of a blob. They are read when the stream is. */
  stream(sha: string): Readable;
  write(type: 'blob' | 'commit', bytes: Buffer | string): Promise<string>;
  writeTree(entries: Iterable<TreeEntry>): Promise<string>;
  /** Rejects if the ref does not point to `from`, which is undefined for a new ref. */
  updateRef(ref: string, to: string, from: string | undefined): Promise<void>;
  end(): Promise<void>;
}

const CHUNK_BYTES = 64 * 1024;

const SHA = /^[0-9a-f]{40}$/;

export function isSha(text: string): boolean {
  return SHA.test(text);
}

export function openObjects(gitContext: GitContext): ObjectStore {
  const { folder } = gitContext;
  // Objects never change.
  const headers = new Map<string, ObjectHeader>();
  const commits = new Map<string, Promise<Buffer>>();
  const trees = new Map<string, Promise<readonly TreeEntry[]>>();
  const packs = createGitProcess(gitContext, 'cat-file', '--batch-command');
  const hasPacks = () => existsSync(join(folder, 'objects', 'pack'));

  const write = (type: ObjectType, bytes: Buffer) => {
    const sha = storeObject(folder, type, bytes);
    headers.set(sha, { sha, type, size: bytes.length });
    return sha;
  };
  const find = async (sha: string): Promise<ObjectHeader | undefined> => {
    const loose = readObject(folder, sha);
    if (loose) return { sha, type: loose.type as ObjectType, size: loose.bytes.length };
    return hasPacks() ? await packs.request(`info ${sha}\n`, parseHeader) : undefined;
  };
  const header = async (sha: string) => {
    if (!isSha(sha)) return undefined;
    const found = headers.get(sha) ?? (await find(sha));
    if (found) headers.set(sha, found);
    return found;
  };
  const readStored = async (sha: string) =>
    readObject(folder, sha)?.bytes ?? (await packs.request(`contents ${sha}\n`, parseContents)).bytes;
  const read = (sha: string) => {
    if (headers.get(sha)?.type !== 'commit') return readStored(sha);
    const bytes = commits.get(sha) ?? readStored(sha);
    commits.set(sha, bytes);
    return bytes;
  };
  return {
    header,
    async resolve(ref) {
      const sha = readRef(folder, ref);
      return sha === undefined ? undefined : await header(sha);
    },
    read,
    readTree(sha) {
      const entries = trees.get(sha) ?? read(sha).then(parseTree);
      trees.set(sha, entries);
      return entries;
    },
    stream: (sha) => Readable.from(chunksOf(read(sha))),
    write: async (type, bytes) => write(type, Buffer.from(bytes)),
    writeTree: async (entries) => write('tree', formatTree(entries)),
    async updateRef(ref, to, from) {
      const isCommit = (await header(to))?.type === 'commit';
      if (!isCommit && ref.startsWith('refs/heads/'))
        throw new Error(`A branch can't point to ${to}: it is no commit.`);
      updateRef(folder, { ref, to, from });
    },
    end: () => packs.end(),
  };
}

async function* chunksOf(reading: Promise<Buffer>): AsyncGenerator<Buffer> {
  const bytes = await reading;
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** `git cat-file`, "BATCH OUTPUT". */
const parseHeader: Parse<ObjectHeader | undefined> = (received) => {
  const line = parseLine(received);
  if (typeof line === 'number') return line;
  const [, sha, type, size] = /^([0-9a-f]{40}) (blob|tree|commit|tag) (\d+)$/.exec(line.reply) ?? [];
  const reply = sha === undefined ? undefined : { sha, type: type as ObjectType, size: Number(size) };
  return { reply, used: line.used };
};

const parseContents: Parse<ObjectHeader & { readonly bytes: Buffer }> = (received) => {
  const parsed = parseHeader(received);
  if (typeof parsed === 'number') return parsed;
  const { reply, used } = parsed;
  if (!reply) throw new Error(`git has no such object: ${received.toString('latin1', 0, used)}`);
  const end = used + reply.size;
  if (received.length <= end) return end + 1;
  // A copy, because the received chunk would otherwise stay in memory as long as these bytes.
  return { reply: { ...reply, bytes: Buffer.from(received.subarray(used, end)) }, used: end + 1 };
};

function parseTree(bytes: Buffer): readonly TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const end = bytes.indexOf(0, space);
    entries.push({
      mode: bytes.toString('latin1', at, space).padStart(6, '0'),
      name: bytes.toString('latin1', space + 1, end),
      sha: bytes.toString('hex', end + 1, end + 21),
    });
    at = end + 21;
  }
  return entries;
}

function formatTree(entries: Iterable<TreeEntry>): Buffer {
  const sorted = [...entries].toSorted((left, right) => (sortKey(left) < sortKey(right) ? -1 : 1));
  return Buffer.concat(
    sorted.flatMap(({ mode, name, sha }) => [
      Buffer.from(`${mode.replace(/^0/, '')} ${name}\0`, 'latin1'),
      Buffer.from(sha, 'hex'),
    ]),
  );
}

/** Git compares the name of a folder as if it ended with a slash: `base_name_compare` in git's read-cache.c. */
function sortKey({ mode, name }: TreeEntry): string {
  return typeOf(mode) === 'tree' ? `${name}/` : name;
}

export function typeOf(mode: string): 'blob' | 'tree' | 'commit' {
  if (mode === '040000') return 'tree';
  return mode === '160000' ? 'commit' : 'blob';
}
