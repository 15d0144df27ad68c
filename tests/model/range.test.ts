import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ByteRange, resolveRange } from '../../src/model/range.ts';

describe('resolveRange', () => {
  it('limits a range to the bytes of the file', () => {
    const cases: readonly (readonly [range: ByteRange, size: number, start: number, end: number])[] = [
      [{ start: 0 }, 1, 0, 0],
      [{ start: 0 }, 10, 0, 9],
      [{ start: 9 }, 10, 9, 9],
      [{ start: 0, end: 0 }, 10, 0, 0],
      [{ start: 3, end: 5 }, 10, 3, 5],
      [{ start: 3, end: 9 }, 10, 3, 9],
      [{ start: 3, end: 10 }, 10, 3, 9],
      [{ start: 0, end: Number.MAX_SAFE_INTEGER }, 10, 0, 9],
      [{ suffix: 1 }, 10, 9, 9],
      [{ suffix: 10 }, 10, 0, 9],
      [{ suffix: 11 }, 10, 0, 9],
      [{ suffix: Number.MAX_SAFE_INTEGER }, 10, 0, 9],
    ];
    for (const [range, size, start, end] of cases) {
      assert.deepEqual(resolveRange(range, size), { start, end }, JSON.stringify(range));
    }
  });

  it('throws range-unsatisfiable if the range contains no byte of the file', () => {
    const cases: readonly (readonly [range: ByteRange, size: number])[] = [
      [{ start: 10 }, 10],
      [{ start: 10, end: 20 }, 10],
      [{ start: 11 }, 10],
      [{ start: Number.MAX_SAFE_INTEGER }, 10],
      [{ suffix: 0 }, 10],
      [{ start: 0 }, 0],
      [{ start: 0, end: 0 }, 0],
      [{ suffix: 1 }, 0],
    ];
    for (const [range, size] of cases) {
      const error = { kind: 'range-unsatisfiable', message: new RegExp(`has ${size} bytes`) };
      assert.throws(() => resolveRange(range, size), error, JSON.stringify(range));
    }
  });
});
