import type { Calls } from './calls.ts';
import { callsAside, type Disk } from './calls-aside.ts';
import { callsAtOnce } from './calls-at-once.ts';

/**
 * The two ways to call the system. What the system has in memory it gives in microseconds, a tenth of what it costs to
 * have another thread ask; what it has to get from a disk may take long, and a call made at once holds up every request of
 * the process meanwhile. So calls are made at once only for what is familiar (`familiar.ts`), and while that is quick
 * (`pace.ts`). Those that wait for the disk by their nature are always left to threads.
 */
export interface System {
  /** For what is familiar. */
  readonly atOnce: Calls;
  /** For everything else. */
  readonly aside: Calls;
}

export function createSystem(disk: Disk): System {
  const calls = callsAside(disk);
  return { aside: calls, atOnce: disk.isLocal ? callsAtOnce(calls) : calls };
}
