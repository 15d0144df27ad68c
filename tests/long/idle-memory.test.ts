import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { createManyFiles } from '../../testing/many-files.ts';
import { until } from '../../testing/until.ts';
import { ownMemory } from '../process/memory.ts';

test('a process returns the memory of past requests to the system when it is idle', async (t) => {
  const root = await temporaryFolder(t);
  createManyFiles(root, 5_000);
  const { pid, port } = await startHoldall(t, { root, settings: { WORKERS: '1' } });
  const list = async () => {
    const headers = { accept: 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}/?limit=1000`, { headers });
    assert.equal(((await answer.json()) as { entries: unknown[] }).entries.length, 1000);
  };
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 8 }, list));
  const busy = await ownMemory(pid);
  await until('a quarter of it is given back', async () => (await ownMemory(pid)) < busy * 0.75);
  await list();
});
