import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKeyedMutex } from '../../src/concurrency/keyed-mutex.ts';

describe('createKeyedMutex', () => {
  it('runs the tasks of one key one after the other, also after a failure, and those of other keys at once', async () => {
    const mutex = createKeyedMutex();
    const events: string[] = [];
    const gates = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() };
    const first = mutex.run('a', async () => {
      events.push('first starts');
      await gates.first.promise;
      events.push('first ends');
      throw new Error('first failed');
    });
    const second = mutex.run('a', async () => {
      events.push('second starts');
      await gates.second.promise;
      return 'second';
    });
    const third = mutex.run('a', async () => void events.push('third starts'));
    await mutex.run('b', async () => void events.push('other key'));
    gates.first.resolve();
    await assert.rejects(first, /first failed/);
    gates.second.resolve();
    assert.equal(await second, 'second');
    await third;
    assert.deepEqual(events, ['first starts', 'other key', 'first ends', 'second starts', 'third starts']);
  });
});
