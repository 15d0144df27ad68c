import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concurrently, mapAhead } from '../../src/concurrency/concurrently.ts';

async function* numbers(count: number, taken: number[] = []): AsyncGenerator<number> {
  for (let number = 0; number < count; number++) {
    taken.push(number);
    yield number;
  }
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Creates tasks that run until released, and counts them. */
function createTasks() {
  const waiting: (() => void)[] = [];
  let [running, maxRunning] = [0, 0];
  return {
    async run() {
      maxRunning = Math.max(maxRunning, ++running);
      await new Promise<void>((resolve) => waiting.push(resolve));
      running--;
    },
    releaseOne: () => waiting.shift()?.(),
    maxRunning: () => maxRunning,
    waiting: () => waiting.length,
  };
}

describe('concurrently', () => {
  it('runs all tasks, as many concurrently as the limit allows', async () => {
    const tasks = createTasks();
    let done = 0;
    const all = concurrently(numbers(20), 4, async () => {
      await tasks.run();
      done++;
    });
    while (done < 20) {
      tasks.releaseOne();
      await new Promise(setImmediate);
    }
    await all;
    assert.equal(tasks.maxRunning(), 4);
  });

  it('starts no task after a failure, waits for the running ones and rejects with the error', async () => {
    const taken: number[] = [];
    let finished = 0;
    const task = async (number: number) => {
      if (number === 2) throw new Error('broken');
      await new Promise(setImmediate);
      finished++;
    };
    await assert.rejects(concurrently(numbers(100, taken), 3, task), /broken/);
    assert.ok(taken.length < 10, String(taken.length));
    assert.ok(finished >= 2, 'the running tasks have finished');
  });
});

describe('lookAhead', () => {
  it('yields every item with its result in order, whichever lookup ends first', async () => {
    const lookUp = async (number: number) => {
      for (let tick = 0; tick < (number % 3) * 5; tick++) await new Promise(setImmediate);
      return number * 2;
    };
    for (const limit of [1, 4, 100]) {
      const found = await collect(mapAhead(numbers(10), limit, lookUp));
      assert.deepEqual(
        found,
        Array.from({ length: 10 }, (_, number) => ({ item: number, found: number * 2 })),
      );
    }
  });

  it('runs at maxRunning `limit` lookups concurrently', async () => {
    let [running, maxRunning] = [0, 0];
    const lookUp = async () => {
      maxRunning = Math.max(maxRunning, ++running);
      await new Promise(setImmediate);
      running--;
    };
    await collect(mapAhead(numbers(30), 5, lookUp));
    assert.equal(maxRunning, 5);
  });

  it('throws the error of a lookup in its turn and leaves no unhandled rejection', async () => {
    const lookUp = async (number: number) => {
      if (number >= 3) throw new Error(`broken at ${number}`);
      return number;
    };
    const seen: number[] = [];
    const read = async () => {
      for await (const { item } of mapAhead(numbers(10), 6, lookUp)) seen.push(item);
    };
    await assert.rejects(read(), /broken at 3/);
    assert.deepEqual(seen, [0, 1, 2]);
  });
});
