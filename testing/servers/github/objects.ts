import { unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type Conversation, converse, type Parse, parseLine, type Surroundings, streamGit } from './conversation.ts';

type ObjectType = 'blob' | 'tree' | 'commit' | 'tag';

export interface ObjectHeader {
  readonly sha: string;
  readonly type: ObjectType;
  /** Bytes. */
  readonly size: number;
}

export interface TreeEntry {
  /** Six digits, as GitHub writes them: `040000`. */
  readonly mode: string;
  /** A byte each character: git's names need not be UTF-8. */
  readonly name: string;
  readonly sha: string;
}

/** Git's objects and refs, by processes of git that go on, since to start one takes longer than most of the work. */
export interface ObjectStore {
  /** Undefined where there is none. */
  header(sha: string): Promise<ObjectHeader | undefined>;
  /** What a ref, by its full name, points at; read anew each time. */
  resolve(ref: string): Promise<ObjectHeader | undefined>;
  read(sha: string): Promise<Buffer>;
  readTree(sha: string): Promise<readonly TreeEntry[]>;
  /** The bytes of a blob of any size. */
  stream(sha: string): Readable;
  write(type: 'blob' | 'commit', bytes: Buffer | string): Promise<string>;
  writeTree(entries: Iterable<TreeEntry>): Promise<string>;
  /** Rejects when the ref is no longer at `from`, which is undefined for one that is to be made. */
  updateRef(ref: string, to: string, from: string | undefined): Promise<void>;
  end(): Promise<void>;
}

/** The folder beside git's own in which bytes wait for git. */
export const INCOMING = 'incoming';

const SHA = /^[0-9a-f]{40}$/;

export function isSha(text: string): boolean {
  return SHA.test(text);
}

export function openObjects(surroundings: Surroundings): ObjectStore {
  const reader = converse(surroundings, 'cat-file', '--batch-command');
  // It would not see what was pushed since it started; what is missing is found at the end, by `git fsck`.
  const treeWriter = converse(surroundings, 'mktree', '-z', '--batch', '--missing');
  const refWriter = converse(surroundings, 'update-ref', '--stdin', '-z');
  const writers = {
    blob: converse(surroundings, 'hash-object', '-t', 'blob', '-w', '--stdin-paths', '--no-filters'),
    commit: converse(surroundings, 'hash-object', '-t', 'commit', '-w', '--stdin-paths', '--no-filters'),
  };
  // An object never becomes another one.
  const headers = new Map<string, Promise<ObjectHeader | undefined>>();
  const trees = new Map<string, Promise<readonly TreeEntry[]>>();
  const write = writeThrough(join(surroundings.folder, INCOMING), writers);
  // An update that fails ends the process, and would take those behind it along.
  let lastUpdate: Promise<unknown> = Promise.resolve();

  const read = async (sha: string) => (await reader.ask(`contents ${sha}\n`, parseContents)).bytes;
  return {
    async header(sha) {
      if (!isSha(sha)) return undefined;
      const asked = headers.get(sha) ?? reader.ask(`info ${sha}\n`, parseHeader);
      headers.set(sha, asked);
      const header = await asked;
      if (!header) headers.delete(sha);
      return header;
    },
    resolve: (ref) => reader.ask(`info ${ref}\n`, parseHeader),
    read,
    readTree(sha) {
      const entries = trees.get(sha) ?? read(sha).then(parseTree);
      trees.set(sha, entries);
      return entries;
    },
    stream: (sha) => streamGit(surroundings, ['cat-file', 'blob', sha]),
    write,
    writeTree: (entries) => treeWriter.ask(formatTree(entries), parseSha),
    updateRef(ref, to, from = '0'.repeat(40)) {
      const update = lastUpdate.then(() =>
        refWriter.ask(`start\0update ${ref}\0${to}\0${from}\0commit\0`, parseCommitted),
      );
      lastUpdate = update.catch(() => {});
      return update;
    },
    async end() {
      await Promise.all([reader, treeWriter, refWriter, writers.blob, writers.commit].map((one) => one.end()));
    },
  };
}

/** `hash-object` goes on only where it is given files. */
function writeThrough(
  folder: string,
  writers: Readonly<Record<'blob' | 'commit', Conversation>>,
): ObjectStore['write'] {
  let count = 0;
  return async (type, bytes) => {
    count += 1;
    const file = join(folder, String(count));
    writeFileSync(file, bytes);
    const sha = await writers[type].ask(`${file}\n`, parseSha);
    unlinkSync(file);
    return sha;
  };
}

const parseSha: Parse<string> = (received) => {
  const line = parseLine(received);
  if (typeof line !== 'number' && !isSha(line.reply)) throw new Error(`git answers: ${line.reply}`);
  return line;
};

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
  // A copy, since these bytes stay for long and what was received with them need not.
  return { reply: { ...reply, bytes: Buffer.from(received.subarray(used, end)) }, used: end + 1 };
};

const parseCommitted: Parse<void> = (received) => {
  const end = received.indexOf('commit: ok\n');
  return end < 0 ? received.length + 1 : { reply: undefined, used: end + 'commit: ok\n'.length };
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
  const records = [...entries].map(({ mode, name, sha }) => `${mode} ${typeOf(mode)} ${sha}\t${name}\0`);
  return Buffer.from(`${records.join('')}\0`, 'latin1');
}

export function typeOf(mode: string): 'blob' | 'tree' | 'commit' {
  if (mode === '040000') return 'tree';
  return mode === '160000' ? 'commit' : 'blob';
}
