/*
 * 4,000 refused forms: a leak of some bytes for each of them shows only in the memory of a process that has received many.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHoldall } from '../../testing/holdall.ts';
import { formOf, postBytes } from '../http/client.ts';
import { anonymousMemory } from '../process/memory.ts';

/** Requests after which the memory of the service no longer grows. */
const WARM_UP = 2400;

/** Requests that would each use 0.1 MB if a part of them stayed in memory. */
const MANY = 1600;

test('rejected forms leave nothing in memory', async (t) => {
  const { pid, port } = await startHoldall(t, { settings: { WORKERS: '1' } });
  const parts = Array.from({ length: 101 }, (_, index) => ({ name: `field ${index}`, value: '' }));
  const form = formOf([{ name: 'file', filename: 'refused', value: Buffer.alloc(65_537, 'x') }, ...parts]);
  const sendForms = async (count: number) => {
    for (let request = 0; request < count; request += 20) {
      const responses = await Promise.all(Array.from({ length: 20 }, () => postBytes(port, form)));
      for (const { status } of responses) assert.equal(status, 400);
    }
    return anonymousMemory(pid);
  };
  // Without requests, V8 collects no garbage, so that the memory is compared while it is in use.
  const warm = await sendForms(WARM_UP);
  const growth = (await sendForms(MANY)) - warm;
  assert.ok(growth < (MANY * 100_000) / 2, `The memory grew by ${growth} bytes.`);
});
