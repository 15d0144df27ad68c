import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { PollLoop, type PollLoopOptions } from '../../src/concurrency/poll-loop.ts';
import { StoreError } from '../../src/model/error.ts';

const POLL_MS = 60_000;
const STEP_MS = 100;

describe('A poll loop', () => {
  it('runs a turn when it starts, and the next one after the interval', async (t) => {
    const { loop, turns, tick } = createLoop(t);
    assert.equal(turns.length, 0);
    loop.start();
    assert.equal(turns.length, 1);
    await tick(10 * POLL_MS);
    assert.equal(turns.length, 1, 'the first turn is still running');
    await turns[0]?.succeed();
    await tick(POLL_MS * 0.7);
    assert.equal(turns.length, 1);
    await tick(POLL_MS * 0.6);
    assert.equal(turns.length, 2);
    await turns[1]?.succeed();
    await tick(POLL_MS * 1.3);
    assert.equal(turns.length, 3);
  });

  it('runs a turn at once after a wake-up, but not before it is started', async (t) => {
    const { loop, turns, tick } = createLoop(t);
    loop.wake();
    assert.equal(turns.length, 0);
    loop.start();
    await turns[0]?.succeed();
    loop.wake();
    assert.equal(turns.length, 2);
    await turns[1]?.succeed();
    // The interval begins again.
    await tick(POLL_MS * 0.7);
    assert.equal(turns.length, 2);
    await tick(POLL_MS * 0.6);
    assert.equal(turns.length, 3);
  });

  it('runs one more turn after all wake-ups during a turn', async (t) => {
    const { loop, turns } = createLoop(t);
    loop.start();
    for (let index = 0; index < 3; index += 1) loop.wake();
    assert.equal(turns.length, 1);
    await turns[0]?.succeed();
    assert.equal(turns.length, 2);
    await turns[1]?.succeed();
    assert.equal(turns.length, 2);
  });

  it('runs one more turn after a turn that wakes it up', async (t) => {
    let count = 0;
    const { loop, tick } = createLoop(t, {}, async () => {
      count += 1;
      if (count < 3) loop.wake();
    });
    loop.start();
    assert.equal(count, 1);
    await tick(1);
    assert.equal(count, 3);
  });

  it('pauses between two turns, and then follows a wake-up of the turn or the pause', async (t) => {
    const { loop, turns, tick } = createLoop(t, { minPauseMs: 100 });
    loop.start();
    loop.wake();
    await turns[0]?.succeed();
    await tick(99);
    assert.equal(turns.length, 1);
    await tick(1);
    assert.equal(turns.length, 2);
    await turns[1]?.succeed();
    loop.wake();
    assert.equal(turns.length, 2);
    await tick(100);
    assert.equal(turns.length, 3);
    await turns[2]?.succeed();
    await tick(100);
    assert.equal(turns.length, 3, 'no wake-up remains');
    loop.wake();
    assert.equal(turns.length, 4);
    await turns[3]?.succeed();
    await tick(POLL_MS * 1.3);
    assert.equal(turns.length, 5);
  });

  it('logs an error and continues, after a back-off that doubles up to 30 seconds and ends with a success', async (t) => {
    const { loop, turns, tick, logged } = createLoop(t, { pollMs: 50 });
    loop.start();
    const pauses = [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000];
    for (const [index, pause] of pauses.entries()) {
      await turns[index]?.fail(new Error(`failure ${index}`));
      loop.wake();
      await tick(pause - 1);
      assert.equal(turns.length, index + 1, `during the pause of ${pause} ms`);
      await tick(1);
      assert.equal(turns.length, index + 2, `after the pause of ${pause} ms`);
    }
    assert.deepEqual(
      logged,
      pauses.map((_, index) => ['The search failed', `failure ${index}`]),
    );
    await turns.at(-1)?.succeed();
    loop.wake();
    assert.equal(turns.length, pauses.length + 2);
    await turns.at(-1)?.fail(new Error('another failure'));
    await tick(100);
    assert.equal(turns.length, pauses.length + 3, 'the back-off begins again');
  });

  it('also continues when a turn throws before it returns a promise', async (t) => {
    const { loop, tick, logged } = createLoop(t, {}, () => {
      throw new Error('invalid');
    });
    loop.start();
    await tick(1);
    assert.equal(logged.length, 1);
    await tick(POLL_MS * 1.3);
    assert.equal(logged.length, 2);
  });

  it('polls after a back-off that is longer than the interval, and without one that is shorter', async (t) => {
    const { loop, turns, tick } = createLoop(t, { pollMs: 1000 });
    loop.start();
    await turns[0]?.fail(new Error('failure'));
    await tick(700);
    assert.equal(turns.length, 1);
    await tick(600);
    assert.equal(turns.length, 2);
    for (let index = 1; index < 10; index += 1) {
      await turns[index]?.fail(new Error('failure'));
      await tick(30_000);
      assert.equal(turns.length, index + 2);
    }
    await turns.at(-1)?.fail(new Error('failure'));
    await tick(29_999);
    assert.equal(turns.length, 11);
    await tick(1);
    assert.equal(turns.length, 12);
  });

  it('does not log an unavailable database, which is logged where its state changes', async (t) => {
    const { loop, turns, logged, tick } = createLoop(t);
    loop.start();
    await turns[0]?.fail(new StoreError('database-unavailable', 'The database is unavailable.'));
    await tick(POLL_MS * 1.3);
    assert.equal(turns.length, 2);
    await turns[1]?.fail(new StoreError('not-found', 'It does not exist.'));
    assert.deepEqual(logged, [['The search failed', 'It does not exist.']]);
  });

  it('stops: aborts the signal, waits for the running turn, and runs no other', async (t) => {
    const { loop, turns, tick } = createLoop(t);
    loop.start();
    loop.wake();
    let stops = 0;
    const stopped = Promise.all([loop.stop(), loop.stop()].map((stop) => stop.then(() => (stops += 1))));
    await settle();
    assert.equal(turns[0]?.signal.aborted, true);
    assert.equal(stops, 0);
    await turns[0]?.succeed();
    await stopped;
    loop.wake();
    loop.start();
    await tick(10 * POLL_MS);
    assert.equal(turns.length, 1);
  });

  it('stops while it pauses, while it waits, and before it is started', async (t) => {
    const { loop, turns, tick } = createLoop(t, { minPauseMs: 100 });
    loop.start();
    loop.wake();
    await turns[0]?.succeed();
    await loop.stop();
    await tick(10 * POLL_MS);
    assert.equal(turns.length, 1);

    const waiting = createLoop(t);
    waiting.loop.start();
    await waiting.turns[0]?.succeed();
    await waiting.loop.stop();
    await tick(10 * POLL_MS);
    assert.equal(waiting.turns.length, 1);

    const unused = createLoop(t);
    await unused.loop.stop();
    unused.loop.start();
    assert.equal(unused.turns.length, 0);
  });
});

