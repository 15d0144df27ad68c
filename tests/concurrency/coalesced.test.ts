import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { coalesced } from '../../src/concurrency/coalesced.ts';

describe('Coalesced calls', () => {
  it('share one run that begins after each of them, and never run in parallel', async () => {
    const runs: PromiseWithResolvers<number>[] = [];
    const read = coalesced(() => {
      const run = Promise.withResolvers<number>();
      runs.push(run);
      return run.promise;
    });
    const first = read();
    const [second, third] = [read(), read()];
    assert.equal(runs.length, 1);
    runs[0]?.resolve(1);
    assert.equal(await first, 1);
    const later = read();
    assert.equal(runs.length, 2);
    runs[1]?.resolve(2);
    assert.deepEqual(await Promise.all([second, third]), [2, 2]);
    runs[2]?.resolve(3);
    assert.equal(await later, 3);
    const alone = read();
    runs[3]?.resolve(4);
    assert.equal(await alone, 4);
  });

  it('run again after a failure', async () => {
    const runs: PromiseWithResolvers<number>[] = [];
    const read = coalesced(() => {
      const run = Promise.withResolvers<number>();
      runs.push(run);
      return run.promise;
    });
    const failing = read();
    const next = read();
    runs[0]?.reject(new Error('gone'));
    await assert.rejects(failing, /gone/);
    runs[1]?.resolve(2);
    assert.equal(await next, 2);
  });
});
