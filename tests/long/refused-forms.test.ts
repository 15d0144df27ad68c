import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { formOf, postBytes } from '../http/client.ts';
import { anonymousMemory } from '../process/memory.ts';

/** Requests that would each use 0.1 MB if a part of them stayed in memory. */
const MANY = 1000;

test('rejected forms leave nothing in memory', async (t) => {
  const { pid, port } = await startHoldall(t, { settings: { WORKERS: '1' } });
  const parts = Array.from({ length: 101 }, (_, index) => ({ name: `field ${index}`, value: '' }));
  const form = formOf([{ name: 'file', filename: 'refused', value: Buffer.alloc(65_537, 'x') }, ...parts]);
  for (let request = 0; request < MANY; request += 20) {
    const responses = await Promise.all(Array.from({ length: 20 }, () => postBytes(port, form)));
    for (const { status } of responses) assert.equal(status, 400);
  }
  const busy = await anonymousMemory(pid);
  await until('half of the used memory is released', async () => (await anonymousMemory(pid)) < busy / 2);
});
