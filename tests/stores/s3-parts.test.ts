import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planParts } from '../../src/stores/s3/parts.ts';

const MIB = 2 ** 20;

describe('The plan of the parts', () => {
  const TIB = 2 ** 40;
  for (const size of [0, 1, 8 * MIB, 78 * 1024 * MIB, 10_000 * 8 * MIB + 1, 10_000 * 16 * MIB, TIB, TIB + 1, 5 * TIB]) {
    it(`of ${size} bytes is at most 10,000, in 32 MiB of memory where that can be`, () => {
      const { partSize, inFlight } = planParts(size);
      assert.ok(Math.ceil(size / partSize) <= 10_000);
      assert.ok(partSize >= 5 * MIB && partSize <= 5 * 1024 * MIB, 'The limits of Amazon S3.');
      assert.ok(inFlight === 1 || (inFlight <= 4 && inFlight * partSize <= 32 * MIB));
    });
  }
});
