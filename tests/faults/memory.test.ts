import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createReadStream, existsSync, statfsSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { it } from 'node:test';
import { assertSuccess, send, upload } from '../http/client.ts';
import { untilNoDebris } from '../process/debris.ts';
import { startHoldall } from '../process/holdall.ts';
import { ORDERS, openDownload, openUpload, signedPath } from '../process/transfers.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** Bytes of the file: more than what a signed number of 32 bits can count, in whole blocks. */
const SIZE = 2 * GIB + 2 * MIB;

/** Bytes by which the service may grow above what it needs when it has nothing to do. */
const BOUND = 120_000_000;

it('2 GiB pass through the service, whole, and its memory stays flat', { skip: whyNot() }, async (t) => {
  const { pid, port, root } = await startHoldall(t, { settings: { LOG_LEVEL: 'info' } });
  await upload(port, 'small', Buffer.alloc(MIB));
  await send(port, '/file/small');
  const idle = await memoryOf(pid, 'VmRSS');
  const assertFlat = async () => {
    const peak = await memoryOf(pid, 'VmHWM');
    assert.ok(peak - idle < BOUND, `It grew from ${idle} to ${peak} bytes.`);
  };

  for (const order of ORDERS) {
    await t.test(`as an upload (${order})`, async () => {
      await rm(join(root, 'large'), { force: true });
      await forgetPeak(pid);
      const opened = await openUpload(port, 'large', order);
      for (let index = 0; index < SIZE / MIB; index++) await opened.send(block(index));
      assertSuccess(await opened.finish(), { message: 'File uploaded successfully', path: 'large' });
      await assertFlat();
      assert.equal((await stat(join(root, 'large'))).size, SIZE);
      await assertPattern(createReadStream(join(root, 'large'), { highWaterMark: MIB }), 0, SIZE);
      await untilNoDebris(root);
    });
  }

  await t.test('as a range of a download', async () => {
    await forgetPeak(pid);
    const [start, end] = [12_345, 12_345 + 2 * GIB - 1];
    const range = { range: `bytes=${start}-${end}` };
    const download = await openDownload(port, await signedPath(port, 'large'), range);
    assert.equal(download.statusCode, 206);
    assert.equal(download.headers['content-range'], `bytes ${start}-${end}/${SIZE}`);
    assert.equal(download.headers['content-length'], String(2 * GIB));
    await assertPattern(download, start, 2 * GIB);
    await assertFlat();
  });
});

function whyNot(): string | false {
  if (!existsSync('/proc/self/clear_refs'))
    return 'the peak of the memory of a process is told by /proc, which is of Linux';
  const { bavail, bsize } = statfsSync(tmpdir());
  const free = Math.floor((bavail * bsize) / GIB);
  return free < 6 && `6 GiB are needed in ${tmpdir()}, and ${free} GiB are free`;
}

/** Bytes: those in memory now (`VmRSS`), or the most that there were since the peak was forgotten (`VmHWM`). */
async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  assert.ok(kibibytes, status);
  return Number(kibibytes) * 1024;
}

/** Sets `VmHWM` back to `VmRSS` (proc(5), "clear_refs"). */
const forgetPeak = (pid: number) => writeFile(`/proc/${pid}/clear_refs`, '5');

const BLOCK = randomBytes(MIB);

/** The bytes of one block of the file: no two blocks are the same. It is overwritten by the next call. */
function block(index: number): Buffer {
  BLOCK.writeUInt32BE(index);
  return BLOCK;
}

/** Expects exactly `length` bytes of the file, from `start` on. */
async function assertPattern(bytes: Readable, start: number, length: number): Promise<void> {
  let position = start;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    for (let done = 0; done < chunk.length; ) {
      const within = position % MIB;
      const part = chunk.subarray(done, done + MIB - within);
      const expected = block(Math.floor(position / MIB)).subarray(within, within + part.length);
      assert.ok(part.equals(expected), `The bytes at ${position} are others.`);
      done += part.length;
      position += part.length;
    }
  }
  assert.equal(position - start, length);
}
