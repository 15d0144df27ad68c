import { startCeph } from '../../testing/servers/ceph.ts';
import type { ObjectStore as Account } from '../../testing/servers/object-store.ts';
import { isObjectStoreNamed, testObjectStore } from '../../testing/servers/object-store.ts';
import type { Cost } from './measure.ts';
import { cpuSecondsOf } from './process-tree.ts';
import type { Program } from './programs.ts';
import { cephPrograms, ensurePrograms } from './programs.ts';

/** The store of the buckets: a Ceph of this run, or the store in the environment. */
export interface ObjectStore extends AsyncDisposable {
  readonly account: Account;
  /** Whether the store is removed after this run. */
  readonly isOwn: boolean;
  /** The program whose version identifies the store, if it is known. */
  readonly programs: readonly Program[];
  /** Adds the CPU time of the store to a cost, if this run started its processes. */
  metered<Result>(measure: () => Promise<[Result, Cost]>): Promise<[Result, Cost]>;
}

/** Returns the store in the environment, or starts a Ceph with its data in this folder. */
export async function openObjectStore(folder: string, signal: AbortSignal): Promise<ObjectStore> {
  if (!isObjectStoreNamed()) return await startOwn(folder, signal);
  return {
    account: testObjectStore(),
    isOwn: false,
    programs: [],
    metered: (measure) => measure(),
    [Symbol.asyncDispose]: async () => {},
  };
}

async function startOwn(folder: string, signal: AbortSignal): Promise<ObjectStore> {
  ensurePrograms(cephPrograms);
  process.stderr.write('bench: starting Ceph\n');
  const ceph = await startCeph({ signal, parent: folder });
  const daemons = Object.values(ceph.pids);
  const cpuSeconds = () => daemons.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
  return {
    account: ceph,
    isOwn: true,
    programs: ['ceph'],
    metered: async (measure) => {
      const before = cpuSeconds();
      const [result, cost] = await measure();
      return [result, { ...cost, storeCpuSeconds: cpuSeconds() - before }];
    },
    [Symbol.asyncDispose]: () => ceph.stop(),
  };
}
