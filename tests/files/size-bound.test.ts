import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BoundedItem, ownerOf, SizeBound } from '../../src/files/size-bound.ts';
import { parseFile, parseFolder } from '../../src/model/path.ts';

/** Returns the sizes of the items that remain, the newest first. */
function remaining(maxBytes: number, newestFirst: readonly BoundedItem[]): number[] {
  const bound = new SizeBound(maxBytes);
  do {
    for (const item of newestFirst) bound.note(item);
  } while (bound.decide());
  const kept = newestFirst.filter((item) => bound.verdict(item) !== 'remove');
  const removed = new Set(bound.choose(kept.filter((item) => bound.verdict(item) === 'undecided')));
  return kept.filter((item) => !removed.has(item)).map(({ size }) => size);
}

describe('SizeBound', () => {
  const at = (seconds: number, size: number, owner = 'ann'): BoundedItem => ({
    owner,
    time: new Date(Date.UTC(2026, 0) + seconds * 1000),
    size,
  });

  it('keeps everything that fits exactly', () => {
    assert.deepEqual(remaining(6, [at(500, 1), at(400, 2), at(1, 3)]), [1, 2, 3]);
    assert.deepEqual(remaining(0, []), []);
  });

  it('removes the oldest items until the others fit, across minutes and within one', () => {
    const items = [at(305, 4), at(304, 3), at(200, 2), at(100, 1)];
    const byBound = Array.from({ length: 12 }, (_, maxBytes) => remaining(maxBytes, items).length);
    assert.deepEqual(byBound, [0, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4, 4]);
  });

  it('removes an item that is larger than the bound, and no other item because of it', () => {
    assert.deepEqual(remaining(5, [at(300, 1), at(200, 9), at(100, 1)]), [1, 1]);
    assert.deepEqual(remaining(5, [at(3, 9), at(2, 1), at(1, 1)]), [1, 1]);
  });

  it('removes nothing of an owner with less than an equal share', () => {
    const items = [at(600, 6), at(500, 6), at(400, 6), at(300, 2, 'ben'), at(200, 2, 'ben'), at(100, 5, 'cy')];
    assert.deepEqual(remaining(20, items), [6, 2, 2, 5]);
    assert.deepEqual(remaining(27, items), [6, 6, 6, 2, 2, 5]);
    // Everything of Ann happened in one minute.
    const recent = [at(50, 6), at(40, 6), at(30, 6), at(20, 2, 'ben'), at(10, 2, 'ben'), at(5, 5, 'cy')];
    assert.deepEqual(remaining(20, recent), [6, 2, 2, 5]);
  });

  it('removes an item that is larger than the share of its owner instead of their older items', () => {
    assert.deepEqual(remaining(10, [at(300, 9), at(200, 1), at(100, 1), at(50, 5, 'ben')]), [1, 1, 5]);
  });

  it('gives owners beyond a number of them one share together', () => {
    const owners = Array.from({ length: 2000 }, (_, index) => at(index, 1, String(index)));
    assert.equal(remaining(1000, owners).length <= 1000, true);
  });

  it('names the user as the owner, or the top-level folder', () => {
    assert.equal(ownerOf(parseFile('a/b/c'), 'ann'), ownerOf(parseFile('d'), 'ann'));
    assert.equal(ownerOf(parseFile('a/b/c'), undefined), ownerOf(parseFolder('a/d'), undefined));
    assert.equal(ownerOf(parseFile('a'), undefined), ownerOf(parseFile('b'), undefined));
    assert.notEqual(ownerOf(parseFile('a/b'), undefined), ownerOf(parseFile('a'), undefined));
  });
});
