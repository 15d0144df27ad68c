import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createFairSemaphore } from '../../src/concurrency/fair-semaphore.ts';

const create = () =>
  createFairSemaphore({
    limit: 2,
    limitPerClient: 1,
    maxWaiting: 6,
    maxWaitingPerClient: 4,
    busyMessage: 'Too many checks',
  });

describe('A fair semaphore', () => {
  it('lets clients take turns, and gives no client all slots', async () => {
    const semaphore = create();
    const started: string[] = [];
    const releases: (() => void)[] = [];
    const acquire = async (client: string, name: string) => {
      releases.push(await semaphore.acquire(client));
      started.push(name);
    };
    const all = [
      ...['a1', 'a2', 'a3'].map((name) => acquire('a', name)),
      ...['b1', 'b2'].map((name) => acquire('b', name)),
      acquire('c', 'c1'),
    ];
    await nextTurn();
    assert.deepEqual(started, ['a1', 'b1']);
    for (let released = 0; released < all.length; released++) {
      releases[released]?.();
      await nextTurn();
    }
    await Promise.all(all);
    assert.deepEqual(started, ['a1', 'b1', 'a2', 'b2', 'c1', 'a3']);
  });

  it('refuses a client with too many waiting tasks, and not others', async () => {
    const semaphore = create();
    const release = await semaphore.acquire('a');
    const waiting = Array.from({ length: 4 }, () => semaphore.acquire('a'));
    await assert.rejects(semaphore.acquire('a'), { code: 'overloaded' });
    (await semaphore.acquire('b'))();
    release();
    for (const each of waiting) (await each)();
    (await semaphore.acquire('a'))();
  });

  it('forgets a task that is cancelled', async () => {
    const semaphore = create();
    const release = await semaphore.acquire('a');
    const cancelled = new AbortController();
    const waiting = semaphore.acquire('a', cancelled.signal);
    cancelled.abort(new Error('gone'));
    await assert.rejects(waiting, /gone/);
    release();
    (await semaphore.acquire('a'))();
  });
});
