import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds for which a process must be idle. */
const PERIOD = 4_000;

/** Share of that time for which an idle process may be busy, as with health checks. */
const AT_REST = 0.01;

/** Bytes by which the heap must have grown since the last collection. */
const WORTHWHILE = 4 * 1024 * 1024;

/**
 * Returns memory to the system when the process becomes idle: after the start and after each busy period. V8 collects
 * only when it needs memory, so an idle process would retain its peak memory. A collection takes about 50 ms, during
 * which requests wait. Disposing of the result stops the collections.
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

/** Collects as much as possible (V8, `Heap::CollectAllAvailableGarbage`). */
function collect(): void {
  // A context that is created after this flag is set has the `gc` function of --expose-gc.
  setFlagsFromString('--expose-gc');
  const gc: NodeJS.GCFunction = runInNewContext('gc');
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
