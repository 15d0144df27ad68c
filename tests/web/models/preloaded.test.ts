import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { preloaded } from '../../../web/src/model/preloaded.ts';

describe('A preloaded value', () => {
  it('is loaded again after failures, also if it is never asked for', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let attempts = 0;
    const value = preloaded(1, async () => {
      attempts++;
      if (attempts < 4) throw new Error('The network is down.');
      resolve();
      return 'code';
    });
    await promise;
    assert.equal(await value(), 'code');
    assert.equal(attempts, 4);
  });

  it('is loaded again within a minute, however long the network is down', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let attempts = 0;
    preloaded(300, async () => {
      attempts++;
      throw new Error('The network is down.');
    });
    for (let minutes = 0; minutes < 60; minutes++) {
      const before = attempts;
      t.mock.timers.tick(60_000);
      await new Promise(setImmediate);
      assert.ok(attempts > before, `minute ${minutes}`);
    }
  });

  it('is loaded once, when it is asked for before the preload', async () => {
    let attempts = 0;
    const value = preloaded(1, async () => ++attempts);
    assert.deepEqual(await Promise.all([value(), value()]), [1, 1]);
    assert.equal(await value(), 1);
  });
});
