import { createSyncSyscalls } from './sync-syscalls.ts';
import type { Syscalls } from './syscalls.ts';
import { createThreadpoolSyscalls, type DiskTraits } from './threadpool-syscalls.ts';

/**
 * System calls in two forms. A synchronous call for cached data takes microseconds, a tenth of a round trip to the
 * thread pool. For data on the disk, it can take long and blocks all requests of the process meanwhile. Synchronous
 * calls are therefore used only for data that is likely cached (`LikelyCached`), and only while they are fast
 * (`blocking-budget.ts`). Calls that always wait for the disk, such as syncs, run in the thread pool.
 */
export interface System {
  /** For data that is likely cached. Same as `threadpool` if the disk is not local. */
  readonly sync: Syscalls;
  /** For all other data. */
  readonly threadpool: Syscalls;
}

/** Creates the system calls for a disk. */
export function createSystem(disk: DiskTraits): System {
  const calls = createThreadpoolSyscalls(disk);
  return { threadpool: calls, sync: disk.isLocal ? createSyncSyscalls(calls) : calls };
}
