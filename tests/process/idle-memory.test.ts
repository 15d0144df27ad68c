import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { describe, it } from 'node:test';
import { getHeapStatistics } from 'node:v8';
import { releaseMemoryWhenIdle } from '../../src/server/idle-memory.ts';

const MIB = 1024 * 1024;

describe('An idle process', () => {
  // tests/long/idle-memory.test.ts has a real one.
  it('returns unused heap memory to the system', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    t.mock.method(performance, 'eventLoopUtilization', () => ({ idle: 4000, active: 0, utilization: 0 }));
    using _giving = releaseMemoryWhenIdle();
    const full = heapAfterWork();
    t.mock.timers.tick(4000);
    const given = full - getHeapStatistics().total_heap_size;
    assert.ok(given > 16 * MIB, `It gave back ${given} bytes.`);
  });
});

/** Fills the heap with objects that nothing uses afterwards. Returns its size in bytes. */
function heapAfterWork(): number {
  const objects = Array.from({ length: 400_000 }, (_, index) => ({ index, list: [index] }));
  assert.equal(objects.length, 400_000);
  return getHeapStatistics().total_heap_size;
}
