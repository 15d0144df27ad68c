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

  it('is loaded once, when it is asked for before the preload', async () => {
    let attempts = 0;
    const value = preloaded(1, async () => ++attempts);
    assert.deepEqual(await Promise.all([value(), value()]), [1, 1]);
    assert.equal(await value(), 1);
  });
});
