import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FixedWindows, type WindowCounters } from '../../src/http/limits/counters.ts';
import { createLeaseStore, type RateLimitResult } from '../../src/http/limits/request-rate.ts';

/** Counters that several processes share, each call of which takes a turn of the event loop. */
function sharedCounters() {
  const windows = new FixedWindows();
  let calls = 0;
  const counters: WindowCounters = {
    async consume(id, request) {
      calls++;
      await new Promise(setImmediate);
      return windows.consume(id, request);
    },
    refund: async (id) => void windows.refund(id),
    peek: (id) => windows.peek(id),
  };
  return { counters, calls: () => calls };
}

function processOf(counters: WindowCounters) {
  const store = new (createLeaseStore(counters))();
  return (client: string, max: number): Promise<RateLimitResult> =>
    new Promise((resolve, reject) => {
      store.incr(client, (error, result) => (result ? resolve(result) : reject(error)), 60_000, max);
    });
}

describe('Leases of a rate limit', () => {
  for (const max of [2, 398, 6000]) {
    it(`accept exactly ${max} of twice as many concurrent requests to four processes`, async () => {
      const { counters } = sharedCounters();
      const processes = Array.from({ length: 4 }, () => processOf(counters));
      const results = await Promise.all(
        Array.from({ length: max / 2 }).flatMap(() => processes.map((count) => count('client', max))),
      );
      assert.equal(results.filter(({ current }) => current <= max).length, max);
      for (const { current, ttl } of results) assert.ok(current <= max || (ttl > 0 && ttl <= 60_000), String(ttl));
    });
  }

  it('need one round trip for many requests, and none for rejected ones', async () => {
    const { counters, calls } = sharedCounters();
    const count = processOf(counters);
    for (let request = 0; request < 6000; request++) assert.ok((await count('client', 6000)).current <= 6000);
    assert.equal(calls(), 200);
    for (let request = 0; request < 100; request++) assert.ok((await count('client', 6000)).current > 6000);
    assert.equal(calls(), 201);
  });

  it('start again after the window, separately for each client', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    const { counters } = sharedCounters();
    const count = processOf(counters);
    const isAllowed = async (client: string) => (await count(client, 1)).current <= 1;
    assert.deepEqual([await isAllowed('a'), await isAllowed('a'), await isAllowed('b')], [true, false, true]);
    t.mock.timers.setTime(60_000);
    assert.deepEqual([await isAllowed('a'), await isAllowed('a')], [true, false]);
  });
});
