import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { startInProcess } from '../../testing/service.ts';
import { assertSuccess, BOUNDARY } from '../http/client.ts';
import { contentsOf, untilNoTemporaryFiles } from '../process/temporary-files.ts';
import { ORDERS, openDownload, openUpload } from '../process/transfers.ts';

const KIB = 1024;

/** Sizes around the lengths of chunks, and of many chunks. */
const SIZES = [
  64 * KIB - 1,
  64 * KIB,
  64 * KIB + 1,
  128 * KIB,
  256 * KIB + 1,
  1024 * KIB,
  3000 * KIB + 7,
  5 * 1024 * KIB,
];

it('returns the correct bytes for each concurrent download despite slow and aborted ones', async (t) => {
  const { port, root } = await startInProcess(t);
  const files = SIZES.map((size, number) => ({ name: `file ${number}`, bytes: randomBytes(size) }));
  for (const { name, bytes } of files) await writeFile(join(root, name), bytes);

  const download = async ({ name, bytes }: (typeof files)[number], way: 'quick' | 'slow' | 'broken' | 'in part') => {
    const start = way === 'in part' ? Math.floor(bytes.length / 3) : 0;
    const headers: Record<string, string> = way === 'in part' ? { range: `bytes=${start}-` } : {};
    const response = await openDownload(port, `/file/${encodeURIComponent(name)}`, headers);
    let position = start;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const expected = bytes.subarray(position, position + chunk.length);
      assert.ok(chunk.equals(expected), `The bytes of ${name} at ${position} differ (${way}).`);
      position += chunk.length;
      if (way === 'broken' && position > bytes.length / 2) return response.destroy();
      if (way === 'slow') for (let turn = 0; turn < 10; turn++) await setImmediate();
    }
    return assert.equal(position, bytes.length);
  };

  const ways = ['slow', 'broken', 'quick', 'in part', 'quick'] as const;
  await Promise.all(files.flatMap((file) => ways.map((way) => download(file, way))));
});

it('stores the correct bytes for each concurrent upload despite slow and aborted ones', async (t) => {
  const { port, root } = await startInProcess(t);
  await mkdir(join(root, 'in'));

  const upload = async (name: string, bytes: Buffer, order: (typeof ORDERS)[number], chunkSize: number) => {
    const sending = await openUpload(port, `in/${name}`, order);
    for (let start = 0; start < bytes.length; start += chunkSize) {
      await sending.send(bytes.subarray(start, start + chunkSize));
    }
    assertSuccess(await sending.finish(), { message: 'File uploaded successfully', path: `in/${name}` });
    assert.ok((await readFile(join(root, 'in', name))).equals(bytes), `${name} holds its bytes.`);
  };
  const abortUpload = async (name: string, bytes: Buffer) => {
    const sending = await openUpload(port, `in/${name}`);
    await sending.send(bytes.subarray(0, bytes.length / 2));
    sending.disconnect();
  };

  const names = SIZES.flatMap((_, number) => ORDERS.map((order) => `${number} ${order}`));
  const uploads = SIZES.flatMap((size, number) => [
    ...ORDERS.map((order) =>
      upload(`${number} ${order}`, withPartialBoundaries(size), order, 1 + size / (1 + number * 9)),
    ),
    abortUpload(`broken ${number}`, withPartialBoundaries(size)),
  ]);
  await Promise.all(uploads);
  await untilNoTemporaryFiles(root);
  assert.deepEqual(await contentsOf(root), ['in/', ...names.map((name) => `in/${name}`)].toSorted());
});

/** Returns random bytes that often contain the beginning of the boundary, but never all of it. */
function withPartialBoundaries(size: number): Buffer {
  const bytes = randomBytes(size);
  const boundary = Buffer.from(`\r\n--${BOUNDARY}`);
  for (let at = 0, length = 1; at < size; at += 997, length = (length % (boundary.length - 1)) + 1) {
    boundary.copy(bytes, at, 0, length);
    bytes.fill(0, at + length, at + length + 1);
  }
  return bytes;
}
