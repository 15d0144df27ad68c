import { startCeph } from '../../testing/servers/ceph.ts';
import type { ObjectStore as Account } from '../../testing/servers/object-store.ts';
import { isObjectStoreNamed, testObjectStore } from '../../testing/servers/object-store.ts';
import type { Cost } from './measure.ts';
import { cpuSecondsOf } from './process-tree.ts';
import type { Program } from './programs.ts';
import { cephPrograms, ensurePrograms } from './programs.ts';

/** The store that the buckets are in: a Ceph of our own, or the one that the environment names. */
export interface ObjectStore extends AsyncDisposable {
  readonly account: Account;
  /** Gone with this run, with everything in it. */
  readonly isOwn: boolean;
  /** Whose version says what it is, where that is known. */
  readonly programs: readonly Program[];
  /** Adds to a cost what the store spent meanwhile, where its processes are ours to look at. */
  metered<Result>(measure: () => Promise<[Result, Cost]>): Promise<[Result, Cost]>;
}

/** The store that the environment names, or else a Ceph that keeps its data in this folder. */
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
  const ceph = await startCeph(signal, folder);
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
