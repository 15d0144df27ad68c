import { createSyncSyscalls } from './sync-syscalls.ts';
import type { Syscalls } from './syscalls.ts';
import { createThreadpoolSyscalls, type DiskTraits } from './threadpool-syscalls.ts';

/**
 * The two ways to call the system. What the system has in memory it gives in microseconds, a tenth of what it costs to
 * have another thread ask; what it has to get from a disk may take long, and a call made at once holds up every request of
 * the process meanwhile. So calls are made at once only for what is familiar (`sync-syscalls.ts`), and while that is quick
 * (`blocking-budget.ts`). Those that wait for the disk by their nature are always left to threads.
 */
export interface System {
  /** For what is familiar. */
  readonly sync: Syscalls;
  /** For everything else. */
  readonly threadpool: Syscalls;
}

export function createSystem(disk: DiskTraits): System {
  const calls = createThreadpoolSyscalls(disk);
  return { threadpool: calls, sync: disk.isLocal ? createSyncSyscalls(calls) : calls };
}
