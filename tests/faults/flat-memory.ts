import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { assertSuccess, send, upload } from '../http/client.ts';
import { startHoldall } from '../process/holdall.ts';
import { forgetPeak, MEMORY_BOUND, memoryOf, tellsPeaks } from '../process/memory.ts';
import { ORDERS, openUpload } from '../process/transfers.ts';
import { assertPattern, block, MIB } from './pattern.ts';

/** Why flat memory can't be seen on this machine, if so. */
export const skipWithoutPeaks =
  !tellsPeaks() && 'the peak of the memory of a process is told by /proc, which is of Linux';

/**
 * Uploads a file of `size` bytes to a service with these settings, in both orders of the form, and expects that its
 * memory stays flat, and that all bytes are there, where it redirects to.
 */
export async function assertFlatUploads(
  t: TestContext,
  settings: Readonly<Record<string, string>>,
  size: number,
): Promise<void> {
  const { pid, port } = await startHoldall(t, { settings });
  await upload(port, 'small', Buffer.alloc(9 * MIB));
  await send(port, '/');
  const idle = await memoryOf(pid, 'VmRSS');

  for (const order of ORDERS) {
    await t.test(order, async () => {
      await forgetPeak(pid);
      const opened = await openUpload(port, `f/${order}`, order);
      for (let sent = 0; sent < size; sent += MIB) {
        await opened.send(block(sent / MIB).subarray(0, size - sent));
      }
      assertSuccess(await opened.finish(), { message: 'File uploaded successfully', path: `f/${order}` });
      const peak = await memoryOf(pid, 'VmHWM');
      assert.ok(peak - idle < MEMORY_BOUND, `It grew from ${idle} to ${peak} bytes.`);
      const { headers } = await send(port, `/file/f/${encodeURIComponent(order)}`);
      const stored = await new Promise<IncomingMessage>((resolve, reject) => {
        get(headers.location ?? '', resolve).once('error', reject);
      });
      await assertPattern(stored, 0, size);
    });
  }
}