/** A turn in progress. */
interface Turn {
  readonly signal: AbortSignal;
  succeed(): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** Creates a loop with simulated time. Its turns end when the test ends them, unless `turn` is given. */
function createLoop(t: TestContext, options: Partial<PollLoopOptions> = {}, turn?: () => Promise<void>) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns: Turn[] = [];
  const logged: [string, string][] = [];
  const log = {
    error(details: object, message: string) {
      logged.push([message, 'err' in details && details.err instanceof Error ? details.err.message : '']);
    },
  };
  const run = (signal: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    turns.push({
      signal,
      async succeed() {
        resolve();
        await settle();
      },
      async fail(error) {
        reject(error);
        await settle();
      },
    });
    return promise;
  };
  const loop = new PollLoop(turn ?? run, { pollMs: POLL_MS, failureMessage: 'The search failed', log, ...options });
  t.after(async () => {
    const stopped = loop.stop();
    await turns.at(-1)?.succeed();
    await stopped;
  });
  const tick = async (milliseconds: number) => {
    // In steps, because the simulated time of a timer that another one sets is the end of the step.
    for (let remaining = milliseconds; remaining > 0; remaining -= STEP_MS) {
      t.mock.timers.tick(Math.min(remaining, STEP_MS));
      await settle();
    }
  };
  return { loop, turns, logged, tick };
}
