import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { createFiles, type Files } from '../../src/files/files.ts';
import { isStoreError } from '../../src/model/error.ts';
import { type FilePath, type FolderPath, parseFile, parseFolder, ROOT } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { type Archive, MAX_ENTRIES } from '../../src/zip/archive.ts';
import { archiveStream } from '../../src/zip/archive-stream.ts';
import { type ChecksumStore, Checksums, type StoredChecksum } from '../../src/zip/checksums.ts';
import { archiveName, buildArchive, type ZipFiles } from '../../src/zip/walk.ts';
import { tries } from '../seeds.ts';
import { parseArchive } from './parse-archive.ts';

type Tree = Readonly<Record<string, string | Buffer | null>>;

/** Returns files with this tree: contents of files, null for folders. */
async function filesOf(tree: Tree): Promise<{ readonly files: Files; readonly store: Store }> {
  const store = createMemoryStore();
  for (const [path, content] of Object.entries(tree)) {
    if (content === null) await store.createFolder(parseFolder(path));
    else await write(store, path, content);
  }
  return { files: createFiles(store, { presignExpires: 60 }), store };
}

async function write(store: Store, path: string, content: string | Buffer): Promise<void> {
  await store.write(parseFile(path), {
    body: Readable.from([Buffer.from(content)]),
    type: 'text/plain',
    modified: () => new Date('2026-11-25T09:30:07.500Z'),
  });
}

const pathOf = (path: string): FilePath | FolderPath =>
  path === '' || path.endsWith('/') ? parseFolder(path) : parseFile(path);

const build = (files: ZipFiles, ...paths: string[]) => buildArchive(files, paths.map(pathOf));

interface Reading {
  readonly files: ZipFiles;
  readonly checksums?: Checksums;
  readonly range?: { readonly start: number; readonly end: number };
  readonly signal?: AbortSignal;
}

function read(archive: Archive, { files, checksums = new Checksums(), range, signal }: Reading): Promise<Buffer> {
  const options = { files, checksums, range, signal: signal ?? new AbortController().signal };
  return buffer(archiveStream(archive, options));
}

/** Returns the files with every read counted, and given to `onRead`. */
function counted(files: Files, onRead: (path: string) => void = () => {}) {
  const reads: string[] = [];
  const counting: ZipFiles = {
    list: (...args) => files.list(...args),
    stat: (...args) => files.stat(...args),
    read: async (path, options) => {
      reads.push(options?.range ? `${path} ${JSON.stringify(options.range)}` : path);
      onRead(path);
      return files.read(path, options);
    },
  };
  return { files: counting, reads };
}

/** Returns what an archive contains: the text of each file, null for each folder. */
const contentsOf = (archive: Buffer): Record<string, string | null> =>
  Object.fromEntries(
    parseArchive(archive).map(({ name, content }) => [name, name.endsWith('/') ? null : content.toString()]),
  );

