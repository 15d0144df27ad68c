import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planParts } from '../../src/stores/s3/multipart.ts';

const MIB = 2 ** 20;

describe('planParts', () => {
  const TIB = 2 ** 40;
  for (const size of [0, 1, 8 * MIB, 78 * 1024 * MIB, 10_000 * 8 * MIB + 1, 10_000 * 16 * MIB, TIB, TIB + 1, 5 * TIB]) {
    it(`plans at most 10,000 parts and 32 MiB in flight, or one part at a time, for ${size} bytes`, () => {
      const { partSize, maxConcurrent } = planParts(size, 8 * MIB);
      assert.ok(Math.ceil(size / partSize) <= 10_000);
      assert.ok(partSize >= 5 * MIB && partSize <= 5 * 1024 * MIB, 'The part size is within the limits of Amazon S3.');
      assert.ok(maxConcurrent === 1 || (maxConcurrent <= 4 && maxConcurrent * partSize <= 32 * MIB));
    });
  }

  it('plans larger parts for a body of unknown size, so that 10,000 of them hold 156 GiB', () => {
    assert.deepEqual(planParts(undefined, 8 * MIB), { partSize: 16 * MIB, maxConcurrent: 2 });
  });
});
