import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { parseFile } from '../../src/model/path.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { recyclerOf, setRecycler } from '../../src/streams/chunk-recycling.ts';
import { silentLog } from '../contract/bytes.ts';

/** Reuse of chunk buffers that the caller recycles. */
describe('A file on disk', () => {
  const BYTES = randomBytes(5_000_000);
  const FILE = parseFile('file');
  let root: string;
  let disk: Disk;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    disk = await openDisk({ root, log: silentLog });
    await writeFile(join(root, FILE), BYTES);
  });
  after(async () => {
    await disk.store.close?.();
    await rm(root, { recursive: true, force: true });
  });

  // The second read takes the path for files that are likely in the page cache.
  for (const attempt of ['first', 'second']) {
    it(`is read into at most three buffers when each chunk is recycled, and frees them (${attempt} read)`, async () => {
      const { body } = await disk.store.read(FILE);
      const copies: Buffer[] = [];
      const buffers = new Set<ArrayBufferLike>();
      for await (const chunk of body as AsyncIterable<Buffer>) {
        copies.push(Buffer.from(chunk));
        buffers.add(chunk.buffer);
        recyclerOf(body)?.(chunk);
      }
      assert.ok(Buffer.concat(copies).equals(BYTES));
      assert.ok(copies.length >= 20 && buffers.size <= 3, `${copies.length} chunks in ${buffers.size} buffers`);
      for (const { byteLength } of buffers) assert.equal(byteLength, 0);
    });
  }

  it('frees a chunk that is recycled after the body was destroyed', async () => {
    const { body } = await disk.store.read(FILE);
    const [chunk] = await body.take(1).toArray();
    body.destroy();
    recyclerOf(body)?.(chunk);
    assert.equal(chunk.length, 0);
  });

  it('recycles the chunks of an upload and of a staged upload that is aborted', async () => {
    const chunks = Array.from({ length: 50 }, (_, index) => BYTES.subarray(index * 100_000, (index + 1) * 100_000));
    const recycled: Buffer[] = [];
    const recyclable = () => {
      const body = Readable.from(chunks);
      setRecycler(body, (chunk) => void recycled.push(chunk));
      return body;
    };
    await disk.store.write(FILE, { body: recyclable(), type: 'x/y' });
    const staged = await disk.store.stage?.({ body: recyclable() });
    await staged?.abort();
    // The last chunks are written together at the end.
    assert.ok(recycled.length >= 2 * (chunks.length - 20), `${recycled.length} of ${2 * chunks.length}`);
  });
});
