import fs, { mkdtemp, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, mock } from 'node:test';
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

  for (const name of [...CHANGES, ...READS]) {
    const original = fs[name] as (...args: unknown[]) => Promise<unknown>;
    const isChange = (CHANGES as readonly string[]).includes(name);
    mock.method(fs, name, async (...args: unknown[]) => {
      const isStep = isChange || (name === 'open' && args[1] === 'wx');
      if (await current?.fails({ isStep })) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' });
      return original(...args);
    });
  }
  syncBuiltinESMExports();
  after(() => {
    mock.restoreAll();
    syncBuiltinESMExports();
  });

  testInterruptedJobs('disk', {
    interruptions: ['killed', 'outage'],
    concurrency: 1,
    oneOf,
    takesNewContent: true,
    async create() {
      const root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
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
          await rm(root, { recursive: true, force: true });
        },
      };
    },
  });
}
