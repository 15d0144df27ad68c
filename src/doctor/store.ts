import { failed, ok } from '../checks/check.ts';
import {
  HOSTILE_NAME,
  LARGE,
  LARGE_NAME,
  OTHER_ETAG,
  PLAIN_NAME,
  readProbe,
  SMALL,
  writeProbe,
} from '../checks/probe.ts';
import { exists, isStoreError } from '../model/error.ts';
import { childFile, childFolder, ROOT } from '../model/path.ts';
import type { FileEntry, WriteCondition } from '../model/store.ts';
import { adviseOn, type StoreCheck } from '../stores/backend.ts';

const EMPTY_NAME = 'empty.txt';
const MOVED_NAME = 'moved é+%.txt';

const WRONG_BYTES =
  "The store returns different bytes from those written, so it can't be used. Check for a proxy that changes bodies.";

const WRITTEN_AGAINST_CONDITION = 'The store wrote a file although the condition was not met.';

const CACHE_BEFORE_STORE = 'Check for a cache in front of the store that reports deleted files.';

/** Checks of every store that need the probe. */
export const STORE_CHECKS: readonly StoreCheck[] = [
  {
    name: 'store-read',
    async run({ store }, signal) {
      const { entries } = await store.list(ROOT, { limit: 10, signal });
      return ok(`Listed the root${entries.length === 0 ? ', which is empty' : ''}.`);
    },
    explain: adviseOn('list'),
  },
  {
    name: 'store-write',
    writes: true,
    async run(subject, signal) {
      const files = [
        [PLAIN_NAME, SMALL],
        [HOSTILE_NAME, SMALL],
        [EMPTY_NAME, Buffer.alloc(0)],
      ] as const;
      // Written in parallel, so that a branch gets one commit.
      await Promise.all(files.map(([name, bytes]) => writeProbe(subject, name, bytes, { signal })));
      for (const [name, bytes] of files) {
        if (!bytes.equals(await readProbe(subject, name, { signal }))) {
          return failed(`The bytes of "${name}" differ from those that were written.`, WRONG_BYTES);
        }
      }
      return ok('Wrote and read files of 0 bytes and 4 KiB.');
    },
    explain: adviseOn('write', 'read'),
  },
  {
    name: 'store-list',
    needs: 'store-write',
    async run({ store, probe }, signal) {
      const { entries } = await store.list(probe, { signal });
      const names = entries.map(({ path }) => path.slice(probe.length));
      const missing = [PLAIN_NAME, HOSTILE_NAME, EMPTY_NAME].filter((name) => !names.includes(name));
      if (missing.length > 0) {
        const found = `The listing lacks ${JSON.stringify(missing)}; it contains ${JSON.stringify(names)}.`;
        return failed(found, 'The store, its file system or a proxy changes names. Use another one.');
      }
      const listed = entries.filter((entry) => entry.kind === 'file');
      const stats = await Promise.all(listed.map(({ path }) => store.stat(path, { signal })));
      const other = listed.find((entry, index) => !isSame(entry, stats[index]));
      if (other === undefined) return ok('Listed the written files with the same names, sizes and ETags.');
      return failed(
        `"${other.path.slice(probe.length)}" has a different size or ETag in the listing than in its metadata.`,
        'The store is inconsistent, so caches and conditions fail. Check for a cache in front of it.',
      );
    },
    explain: adviseOn('list'),
  },
  {
    name: 'store-range',
    needs: 'store-write',
    async run(subject, signal) {
      const bytes = await readProbe(subject, PLAIN_NAME, { range: { start: 100, end: 199 }, signal });
      if (bytes.equals(SMALL.subarray(100, 200))) return ok('Read a range of 100 bytes.');
      return failed(
        `A range of 100 bytes returned ${bytes.length} bytes, or different bytes.`,
        'The store or a proxy ignores Range, which large files and videos need. Forward Range in the proxy.',
      );
    },
    explain: adviseOn('read'),
  },
  {
    name: 'store-large',
    needs: 'store-write',
    writes: true,
    timeout: 120_000,
    async run(subject, signal) {
      await writeProbe(subject, LARGE_NAME, LARGE, { signal });
      if (LARGE.equals(await readProbe(subject, LARGE_NAME, { signal }))) {
        return ok('Wrote and read a file of 9 MiB, in parts if the store supports them.');
      }
      return failed('The bytes of a file of 9 MiB differ from those that were written.', WRONG_BYTES);
    },
    explain: adviseOn('write', 'write in parts'),
  },
  {
    name: 'store-condition',
    needs: 'store-write',
    writes: true,
    async run(subject, signal) {
      const { store, probe } = subject;
      const write = (condition: WriteCondition) => writeProbe(subject, PLAIN_NAME, SMALL, { condition, signal });
      const isRefused = async (condition: WriteCondition) =>
        write(condition).then(
          () => false,
          (error: unknown) => {
            if (!isStoreError(error, 'condition-failed')) throw error;
            return true;
          },
        );
      if (!(await isRefused('absent'))) return failed(WRITTEN_AGAINST_CONDITION, CACHE_BEFORE_STORE);
      try {
        if (!(await isRefused({ etag: OTHER_ETAG }))) return failed(WRITTEN_AGAINST_CONDITION, CACHE_BEFORE_STORE);
      } catch (error) {
        if (!isStoreError(error, 'unsupported')) throw error;
        return ok('The store rejected a write whose condition was not met. It does not support conditions on an ETag.');
      }
      await write({ etag: (await store.stat(childFile(probe, PLAIN_NAME), { signal })).etag });
      return ok('The store rejected writes whose condition was not met.');
    },
    explain: adviseOn('write'),
  },
  {
    name: 'store-copy',
    needs: 'store-write',
    writes: true,
    async run(subject, signal) {
      const { store, files, probe } = subject;
      const [copy, moved] = [childFile(probe, 'copy.txt'), childFile(probe, MOVED_NAME)];
      await files.copyFile(childFile(probe, PLAIN_NAME), copy, { replace: false, signal });
      await files.moveFile(copy, moved, { replace: false, signal });
      const bytes = await readProbe(subject, MOVED_NAME, { signal });
      if (SMALL.equals(bytes) && !(await exists(store.stat(copy, { signal }))))
        return ok('Copied a file and moved the copy.');
      return failed('A moved copy has different bytes, or still exists at its source.', WRONG_BYTES);
    },
    explain: adviseOn('read', 'write', 'delete'),
  },
  {
    name: 'store-folders',
    needs: 'store-write',
    writes: true,
    async run({ store, probe }, signal) {
      const folder = childFolder(probe, 'folder é+%');
      await store.createFolder(folder, { signal });
      const { entries } = await store.list(folder, { signal });
      await store.removeFolder(folder, { signal });
      return entries.length === 0
        ? ok('Created and removed an empty folder.')
        : failed(
            'A folder that was just created is not empty.',
            'Another program writes to the probe folder. Run the doctor again.',
          );
    },
    explain: adviseOn('write', 'delete'),
  },
  {
    name: 'store-delete',
    needs: 'store-write',
    writes: true,
    async run({ store, probe }, signal) {
      const file = childFile(probe, EMPTY_NAME);
      await store.remove(file, { signal });
      if (!(await exists(store.stat(file, { signal })))) return ok('Deleted a file.');
      return failed('A deleted file still exists.', 'Check for a cache between the service and the store.');
    },
    explain: adviseOn('delete'),
  },
];

function isSame(entry: FileEntry, other: FileEntry | undefined): boolean {
  return entry.size === other?.size && entry.etag === other.etag;
}
