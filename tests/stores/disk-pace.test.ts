import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFamiliar } from '../../src/stores/disk/familiar.ts';
import { createLanes } from '../../src/stores/disk/lanes.ts';
import { createPace } from '../../src/stores/disk/pace.ts';

/** A pace on a clock that goes only as calls take their time. */
function pace() {
  const clock = { time: 0, waited: 0 };
  const { run, runAll } = createPace({ now: () => clock.time, waited: () => clock.waited });
  const take = (milliseconds: number, { waited = 0 } = {}) => {
    clock.time += milliseconds;
    clock.waited += waited;
    return 'at once' as const;
  };
  const aside = async () => 'aside' as const;
  return {
    clock,
    /** Makes a call that takes so long, and says how it was made. */
    call: async (milliseconds: number, busy?: { waited: number }) => run(() => take(milliseconds, busy), aside),
    callAll: async (durations: readonly number[]) => runAll(durations, (each) => take(each), aside),
  };
}

describe('The pace of calls to a disk', () => {
  it('makes calls at once while they are quick', async () => {
    const { call } = pace();
    for (let count = 0; count < 1000; count++) assert.equal(await call(0.3), 'at once');
  });

  it('loses a five-hundredth of its time to a disk of 200 ms', async () => {
    const { clock, call } = pace();
    let lost = 0;
    while (clock.time < 1_000_000) {
      if ((await call(200)) === 'at once') lost += 200;
      else clock.time += 100;
    }
    assert.ok(lost > 200, 'It was tried again.');
    assert.ok(lost <= clock.time / 500 + 200, `${lost} ms of ${clock.time}`);
  });

  it('rests after many calls that are slow by a little', async () => {
    const { call } = pace();
    const ways = [];
    for (let count = 0; count < 20; count++) ways.push(await call(8));
    assert.equal(ways.indexOf('aside'), 7);
    assert.equal(ways.lastIndexOf('at once'), 6);
  });

  it('forgives a slow call for the quick ones after it', async () => {
    const { call } = pace();
    for (let count = 0; count < 100; count++) {
      assert.equal(await call(40), 'at once');
      for (let quick = 0; quick < 100; quick++) assert.equal(await call(0), 'at once');
    }
  });

  it('goes over from the one way to the other in the midst of many', async () => {
    const { callAll } = pace();
    const ways = await callAll([0.1, 0.1, 200, 0.1, 0.1]);
    assert.deepEqual(ways, ['at once', 'at once', 'at once', 'aside', 'aside']);
  });

  it('counts calls that fail as well', async () => {
    const { clock, call } = pace();
    const { run } = createPace({ now: () => clock.time, waited: () => 0 });
    const fail = () => {
      clock.time += 200;
      throw new Error('EIO');
    };
    assert.throws(() => run(fail, async () => {}), /EIO/);
    assert.equal(
      await run(
        () => 'at once',
        async () => 'aside',
      ),
      'aside',
    );
    assert.equal(await call(0), 'at once');
  });

  it('does not hold against the disk what a busy machine takes', async () => {
    const { clock, call } = pace();
    for (let count = 0; count < 10; count++) {
      assert.equal(await call(200, { waited: 180 }), 'at once');
      for (let quick = 0; quick < 100; quick++) assert.equal(await call(0), 'at once');
      clock.time += 1000;
    }
    assert.equal(await call(200, { waited: 100 }), 'at once');
    assert.equal(await call(0), 'aside');
  });
});

describe('What is familiar', () => {
  it('is what was quick a moment ago, and nothing else', () => {
    const familiar = createFamiliar(() => 0);
    familiar.note('quick', 1);
    familiar.note('slow', 200);
    assert.ok(familiar.has('quick'));
    assert.ok(!familiar.has('slow'));
    assert.ok(!familiar.has('other'));
  });

  it('stays so as long as it is used, and is forgotten then', () => {
    let time = 0;
    const familiar = createFamiliar(() => time);
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

  it('is bounded', () => {
    const familiar = createFamiliar(() => 0);
    familiar.note('first', 1);
    for (let count = 0; count < 50_000; count++) {
      familiar.has('');
      familiar.note(`${count}`, 1);
    }
    assert.ok(!familiar.has('first'));
    assert.ok(familiar.has('49999'));
  });
});

describe('Lanes', () => {
  it('let so many calls go on at once, and the others in their order, whatever becomes of those before', async () => {
    const inLane = createLanes(2);
    const calls = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
    const begun: number[] = [];
    const all = calls.map(({ promise }, index) =>
      inLane(() => {
        begun.push(index);
        return promise;
      }),
    );
    assert.deepEqual(begun, [0, 1]);
    calls[1]?.reject(new Error('EIO'));
    await assert.rejects(async () => all[1], /EIO/);
    assert.deepEqual(begun, [0, 1, 2]);
    calls[0]?.resolve();
    await all[0];
    assert.deepEqual(begun, [0, 1, 2, 3]);
    for (const { resolve } of calls) resolve();
    await Promise.allSettled(all);
  });
});
