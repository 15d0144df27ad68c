import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import type { Store } from '../../src/domain/store.ts';
import { createTurns, type Turns } from '../../src/stores/github/commits/turns.ts';
import { file, upload } from '../contract/bytes.ts';
import { filesIn, GET_BRANCH, openRepository, PATCH_REF } from './github-writing.ts';

describe('Services that commit to one branch without a pause', () => {
  it('get their turns, however busy one of them is', async (t) => {
    const { store, another, repository } = await openRepository(t);
    let isOver = false;
    const busy = write(store, 'busy', () => isOver);
    const others = [another(), another()].map((other, which) => write(other, `other ${which}`, (made) => made === 4));
    const made = await Promise.all(others).finally(() => {
      isOver = true;
    });
    assert.deepEqual(made, [4, 4]);
    const madeByBusy = await busy;
    assert.equal(Object.keys(await filesIn(repository)).length, 1 + 8 + madeByBusy);
  });

  it('leave the branch alone behind a commit for as long as it took, once somebody else was seen', async (t) => {
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
    assert.ok(second - end >= end - first, `a pause of ${second - end} ms behind a commit that took ${end - first} ms`);
  });
});

/** Writes one file behind the other until there are enough; gives how many. */
async function write(store: Store, name: string, isEnough: (made: number) => boolean): Promise<number> {
  let made = 0;
  while (!isEnough(made)) await store.write(file(`${name}/${made++}`), upload('x'));
  return made;
}

describe('The pause behind a commit', () => {
  it('is none while nobody else commits, but one behind every sixth in a row', async () => {
    const turns = createTurns();
    const pauses: boolean[] = [];
    let head = 0;
    for (let commit = 1; commit <= 12; commit++) {
      turns.won(`${head}`, `${++head}`, performance.now() - TOOK);
      pauses.push(await isPausing(turns));
      await turns.next();
    }
    const six = [false, false, false, false, false, true];
    assert.deepEqual(pauses, [...six, ...six]);
  });

  it('is none where the branch was left alone before for as long as a commit takes', async () => {
    const turns = createTurns();
    for (const head of [1, 2, 3, 4, 5, 6, 7, 8]) {
      await delay(3 * TOOK);
      turns.won(`${head - 1}`, `${head}`, performance.now() - TOOK);
      assert.equal(await isPausing(turns), false);
    }
  });

  it('is made where others moved the branch, until they have not for eight commits', async () => {
    const turns = createTurns();
    turns.won('a', '0', performance.now() - TOOK);
    assert.equal(await isPausing(turns), false);
    const pauses: boolean[] = [];
    let [base, head] = ['of others', 1];
    for (let commit = 1; commit <= 10; commit++) {
      turns.won(base, `${head}`, performance.now() - TOOK);
      base = `${head++}`;
      pauses.push(await isPausing(turns));
      await turns.next();
    }
    assert.deepEqual(pauses, [...Array<boolean>(8).fill(true), false, false]);
  });

  it('is made by who lost before, and lost to several a longer one', async () => {
    const turns = createTurns();
    const lose = () => turns.lost(performance.now());
    lose();
    assert.equal(await isPausing(turns), false);
    for (const _ of [2, 3]) lose();
    turns.won('a', 'b', performance.now() - TOOK);
    const before = performance.now();
    await turns.next();
    assert.ok(performance.now() - before >= 2.5 * TOOK);
  });
});

/** Milliseconds that a commit is said to have taken. */
const TOOK = 20;

/** Whether the next commit has to wait. */
async function isPausing(turns: Turns): Promise<boolean> {
  const next = turns.next().then(() => false);
  return Promise.race([next, setImmediate(true)]);
}