describe('An archive', () => {
  it('contains a folder under its name, with everything in it and with empty folders', async () => {
    const { files } = await filesOf({
      'photos/2024/a.txt': 'A',
      'photos/2024/b/c/d.txt': 'D',
      'photos/2024/empty/': null,
      'photos/2024/zero': '',
      'photos/other.txt': 'no',
    });
    const archive = await build(files, 'photos/2024/');
    const bytes = await read(archive, { files });
    assert.equal(bytes.length, archive.size);
    assert.deepEqual(contentsOf(bytes), {
      '2024/a.txt': 'A',
      '2024/zero': '',
      '2024/empty/': null,
      '2024/b/c/d.txt': 'D',
    });
    const [file] = parseArchive(bytes);
    assert.equal(file?.mode, 0o100644);
    assert.equal(file?.modified, Date.UTC(2026, 10, 25, 9, 30, 7) / 1000);
  });

  it('contains the root without a folder around it, and can be empty', async () => {
    const { files } = await filesOf({ 'a.txt': 'A', 'b/c.txt': 'C' });
    assert.deepEqual(contentsOf(await read(await build(files, ''), { files })), { 'a.txt': 'A', 'b/c.txt': 'C' });
    const empty = await filesOf({});
    const archive = await build(empty.files, '');
    assert.equal(archive.size, 22);
    assert.deepEqual(contentsOf(await read(archive, empty)), {});
    const folder = await filesOf({ 'a/': null });
    assert.deepEqual(contentsOf(await read(await build(folder.files, 'a/'), folder)), { 'a/': null });
  });

  it('contains a selection relative to its common folder, each file once', async () => {
    const { files } = await filesOf({ 'a/b/1': '1', 'a/b/2': '2', 'a/c/3': '3', 'a/c/d/4': '4', x: 'x' });
    const namesOf = async (...paths: string[]) =>
      Object.keys(contentsOf(await read(await build(files, ...paths), { files })));
    assert.deepEqual(await namesOf('a/b/1'), ['1']);
    assert.deepEqual(await namesOf('a/b/1', 'a/b/2'), ['1', '2']);
    assert.deepEqual(await namesOf('a/b/1', 'a/c/'), ['b/1', 'c/3', 'c/d/4']);
    assert.deepEqual(await namesOf('a/c/', 'a/c/3', 'a/c/d/', 'a/c/'), ['c/3', 'c/d/4']);
    assert.deepEqual(await namesOf('x', 'a/c/d/'), ['x', 'a/c/d/4']);
    assert.deepEqual(await namesOf('', 'x'), ['x', 'a/b/1', 'a/b/2', 'a/c/3', 'a/c/d/4']);
    assert.equal((await build(files, 'x', 'a/b/1')).etag, (await build(files, 'a/b/1', 'x')).etag);
    for (const [paths, name] of [
      [[''], 'files.zip'],
      [['a/c/'], 'c.zip'],
      [['a/b/1'], '1.zip'],
      [['a/b/1', 'a/b/2'], 'b.zip'],
      [['a/b/1', 'x'], 'files.zip'],
      [['a/c/', 'a/c/3'], 'c.zip'],
    ] as const)
      assert.equal(archiveName(paths.map(pathOf)), name);
  });

  it('omits from a selection what its folders contain, whatever sorts between them', async () => {
    const { files } = await filesOf({ 'a/b/1': '', 'a/b/c/2': '', 'a/b.x': '', 'a/b-': '', 'A/b/3': '', a0: '' });
    const archive = await build(files, 'a/b/c/2', 'a0', 'a/b-', 'A/b/', 'a/b/', 'a/b.x', 'a/b/1', 'a/b/c/');
    const entries = parseArchive(await read(archive, { files }));
    const names = entries.map(({ name }) => name);
    assert.deepEqual(names.toSorted(), ['A/b/3', 'a (2)/b-', 'a (2)/b.x', 'a (2)/b/1', 'a (2)/b/c/2', 'a0'].toSorted());
  });

  it('has names that are safe to extract, also of folders', async () => {
    const { files } = await filesOf({
      'f/con/a?.txt': '1',
      'f/con/a*.txt': '2',
      'f/A/x': '3',
      'f/a/x': '4',
      'f/..\\..\\evil': '5',
      'f/C:/x': '6',
      'f/dot./x': '7',
    });
    assert.deepEqual(contentsOf(await read(await build(files, 'f/'), { files })), {
      'f/.._.._evil': '5',
      'f/A/x': '3',
      'f/C_/x': '6',
      'f/a (2)/x': '4',
      'f/_con/a_.txt': '2',
      'f/_con/a_ (2).txt': '1',
      'f/dot_/x': '7',
    });
  });

  it('has an ETag of everything that determines its bytes', async () => {
    const tree = { 'a/b.txt': 'B', 'a/c/': null };
    const { files, store } = await filesOf(tree);
    const { etag } = await build(files, 'a/');
    assert.equal((await build(files, 'a/')).etag, etag);
    const etags = new Set([etag]);
    await write(store, 'a/b.txt', 'C');
    etags.add((await build(files, 'a/')).etag);
    await store.remove(parseFile('a/b.txt'));
    etags.add((await build(files, 'a/')).etag);
    await store.removeFolder(parseFolder('a/c/'));
    etags.add((await build(files, 'a/')).etag);
    assert.equal(etags.size, 4);
  });

  it('is the same in each range, whatever process reads it', async (t) => {
    const { files } = await filesOf(RANGE_TREE);
    const archive = await build(files, 'f/');
    const whole = await read(archive, { files });
    parseArchive(whole);
    const position = fc.integer({ min: 0, max: archive.size - 1 });
    await fc.assert(
      fc.asyncProperty(position, position, async (left, right) => {
        const range = { start: Math.min(left, right), end: Math.max(left, right) };
        // A new process remembers nothing: neither checksums nor the layout.
        const part = await read(await build(files, 'f/'), { files, range });
        assert.ok(part.equals(whole.subarray(range.start, range.end + 1)), JSON.stringify(range));
      }),
      tries(t, 40),
    );
    // Each border of a record, from both sides.
    const borders = Array.from({ length: archive.length }, (_, index) => archive.entry(index)).flatMap(
      ({ offset, dataStart, dataEnd, end }) => [offset, dataStart, dataEnd, end],
    );
    for (const border of [...borders, archive.directory.offset + archive.directory.size, archive.size]) {
      for (const range of [
        { start: Math.max(0, border - 1), end: Math.min(border, archive.size - 1) },
        { start: Math.min(border, archive.size - 1), end: Math.min(border + 40, archive.size - 1) },
      ]) {
        const part = await read(await build(files, 'f/'), { files, range });
        assert.ok(part.equals(whole.subarray(range.start, range.end + 1)), JSON.stringify(range));
      }
    }
  });

  it('is resumed without reading what was sent before', async () => {
    const base = await filesOf(RANGE_TREE);
    const checksums = new Checksums();
    const { files, reads } = counted(base.files);
    const archive = await build(files, 'f/');
    const whole = await read(archive, { files, checksums });
    const large = indexOf(archive, 'f/large');
    const start = archive.entry(large).dataStart + 100_000;
    reads.length = 0;
    const rest = await read(await build(files, 'f/'), { files, checksums, range: { start, end: archive.size - 1 } });
    assert.ok(rest.equals(whole.subarray(start)));
    assert.deepEqual(
      reads.filter((path) => path.startsWith('f/large')),
      [`f/large ${JSON.stringify({ start: 100_000, end: LARGE_BYTES - 1 })}`],
    );
    assert.ok(!reads.some((path) => path === 'f/a'), 'earlier files are not read');
    assert.ok(reads.length > 1, 'later files are read');
  });

  it('reads earlier files again if no process remembers their checksums, and uses those that another one stored', async () => {
    const base = await filesOf(RANGE_TREE);
    const { files, reads } = counted(base.files);
    const archive = await build(files, 'f/');
    const whole = await read(archive, { files });
    const range = { start: archive.directory.offset, end: archive.size - 1 };
    reads.length = 0;
    const resumed = await read(await build(files, 'f/'), { files, range });
    assert.ok(resumed.equals(whole.subarray(range.start)));
    assert.equal(new Set(reads).size, Object.keys(RANGE_TREE).length - 1, 'all except the empty file');

    const store = new TestChecksums();
    // The client leaves after the last file.
    const beforeEnd = { start: 0, end: archive.directory.offset };
    await read(archive, { files, checksums: new Checksums(store), range: beforeEnd });
    await store.flush();
    reads.length = 0;
    const other = await read(await build(files, 'f/'), { files, checksums: new Checksums(store), range });
    assert.ok(other.equals(whole.subarray(range.start)));
    assert.deepEqual(reads, []);
  });

  it('takes the checksum of a large file from another process instead of computing it again', async () => {
    const { files } = await filesOf({ 'large.bin': Buffer.alloc(4 * 2 ** 20, 1) });
    const archive = await build(files, '');
    const other = new TestChecksums();
    await read(archive, { files, checksums: new Checksums(other) });
    // Only a checksum that differs shows that none was computed.
    const wrong = new TestChecksums();
    for (const checksum of other.stored()) wrong.add({ ...checksum, crc: 0x1234_5678 });
    const bytes = await read(await build(files, ''), { files, checksums: new Checksums(wrong) });
    const signatureBytes = 4;
    assert.equal(bytes.readUInt32LE(archive.entry(0).dataEnd + signatureBytes), 0x1234_5678);
  });

  it('ends with an error if a file changes or disappears', async () => {
    for (const path of ['f/a', 'f/large', 'f/medium']) {
      for (const change of ['replaced', 'removed'] as const) {
        const { files, store } = await filesOf(RANGE_TREE);
        const archive = await build(files, 'f/');
        if (change === 'removed') await store.remove(parseFile(path));
        else await write(store, path, Buffer.alloc((await store.stat(parseFile(path))).size, 1));
        await assert.rejects(read(archive, { files }), (error) =>
          isStoreError(error, change === 'removed' ? 'not-found' : 'condition-failed'),
        );
      }
    }
  });

  it('ends with an error if a file changes while it is read', async () => {
    const base = await filesOf(RANGE_TREE);
    const files: ZipFiles = {
      ...base.files,
      list: base.files.list,
      read: async (path, options) => {
        const content = await base.files.read(path, options);
        // Like a program that writes to an open file: the reader receives the bytes of both versions.
        if (path === 'f/large') await write(base.store, path, Buffer.alloc(LARGE_BYTES, 2));
        return content;
      },
    };
    await assert.rejects(read(await build(files, 'f/'), { files }), { code: 'file-changed' });
  });

  it('continues from where the store failed', async () => {
    const base = await filesOf(RANGE_TREE);
    const whole = await read(await build(base.files, 'f/'), base);
    let failures = 2;
    const files: ZipFiles = {
      ...base.files,
      read: async (path, options) => {
        const content = await base.files.read(path, options);
        if (path !== 'f/large' || failures-- <= 0) return content;
        const bytes = await buffer(content.body);
        const half = bytes.subarray(0, bytes.length / 2);
        const { StoreError } = await import('../../src/model/error.ts');
        const body = Readable.from(
          (async function* () {
            yield half;
            throw new StoreError('store-unreachable', 'The connection was lost.');
          })(),
        );
        return { file: content.file, ...(content.range && { range: content.range }), body };
      },
    };
    const resumed = await read(await build(files, 'f/'), { files });
    assert.ok(resumed.equals(whole));
    assert.equal(failures, -1);
  });

  it('stops reading when the client leaves', async () => {
    const base = await filesOf(
      Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f/${index}`, 'x'.repeat(9000)])),
    );
    const controller = new AbortController();
    const { files, reads } = counted(base.files);
    const archive = await build(files, 'f/');
    const stream = archiveStream(archive, { files, checksums: new Checksums(), signal: controller.signal });
    for await (const _ of stream) break;
    assert.ok(stream.destroyed);
    // What fills the buffers is still read: 1 MiB, and 16 files in advance.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(reads.length < 250, `${reads.length} files were read`);
  });

  it('refuses more files than it can hold, and a budget of memory that is exhausted', async () => {
    const modified = new Date(0);
    const files: ZipFiles = {
      list: async (folder, { cursor = '0' } = {}) => ({
        entries: Array.from({ length: 1000 }, (_, index) => ({
          kind: 'file' as const,
          path: parseFile(`${folder}${cursor}-${index}`),
          size: 1,
          etag: 'e',
          modified,
          type: 'text/plain',
        })),
        cursor: String(Number(cursor) + 1),
      }),
      stat: () => assert.fail(),
      read: () => assert.fail(),
    };
    await assert.rejects(buildArchive(files, [ROOT]), { code: 'zip-too-large' });
    let reserved = 0;
    const reserve = (bytes: number) => {
      reserved += bytes;
      if (reserved > 2 ** 20) throw new Error('full');
    };
    await assert.rejects(buildArchive(files, [ROOT], { reserve }), /full/);
    assert.ok(reserved < 2 ** 21);
    assert.equal(MAX_ENTRIES, 200_000);
  });

  it('refuses a selection that names too many folders, before it lists them', async () => {
    const { files } = await filesOf({});
    const listed: string[] = [];
    const listing: ZipFiles = {
      ...files,
      list: async (folder) => {
        listed.push(folder);
        return { entries: [] };
      },
    };
    const deep = Array.from({ length: 400 }, (_, index) => `${index}/${'x/'.repeat(505)}`);
    await assert.rejects(build(listing, ...deep), { code: 'zip-too-large' });
    assert.deepEqual(listed, []);
  });

  it('omits folders that are deleted during the walk, but not the requested one', async () => {
    const { files } = await filesOf({ 'f/a/x': 'x', 'f/b/y': 'y' });
    const walked: ZipFiles = {
      ...files,
      list: async (folder, options) => {
        const listing = await files.list(folder, options);
        if (folder === 'f/') await files.deleteFolder(parseFolder('f/a/'), { permanent: true });
        return listing;
      },
    };
    assert.deepEqual(contentsOf(await read(await build(walked, 'f/'), { files })), { 'f/b/y': 'y' });
    for (const path of ['nope/', 'nope', 'f', 'f/b/y/']) {
      await assert.rejects(build(files, path), (error) => isStoreError(error, 'not-found'));
    }
  });
});

const LARGE_BYTES = 700_000;
const MEDIUM_BYTES = 60_000;

/** Files of each size class: empty, combined, in one buffer, streamed. */
const RANGE_TREE: Tree = {
  'f/a': 'first',
  'f/b/zero': '',
  'f/b/ü': 'x'.repeat(40_000),
  'f/large': pattern(LARGE_BYTES),
  'f/medium': pattern(MEDIUM_BYTES),
  'f/z': 'last',
};

function pattern(bytes: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: bytes }, (_, index) => (index * 7 + (index >> 8)) & 255));
}

function indexOf(archive: Archive, path: string): number {
  for (let index = 0; index < archive.length; index++) if (archive.source(index).path === path) return index;
  assert.fail(path);
}

/** Checksums in memory, as several processes share them. */
class TestChecksums implements ChecksumStore {
  readonly #stored = new Map<string, StoredChecksum>();

  add(checksum: StoredChecksum): void {
    this.#stored.set(`${checksum.key} ${checksum.position}`, checksum);
  }

  stored(): readonly StoredChecksum[] {
    return [...this.#stored.values()];
  }

  async find(keys: readonly string[]): Promise<readonly StoredChecksum[]> {
    return [...this.#stored.values()].filter(({ key }) => keys.includes(key));
  }

  async flush(): Promise<void> {
    // `Checksums.store` adds after the stream has closed.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
