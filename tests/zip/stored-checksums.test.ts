import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { Checksums } from '../../src/zip/checksums.ts';
import { StoredChecksums } from '../../src/zip/stored-checksums.ts';

const MIB = 2 ** 20;
const version = (path: string, size: number, etag = 'e') => ({ path, etag, size });

describe('Checksums of files', () => {
  let folder = '';
  let database: Database;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdall-checksums-'));
    database = new Database(await openEngine({ url: undefined, stateFolder: folder }));
    await database.start();
  });
  after(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  const open = () => new Checksums(new StoredChecksums(database));

  it('of large files are found by other processes, with the longest beginning that was read', async () => {
    const first = open();
    const file = version('large', 100 * MIB);
    first.note(file, { position: 32 * MIB, crc: 1 });
    first.note(file, { position: 64 * MIB, crc: 0xffffffff });
    await first.flush();
    const second = open();
    assert.deepEqual(await second.findStart(file, 50 * MIB), { position: 32 * MIB, crc: 1 });
    assert.deepEqual(await second.findStart(file, 64 * MIB), { position: 64 * MIB, crc: 0xffffffff });
    assert.deepEqual(await second.findStart(file, 1), { position: 0, crc: 0 });
    assert.deepEqual(await second.findAll([file]), [undefined]);
    first.note(file, { position: file.size, crc: 3 });
    await first.flush();
    assert.deepEqual(await open().findStart(file, 1), { position: file.size, crc: 3 });
    for (const other of [version('large', 100 * MIB, 'f'), version('other', 100 * MIB), version('large', 101 * MIB)]) {
      assert.deepEqual(await open().findStart(other, 100 * MIB), { position: 0, crc: 0 });
    }
  });

  it('of small files are stored only on request', async () => {
    const first = open();
    const files = Array.from({ length: 1200 }, (_, index) => ({ ...version(`small/${index}`, 10), crc: index }));
    for (const { crc, ...file } of files) first.note(file, { position: 10, crc });
    await first.flush();
    assert.deepEqual(
      await first.findAll(files),
      files.map(({ crc }) => crc),
    );
    assert.deepEqual(new Set(await open().findAll(files)), new Set([undefined]));
    await first.store(files);
    assert.deepEqual(
      await open().findAll(files),
      files.map(({ crc }) => crc),
    );
  });

  it('are kept within a fixed amount of memory, the latest ones', () => {
    const checksums = new Checksums();
    const count = 280_000;
    for (let index = 0; index < count; index++) checksums.note(version(String(index), 1), { position: 1, crc: index });
    const known = (index: number) => checksums.recall(version(String(index), 1)) === index;
    // One of a hundred, because each question takes as long as a note.
    const isKnown = Array.from({ length: count / 100 }, (_, index) => known(100 * index + 99));
    assert.ok(isKnown.slice(-200).filter(Boolean).length > 198);
    // At most 2,621 of them, by the size of the table.
    assert.ok(isKnown.filter(Boolean).length < 2700);
  });

  it('are forgotten without the database, and nothing fails', async () => {
    const closed = new Database(await openEngine({ url: undefined, stateFolder: join(folder, 'closed') }));
    const checksums = new Checksums(new StoredChecksums(closed));
    const file = version('large', 100 * MIB);
    checksums.note(file, { position: 1, crc: 1 });
    await checksums.flush();
    assert.deepEqual(await checksums.findAll([file]), [undefined]);
    assert.deepEqual(await checksums.findStart(file, 10), { position: 1, crc: 1 });
    await closed.close();
  });
});
