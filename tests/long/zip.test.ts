/*
 * Archives of 6 GiB and of 100,000 files, and many interrupted downloads from each store: tests/zip has the format, and a few
 * interruptions. Only a large archive exceeds 32 bits, and the memory of a process that would keep it.
 */

import assert from 'node:assert/strict';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { startHoldall } from '../../testing/holdall.ts';
import { createManyFiles } from '../../testing/many-files.ts';
import { openTestBucket, openTestRepository } from '../faults/remote-stores.ts';
import { begin } from '../http/client.ts';
import { canMeasurePeakMemory, memoryOf, resetPeakMemory } from '../process/memory.ts';
import type { Need } from '../runner/needs.ts';
import { MIB, testInterruptedDownloads } from '../zip/interrupted.ts';

export const needs: readonly Need[] = ['bucket', 'curl', 'git', 'zip-readers'];

const INTERRUPTIONS = { count: 20, largeBytes: 20 * MIB, smallFiles: 200 };

testInterruptedDownloads('a disk', INTERRUPTIONS);
testInterruptedDownloads('a bucket', { ...INTERRUPTIONS, open: openTestBucket });
testInterruptedDownloads('a repository', {
  ...INTERRUPTIONS,
  largeBytes: 4 * MIB,
  smallFiles: 60,
  // Otherwise, the archives of the other process would lack the last uploads for some seconds.
  open: async (t) => ({ ...(await openTestRepository(t)), GITHUB_TRUST: '0' }),
});

/** Maximum bytes above the idle memory of a process that has sent such an archive before. */
const MAX_GROWTH_BYTES = 64e6;

const skip = !canMeasurePeakMemory() && 'only /proc on Linux has the peak memory of a process';

it('keeps the memory flat while it sends 100,000 small files and a file of 6 GiB', { skip }, async (t) => {
  const { pid, port, root } = await startHoldall(t, { settings: { LOG_LEVEL: 'info', WORKERS: '1' } });
  await mkdir(join(root, 'many'));
  createManyFiles(join(root, 'many'), 100_000);
  await mkdir(join(root, 'large'));
  const file = await open(join(root, 'large/six'), 'w');
  await file.truncate(6 * 1024 * MIB);
  await file.close();
  // The heap of a process grows with its first load, of any kind.
  assert.ok((await download(port, '/-/zip/many/')) > 10 * MIB);
  for (const [path, bytes] of [
    ['/-/zip/many/', 10 * MIB],
    ['/-/zip/large/', 6 * 1024 * MIB],
  ] as const) {
    const idle = await memoryOf(pid, 'VmRSS');
    await resetPeakMemory(pid);
    assert.ok((await download(port, path)) > bytes);
    const peak = await memoryOf(pid, 'VmHWM');
    t.diagnostic(`${path}: ${Math.round((peak - idle) / 1e6)} MB above idle`);
    assert.ok(peak - idle < MAX_GROWTH_BYTES, `${path}: it grew from ${idle} to ${peak} bytes.`);
  }
});

/** Returns the number of bytes of a response. */
async function download(port: number, path: string): Promise<number> {
  const response = await begin(port, path).response;
  assert.equal(response.statusCode, 200);
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  assert.equal(bytes, Number(response.headers['content-length']));
  return bytes;
}
