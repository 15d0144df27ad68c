import fs, { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../src/model/store.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { silentLog } from '../contract/bytes.ts';
import { type Fault, testInterruptedJobs } from './interrupted.ts';

/** The functions that change the disk, except those of open files. */
const CHANGES = ['rename', 'link', 'unlink', 'rmdir', 'mkdir', 'rm', 'writeFile', 'copyFile', 'symlink'] as const;
const READS = ['lstat', 'stat', 'readdir', 'opendir', 'open', 'readFile'] as const;

/** Tests jobs on a disk that are interrupted at their steps: one of so many. */
export function testInterruptedOnDisk(oneOf: number): void {
  /** The fault of the process that runs now. One test runs at a time. */
  let current: Fault | undefined;

  testInterruptedJobs('disk', {
    interruptions: ['killed', 'outage'],
    concurrency: 1,
    oneOf,
    takesNewContent: true,
    async create() {
      const root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
      const restore = replaceFunctions(async (step) => !!(await current?.fails(step)));
      const stores: Store[] = [];
      return {
        async open(fault) {
          const { store } = await openDisk({ root, log: silentLog });
          stores.push(store);
          if (fault) current = fault;
          return store;
        },
        settle: async () => {},
        async remove() {
          current = undefined;
          for (const store of stores) await store.close?.();
          restore();
          await rm(root, { recursive: true, force: true });
        },
      };
    },
  });
}

/** Makes functions of `node:fs/promises` reject if `fails` resolves with true, and returns a function that ends that. */
function replaceFunctions(fails: Fault['fails']): () => void {
  const names = [...CHANGES, ...READS];
  const originals = names.map((name) => [name, fs[name] as (...args: unknown[]) => Promise<unknown>] as const);
  const replace = (functions: Iterable<readonly [string, unknown]>) => {
    Object.assign(fs, Object.fromEntries(functions));
    syncBuiltinESMExports();
  };
  replace(
    originals.map(([name, original]) => {
      const isChange = (CHANGES as readonly string[]).includes(name);
      const replaced = async (...args: unknown[]) => {
        const isStep = isChange || (name === 'open' && args[1] === 'wx');
        if (await fails({ isStep })) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' });
        return original(...args);
      };
      return [name, replaced];
    }),
  );
  return () => replace(originals);
}
