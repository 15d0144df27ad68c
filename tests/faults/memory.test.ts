import assert from 'node:assert/strict';
import { createReadStream, statfsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { assertSuccess, send, upload } from '../http/client.ts';
import { untilNoDebris } from '../process/debris.ts';
import { startHoldall } from '../process/holdall.ts';
import { forgetPeak, MEMORY_BOUND, memoryOf, tellsPeaks } from '../process/memory.ts';
import { ORDERS, openDownload, openUpload, signedPath } from '../process/transfers.ts';
import { assertPattern, block, MIB } from './pattern.ts';

const GIB = 1024 * MIB;

/** Bytes of the file: more than what a signed number of 32 bits can count, in whole blocks. */
const SIZE = 2 * GIB + 2 * MIB;

it('2 GiB pass through the service, whole, and its memory stays flat', { skip: whyNot() }, async (t) => {
  const { pid, port, root } = await startHoldall(t, { settings: { LOG_LEVEL: 'info' } });
  await upload(port, 'small', Buffer.alloc(MIB));
  await send(port, '/file/small');
  const idle = await memoryOf(pid, 'VmRSS');
  const assertFlat = async () => {
    const peak = await memoryOf(pid, 'VmHWM');
    assert.ok(peak - idle < MEMORY_BOUND, `It grew from ${idle} to ${peak} bytes.`);
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
  if (!tellsPeaks()) return 'the peak of the memory of a process is told by /proc, which is of Linux';
  const { bavail, bsize } = statfsSync(tmpdir());
  const free = Math.floor((bavail * bsize) / GIB);
  return free < 6 && `6 GiB are needed in ${tmpdir()}, and ${free} GiB are free`;
}
