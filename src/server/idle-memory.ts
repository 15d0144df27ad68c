import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds for which a process has to rest. */
const PERIOD = 4_000;

/** The share of that time in which it may run all the same: probes of its health are no work. */
const AT_REST = 0.01;

/** Bytes by which the heap has to have grown since the last time. */
const WORTHWHILE = 4 * 1024 * 1024;

/**
 * Gives memory back to the system when the process comes to rest: what its start took, and what each busy hour did. By
 * itself V8 collects when it needs room, and so a process that nobody asks for anything keeps the room of its busiest
 * moment. It takes some 50 ms, once; who asks just then waits for it. To dispose of what is returned ends it.
 */
export function releaseMemoryWhenIdle(): Disposable {
  let before = performance.eventLoopUtilization();
  let heapAtRest = 0;
  const look = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > AT_REST || heapSize() - heapAtRest < WORTHWHILE) return;
    collect();
    heapAtRest = heapSize();
  }, PERIOD);
  look.unref();
  return { [Symbol.dispose]: () => clearInterval(look) };
}

const heapSize = () => getHeapStatistics().total_heap_size;

/** All that can be, and nothing is kept for what may come (V8, `Heap::CollectAllAvailableGarbage`). */
function collect(): void {
  // A context that is made after the flag is set has the function that --expose-gc gives.
  setFlagsFromString('--expose-gc');
  const gc: NodeJS.GCFunction = runInNewContext('gc');
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
