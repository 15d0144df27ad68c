import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SizeBound } from '../../src/files/size-bound.ts';

interface Item {
  readonly time: Date;
  readonly size: number;
}

/** Returns the sizes of the items that remain, the newest first. */
function remaining(maxBytes: number, newestFirst: readonly Item[]): number[] {
  const bound = new SizeBound(maxBytes);
  for (const { time, size } of newestFirst) bound.note(time, size);
  bound.decide();
  const kept = newestFirst.filter(({ time }) => bound.verdict(time) !== 'remove');
  const removed = new Set(bound.choose(kept.filter(({ time }) => bound.verdict(time) === 'undecided')));
  return kept.filter((item) => !removed.has(item)).map(({ size }) => size);
}

describe('SizeBound', () => {
  const at = (seconds: number, size: number): Item => ({ time: new Date(Date.UTC(2026, 0) + seconds * 1000), size });

  it('keeps everything that fits exactly', () => {
    assert.deepEqual(remaining(6, [at(500, 1), at(400, 2), at(1, 3)]), [1, 2, 3]);
    assert.deepEqual(remaining(0, []), []);
  });

  it('removes the oldest items until the others fit, across minutes and within one', () => {
    const items = [at(305, 4), at(304, 3), at(200, 2), at(100, 1)];
    const byBound = Array.from({ length: 12 }, (_, maxBytes) => remaining(maxBytes, items).length);
    assert.deepEqual(byBound, [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 4]);
  });

  it('removes all items that are older than one that does not fit, even if they would fit', () => {
    assert.deepEqual(remaining(5, [at(300, 1), at(200, 9), at(100, 1)]), [1]);
    assert.deepEqual(remaining(5, [at(3, 1), at(2, 9), at(1, 1)]), [1]);
  });
});
