import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Store } from '../../src/model/store.ts';
import { CommitBackoff } from '../../src/stores/github/commits/commit-backoff.ts';
import { file, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { filesIn, GET_BRANCH, openRepository, PATCH_REF } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

describe('Services that commit to one branch continuously', () => {
  it('all make progress, however busy one of them is', async (t) => {
    const { store, another, repository } = await openRepository(t);
    let isOver = false;
    const busy = write(store, 'busy', () => isOver);
    const others = [another(), another()].map((other, which) => write(other, `other ${which}`, (made) => made === 4));
    const over = Promise.all(others).finally(() => {
      isOver = true;
    });
    const [made, madeByBusy] = await Promise.all([over, busy]);
    assert.deepEqual(made, [4, 4]);
    assert.equal(Object.keys(await filesIn(repository)).length, 1 + 8 + madeByBusy);
  });

  it('pause after a commit for at least its duration, after another client has moved the branch', async (t) => {
    const { store, host, repository } = await openRepository(t);
    const began: number[] = [];
    const ended: number[] = [];
    await store.write(file('a'), upload('1'));
    await repository.commit({ theirs: 'x' });
    host.intercept(({ route }) => {
      if (route === GET_BRANCH) began.push(performance.now());
      if (route === PATCH_REF) ended.push(performance.now());
      return undefined;
    });
    await store.write(file('b'), upload('2'));
    await store.write(file('c'), upload('3'));
    assert.deepEqual([began.length, ended.length], [2, 2]);
    const [first = 0, second = 0] = began;
    const [end = 0] = ended;
    assert.ok(second - end >= end - first, `a pause of ${second - end} ms after a commit of ${end - first} ms`);
  });
});

/** Writes files one after the other until `isEnough`; returns their number. */
async function write(store: Store, name: string, isEnough: (made: number) => boolean): Promise<number> {
  let made = 0;
  while (!isEnough(made)) await store.write(file(`${name}/${made++}`), upload('x'));
  return made;
}

describe('The pause after a commit', () => {
  it('follows only every sixth commit in a row while no other client commits', async (t) => {
    const { commit, isPausing, pass } = openBackoff(t);
    const pauses: boolean[] = [];
    for (let made = 1; made <= 12; made++) {
      commit();
      pauses.push(await isPausing());
      if (pauses.at(-1)) pass(2 * COMMIT_MS);
    }
    const six = [false, false, false, false, false, true];
    assert.deepEqual(pauses, [...six, ...six]);
  });

  it('is absent when the service was idle for the duration of a commit before', async (t) => {
    const { commit, isPausing, pass } = openBackoff(t);
    for (let made = 1; made <= 8; made++) {
      commit();
      assert.equal(await isPausing(), false);
      pass(COMMIT_MS + 1);
    }
  });

  it('follows a push of another client for a few commits, except a push of long ago', async (t) => {
    const { commit, isPausing, pass } = openBackoff(t);
    commit();
    assert.equal(await isPausing(), false);
    const pauses: boolean[] = [];
    for (let made = 1; made <= 8; made++) {
      commit(made === 1 ? 'of others' : undefined);
      pauses.push(await isPausing());
      pass(2 * COMMIT_MS);
    }
    assert.deepEqual(pauses, [true, true, true, true, true, true, false, false]);
    pass(60_000);
    commit('of others');
    assert.equal(await isPausing(), false);
  });

  it('is at least as long as the commit, and grows with the number of lost races, up to four times', async (t) => {
    const { backoff, commit, isPausing, pass } = openBackoff(t);
    const recordConflict = () => backoff.recordConflict(performance.now());
    for (const [losses, times] of [
      [1, 1],
      [3, 3],
      [20, 4],
    ] as const) {
      for (let lost = 0; lost < losses; lost++) recordConflict();
      assert.equal(await isPausing(), false, 'a pause after a conflict is at most as long as the attempt');
      commit();
      pass(times * COMMIT_MS - 1);
      assert.equal(await isPausing(), true);
      pass(times * COMMIT_MS + 1);
      assert.equal(await isPausing(), false);
      // Until the estimate has decayed.
      for (let made = 0; made < 20; made++) {
        commit();
        pass(8 * COMMIT_MS);
      }
    }
  });

  it('is ten seconds at most', async (t) => {
    const { backoff, commit, isPausing, pass } = openBackoff(t);
    backoff.recordConflict(performance.now());
    commit(undefined, 60_000);
    pass(9_999);
    assert.equal(await isPausing(), true);
    pass(1);
    assert.equal(await isPausing(), false);
  });

  it('ends at once when the store is closed', async (t) => {
    const { backoff, commit, isPausing } = openBackoff(t);
    backoff.recordConflict(performance.now());
    commit();
    const next = backoff.wait();
    assert.equal(await isPausing(), true);
    backoff.close();
    await next;
    assert.equal(await isPausing(), false);
  });
});

/** Duration of a commit. */
const COMMIT_MS = 1000;

/** Opens a back-off with a mocked clock. */
function openBackoff(t: TestContext) {
  let now = 1_000_000;
  let head = 'first';
  t.mock.method(performance, 'now', () => now);
  const backoff = new CommitBackoff();
  t.after(() => backoff.close());
  return {
    backoff,
    /** Records a commit, by default on the previous one. */
    commit(base = head, durationMs = COMMIT_MS) {
      const startedAt = now;
      now += durationMs;
      head = `after ${startedAt}`;
      backoff.recordSuccess(base, head, startedAt);
    },
    pass(milliseconds: number) {
      now += milliseconds;
    },
    /** Returns whether the next commit must wait. */
    isPausing: () => Promise.race([backoff.wait().then(() => false), setImmediate(true)]),
  };
}
