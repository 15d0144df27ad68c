import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { it } from 'node:test';
import { assertSuccess, send, upload } from '../http/client.ts';
import { startHoldall } from '../process/holdall.ts';
import { forgetPeak, MEMORY_BOUND, memoryOf, tellsPeaks } from '../process/memory.ts';
import { ORDERS, openUpload } from '../process/transfers.ts';
import { hostRepository } from '../servers/hosted-repository.ts';
import { settingsOfRepository } from '../servers/settings.ts';
import { assertPattern, block, MIB } from './pattern.ts';

/** Near the largest that a repository takes, and no whole number of what base64 is made of. */
const SIZE = 90 * MIB + 12_345;

const skip = !tellsPeaks() && 'the peak of the memory of a process is told by /proc, which is of Linux';

it('a file of 90 MiB goes into a repository whole, and the memory of the service stays flat', { skip }, async (t) => {
  const hosted = await hostRepository({ files: { 'README.md': 'text' } });
  t.after(() => hosted.remove());
  const { pid, port } = await startHoldall(t, { settings: settingsOfRepository(hosted) });
  await upload(port, 'small', Buffer.alloc(9 * MIB));
  await send(port, '/');
  const idle = await memoryOf(pid, 'VmRSS');

  for (const order of ORDERS) {
    await t.test(order, async () => {
      await forgetPeak(pid);
      const opened = await openUpload(port, `f/${order}`, order);
      for (let sent = 0; sent < SIZE; sent += MIB) {
        await opened.send(block(sent / MIB).subarray(0, SIZE - sent));
      }
      assertSuccess(await opened.finish(), { message: 'File uploaded successfully', path: `f/${order}` });
      const peak = await memoryOf(pid, 'VmHWM');
      assert.ok(peak - idle < MEMORY_BOUND, `It grew from ${idle} to ${peak} bytes.`);
      const { headers } = await send(port, `/file/f/${encodeURIComponent(order)}`);
      const stored = await new Promise<IncomingMessage>((resolve, reject) => {
        get(headers.location ?? '', resolve).once('error', reject);
      });
      await assertPattern(stored, 0, SIZE);
    });
  }
});
