import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concurrently, lookAhead } from '../../src/domain/concurrently.ts';

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

/** A task that stays under way until it is let go, and how many are. */
function createTasks() {
  const waiting: (() => void)[] = [];
  let [running, most] = [0, 0];
  return {
    async run() {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => waiting.push(resolve));
      running--;
    },
    releaseOne: () => waiting.shift()?.(),
    most: () => most,
    waiting: () => waiting.length,
  };
}

describe('concurrently', () => {
  it('runs as many tasks at once as it may, and all of them', async () => {
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
    assert.equal(tasks.most(), 4);
  });

  it('takes nothing more in after a failure, waits for what runs, and throws the failure', async () => {
    const taken: number[] = [];
    let finished = 0;
    const task = async (number: number) => {
      if (number === 2) throw new Error('broken');
      await new Promise(setImmediate);
      finished++;
    };
    await assert.rejects(concurrently(numbers(100, taken), 3, task), /broken/);
    assert.ok(taken.length < 10, String(taken.length));
    assert.ok(finished >= 2, 'what was running has ended');
  });
});

describe('lookAhead', () => {
  it('gives every item with what was found of it, in order, whichever look ends first', async () => {
    const look = async (number: number) => {
      for (let tick = 0; tick < (number % 3) * 5; tick++) await new Promise(setImmediate);
      return number * 2;
    };
    for (const limit of [1, 4, 100]) {
      const found = await collect(lookAhead(numbers(10), limit, look));
      assert.deepEqual(
        found,
        Array.from({ length: 10 }, (_, number) => ({ item: number, found: number * 2 })),
      );
    }
  });

  it('looks at no more than so many ahead', async () => {
    let [running, most] = [0, 0];
    const look = async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
    };
    await collect(lookAhead(numbers(30), 5, look));
    assert.equal(most, 5);
  });

  it('throws what a look throws when its turn comes, and leaves no failure unheard behind it', async () => {
    const look = async (number: number) => {
      if (number >= 3) throw new Error(`broken at ${number}`);
      return number;
    };
    const seen: number[] = [];
    const read = async () => {
      for await (const { item } of lookAhead(numbers(10), 6, look)) seen.push(item);
    };
    await assert.rejects(read(), /broken at 3/);
    assert.deepEqual(seen, [0, 1, 2]);
  });
});
