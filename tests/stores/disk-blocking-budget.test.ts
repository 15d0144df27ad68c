import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBlockingBudget, createLikelyCached } from '../../src/stores/disk/blocking-budget.ts';
import { createLimiter } from '../../src/stores/disk/syscalls.ts';

/** A blocking budget on a fake clock that advances only during calls. */
function createBudget() {
  const clock = { time: 0, waited: 0 };
  const { run, runAll } = createBlockingBudget({ now: () => clock.time, waited: () => clock.waited });
  const runSync = (milliseconds: number, { waited = 0 } = {}) => {
    clock.time += milliseconds;
    clock.waited += waited;
    return 'sync' as const;
  };
  const threadpool = async () => 'threadpool' as const;
  return {
    clock,
    /** Makes a call of this duration and returns how it ran. */
    call: async (milliseconds: number, busy?: { waited: number }) => run(() => runSync(milliseconds, busy), threadpool),
    callAll: async (durations: readonly number[]) => runAll(durations, (each) => runSync(each), threadpool),
  };
}

describe('The blocking budget of a disk', () => {
  it('runs fast calls synchronously', async () => {
    const { call } = createBudget();
    for (let count = 0; count < 1000; count++) assert.equal(await call(0.3), 'sync');
  });

  it('blocks for at most 1/500 of the time on a disk with a latency of 200 ms', async () => {
    const { clock, call } = createBudget();
    let blocked = 0;
    while (clock.time < 1_000_000) {
      if ((await call(200)) === 'sync') blocked += 200;
      else clock.time += 100;
    }
    assert.ok(blocked > 200, 'A synchronous call was tried again.');
    assert.ok(blocked <= clock.time / 500 + 200, `${blocked} ms of ${clock.time}`);
  });

  it('switches to the thread pool after seven calls of 8 ms', async () => {
    const { call } = createBudget();
    const modes = [];
    for (let count = 0; count < 20; count++) modes.push(await call(8));
    assert.equal(modes.indexOf('threadpool'), 7);
    assert.equal(modes.lastIndexOf('sync'), 6);
  });

  it('stays synchronous when each slow call is followed by fast ones', async () => {
    const { call } = createBudget();
    for (let count = 0; count < 100; count++) {
      assert.equal(await call(40), 'sync');
      for (let quick = 0; quick < 100; quick++) assert.equal(await call(0), 'sync');
    }
  });

  it('switches to the thread pool within a batch', async () => {
    const { callAll } = createBudget();
    const modes = await callAll([0.1, 0.1, 200, 0.1, 0.1]);
    assert.deepEqual(modes, ['sync', 'sync', 'sync', 'threadpool', 'threadpool']);
  });

  it('counts failed calls', async () => {
    const { clock, call } = createBudget();
    const { run } = createBlockingBudget({ now: () => clock.time, waited: () => 0 });
    const fail = () => {
      clock.time += 200;
      throw new Error('EIO');
    };
    assert.throws(() => run(fail, async () => {}), /EIO/);
    assert.equal(
      await run(
        () => 'sync',
        async () => 'threadpool',
      ),
      'threadpool',
    );
    assert.equal(await call(0), 'sync');
  });

  it('ignores the time that a call waited for a CPU', async () => {
    const { clock, call } = createBudget();
    for (let count = 0; count < 10; count++) {
      assert.equal(await call(200, { waited: 180 }), 'sync');
      for (let quick = 0; quick < 100; quick++) assert.equal(await call(0), 'sync');
      clock.time += 1000;
    }
    assert.equal(await call(200, { waited: 100 }), 'sync');
    assert.equal(await call(0), 'threadpool');
  });
});

describe('A likely-cached path', () => {
  it('is one whose last call was fast', () => {
    const familiar = createLikelyCached(() => 0);
    familiar.note('quick', 1);
    familiar.note('slow', 200);
    assert.ok(familiar.has('quick'));
    assert.ok(!familiar.has('slow'));
    assert.ok(!familiar.has('other'));
  });

  it('expires when it is not used', () => {
    let time = 0;
    const familiar = createLikelyCached(() => time);
    familiar.note('used', 1);
    familiar.note('unused', 1);
    for (let count = 0; count < 10; count++) {
      time += 10_000;
      assert.ok(familiar.has('used'));
    }
    assert.ok(!familiar.has('unused'));
    time += 1_000_000;
    assert.ok(!familiar.has('used'));
  });

  it('is evicted when 50,000 others are noted', () => {
    const familiar = createLikelyCached(() => 0);
    familiar.note('first', 1);
    for (let count = 0; count < 50_000; count++) {
      familiar.has('');
      familiar.note(`${count}`, 1);
    }
    assert.ok(!familiar.has('first'));
    assert.ok(familiar.has('49999'));
  });
});

describe('createLanes', () => {
  it('runs at most two calls concurrently and starts the others in order, even after a failure', async () => {
    const runLimited = createLimiter(2);
    const calls = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
    const started: number[] = [];
    const all = calls.map(({ promise }, index) =>
      runLimited(() => {
        started.push(index);
        return promise;
      }),
    );
    assert.deepEqual(started, [0, 1]);
    calls[1]?.reject(new Error('EIO'));
    await assert.rejects(async () => all[1], /EIO/);
    assert.deepEqual(started, [0, 1, 2]);
    calls[0]?.resolve();
    await all[0];
    assert.deepEqual(started, [0, 1, 2, 3]);
    for (const { resolve } of calls) resolve();
    await Promise.allSettled(all);
  });
});
