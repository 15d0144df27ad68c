import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { parseFile } from '../../src/domain/path.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';

/** What the memory of pieces becomes when they are released. */
describe('A file on disk', () => {
  const BYTES = randomBytes(5_000_000);
  const FILE = parseFile('file');
  let root: string;
  let disk: Disk;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    disk = await openDisk({ root, warn: () => {} });
    await writeFile(join(root, FILE), BYTES);
  });
  after(async () => {
    await disk.store.close?.();
    await rm(root, { recursive: true, force: true });
  });

  // Of a file that was read a moment ago, the bytes are read in another way.
  for (const time of ['first', 'second']) {
    it(`is read into few buffers where each is released, and they are freed at its end (${time} time)`, async () => {
      const { body, release } = await disk.store.read(FILE);
      const copies: Buffer[] = [];
      const buffers = new Set<ArrayBufferLike>();
      for await (const piece of body as AsyncIterable<Buffer>) {
        copies.push(Buffer.from(piece));
        buffers.add(piece.buffer);
        release?.(piece);
      }
      assert.ok(Buffer.concat(copies).equals(BYTES));
      assert.ok(copies.length >= 20 && buffers.size <= 3, `${copies.length} pieces in ${buffers.size} buffers`);
      for (const { byteLength } of buffers) assert.equal(byteLength, 0);
    });
  }

  it('frees what is released when its reader has left', async () => {
    const { body, release } = await disk.store.read(FILE);
    const [piece] = await body.take(1).toArray();
    body.destroy();
    release?.(piece);
    assert.equal(piece.length, 0);
  });

  it('is made of an upload of which every piece is released', async () => {
    const pieces = Array.from({ length: 50 }, (_, index) => BYTES.subarray(index * 100_000, (index + 1) * 100_000));
    const released: Buffer[] = [];
    const release = (piece: Buffer) => void released.push(piece);
    await disk.store.write(FILE, { body: Readable.from(pieces), release, type: 'x/y' });
    const staged = await disk.store.stage?.({ body: Readable.from(pieces), release });
    await staged?.discard();
    // The last ones are written together, when no more come.
    assert.ok(released.length >= 2 * (pieces.length - 20), `${released.length} of twice ${pieces.length}`);
  });
});
