import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it, type TestContext } from 'node:test';
import { type FolderPath, parseFolder } from '../../src/model/path.ts';
import type { Capability, Store } from '../../src/model/store.ts';
import { DISK } from '../../src/stores/disk/backend.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { GITHUB } from '../../src/stores/github/backend.ts';
import { EFFECTS } from '../../src/stores/layers/wrap.ts';
import { createMemoryStore, MEMORY_CAPABILITIES } from '../../src/stores/memory.ts';
import { S3 } from '../../src/stores/s3/backend.ts';
import type { TestBucket } from '../../testing/servers/bucket.ts';
import type { HostedRepository } from '../../testing/servers/hosted-repository.ts';
import { type ObjectStore, partBytesOf, testObjectStore } from '../../testing/servers/object-store.ts';
import { silentLog } from './bytes.ts';

/** A store under test, and what it can do. */
export interface Backend {
  readonly name: string;
  /** Opens a new, empty store. `close` removes everything that it holds. */
  open(): Promise<OpenStore>;
  /**
   * Returns an `open` whose stores reuse buckets or repositories, which are slow to create. Undefined if a new store is
   * cheap.
   */
  readonly share?: () => SharedStores;
  /** Returns the bytes of a part of an upload. Default: 1 MiB, as in the database. A disk has no parts. */
  partBytes?(): number;
  /** The optional members of the store. The contract requires exactly these. */
  readonly capabilities: readonly Capability[];
  /** The missing traits, each with its reason. */
  readonly lacks: Readonly<Partial<Record<Trait, string>>>;
}

/** Returns whether the store has all of these members and traits. */
export function has(backend: Backend, ...needed: readonly (Capability | Trait)[]): boolean {
  return needed.every((each) => (isMember(each) ? backend.capabilities.includes(each) : !backend.lacks[each]));
}

const isMember = (name: Capability | Trait): name is Capability => Object.hasOwn(EFFECTS, name);

/**
 * Returns a function that defines a test if the store has all of the members and traits that it needs. A store that loses a
 * member fails the contract, instead of skipping tests.
 */
export function testsOf(backend: Backend) {
  return (
    needed: readonly (Capability | Trait)[],
    title: string,
    test: (context: TestContext) => Promise<void>,
  ): void => {
    if (has(backend, ...needed)) it(title, test);
  };
}

interface OpenStore {
  readonly store: Store;
  /** Whether the service streams large files by signed URLs of its own. */
  readonly streamsLargeFiles?: boolean;
  close(): Promise<void>;
}

/** Stores that reuse buckets, or branches of one repository. Several stores can be open at a time. */
interface SharedStores {
  open(): Promise<OpenStore>;
  /** Removes the shared buckets or repository. Rejects if `git fsck` finds a fault in the repository. */
  close(): Promise<void>;
}

/**
 * Returns the backend with stores that share buckets or a repository until the last test of the calling file has ended.
 * Call it at the top level of a test file.
 */
export function shareWithinFile(backend: Backend): Backend {
  if (!backend.share) return backend;
  const shared = backend.share();
  after(() => shared.close());
  return { ...backend, open: shared.open };
}

export type Trait =
  /** Stores the media type of an upload. */
  | 'stored-types'
  /** Enforces the condition of a write against concurrent writes. */
  | 'atomic-conditions'
  /** Knows the modification time of a file. */
  | 'modification-times'
  /** Stores the modification time of an upload. */
  | 'kept-times'
  /** Lists that time. */
  | 'times-in-listings'
  /** Rejects a path through a file, and a file and a folder of the same name. */
  | 'one-kind-per-name'
  /** Keeps a folder when its last file is removed. */
  | 'emptied-folders'
  /** Returns the modification time of a write. */
  | 'times-of-writes'
  /** Reports whether a write without a condition replaced a file. */
  | 'outcomes-of-writes'
  /** Never returns a modification time in the future. */
  | 'past-times'
  /** Keeps replaced files only on request. */
  | 'versions-on-request'
  /** Has version ids that name a version of one file only. */
  | 'versions-of-one-file'
  /** Has presigned URLs that work more than once. */
  | 'lasting-urls'
  /** Has presigned URLs that send a file as an attachment with its name. */
  | 'urls-of-downloads'
  /** Reports which bytes of an append are durable before it ends. */
  | 'durable-offsets'
  /** Lets the client replace files. */
  | 'replacements'
  /** Lets the client rename, move and delete. */
  | 'management'
  /** Has no permissions in listings without an access file. */
  | 'listings-without-rights';

/** Returns the tree without the folders that became empty, on stores that remove those. */
export function emptied(
  backend: Backend,
  tree: Record<string, string | null>,
  ...folders: string[]
): Record<string, string | null> {
  if (!backend.lacks['emptied-folders']) return tree;
  return Object.fromEntries(Object.entries(tree).filter(([path]) => !folders.includes(path)));
}

export const memory: Backend = {
  name: 'memory',
  open: async () => ({ store: createMemoryStore(), close: async () => {} }),
  capabilities: MEMORY_CAPABILITIES,
  lacks: {},
};

/** Has only the required members of a store, so that `Files` composes all other operations from them. */
export const bare: Backend = {
  name: 'bare memory',
  open: async () => {
    const { list, stat, read, write, remove, createFolder, removeFolder } = createMemoryStore();
    return { store: { list, stat, read, write, remove, createFolder, removeFolder }, close: async () => {} };
  },
  capabilities: [],
  lacks: {},
};

/** Stores in buckets of an object store. */
export function bucketBackend(
  objectStore?: () => ObjectStore,
  { prefix = '', isVersioned = false }: { readonly prefix?: string; readonly isVersioned?: boolean } = {},
): Pick<Backend, 'open' | 'share' | 'partBytes'> {
  const openBucket = async () => {
    // Loaded on demand, because loading the AWS SDK takes longer than most tests of the other backends.
    const { createBucket } = await import('../../testing/servers/bucket.ts');
    return createBucket(objectStore?.(), { isVersioned });
  };
  const openStore = async ({ settings }: TestBucket) => {
    const { openS3 } = await import('../../src/stores/s3/s3.ts');
    return openS3({ ...settings, prefix, warn: () => {} });
  };
  return {
    partBytes: () => partBytesOf(objectStore?.() ?? testObjectStore()),
    open: async () => {
      const bucket = await openBucket();
      const store = await openStore(bucket);
      const close = async () => {
        await store.close?.();
        await bucket.remove();
      };
      return { store, close };
    },
    share: () => {
      const buckets: TestBucket[] = [];
      const unused: TestBucket[] = [];
      const open = async () => {
        const bucket = unused.pop() ?? (await openBucket());
        if (!buckets.includes(bucket)) buckets.push(bucket);
        const store = await openStore(bucket);
        const close = async () => {
          await store.close?.();
          // Creating a bucket takes less time than emptying one.
          if (bucket.isTemporary) return;
          await bucket.empty();
          unused.push(bucket);
        };
        return { store, close };
      };
      return { open, close: async () => void (await Promise.all(buckets.map((bucket) => bucket.remove()))) };
    },
  };
}

export const s3: Backend = {
  name: 's3',
  ...bucketBackend(),
  capabilities: S3.capabilities,
  lacks: {
    'one-kind-per-name': 'a bucket can contain an object "a" and objects "a/…"',
    'emptied-folders': 'a folder of a bucket exists while it has an object or a marker',
    'times-of-writes': 'the response to a write has no time',
    'times-in-listings': 'a listing of objects has only the time of the write',
    'outcomes-of-writes': 'the response to a write does not tell whether it replaced an object',
  },
};

/** A part of a bucket. The prefix has characters that URLs and XML escape. */
export const s3Prefix: Backend = {
  ...s3,
  name: 's3 with a prefix',
  ...bucketBackend(undefined, { prefix: 'té & co/a+b%20/' }),
};

/** A bucket that keeps object versions. */
export const s3Versioned: Backend = {
  ...s3,
  name: 's3 with object versions',
  ...bucketBackend(undefined, { isVersioned: true }),
  lacks: {
    ...s3.lacks,
    'versions-on-request': 'the bucket keeps every content that is replaced',
    'atomic-conditions': 'Ceph 16 ignores conditions on PutObject in a bucket with object versions',
  },
};

/** Stores on branches, or in a folder of each. */
function repositoryBackend(path?: FolderPath): Pick<Backend, 'open' | 'share'> {
  const served = path === undefined ? {} : { path };
  return {
    open: async () => {
      const { openGitHub } = await import('../../src/stores/github/github.ts');
      const { hostRepository } = await import('../../testing/servers/hosted-repository.ts');
      const hosted = await hostRepository();
      const store = openGitHub({ ...hosted.options, ...served });
      const close = async () => {
        await store.close?.();
        await hosted.remove();
      };
      return { store, close };
    },
    share: () => {
      let hosting: Promise<HostedRepository> | undefined;
      let count = 0;
      const open = async () => {
        const { openGitHub } = await import('../../src/stores/github/github.ts');
        const { hostRepository } = await import('../../testing/servers/hosted-repository.ts');
        // The first commit has an empty tree.
        hosting ??= hostRepository({ files: {} });
        const { host, repository, options } = await hosting;
        count += 1;
        const branch = `test-${count}`;
        const folder = join(options.cache.folder, branch);
        await repository.createBranch(branch);
        host.quota.remaining = host.quota.limit;
        host.forget();
        const store = openGitHub({ ...options, ...served, branch, cache: { ...options.cache, folder } });
        const close = async () => {
          await store.close?.();
          await rm(folder, { recursive: true, force: true });
          host.throwFailure();
        };
        return { store, close };
      };
      return { open, close: async () => (await hosting)?.remove() };
    },
  };
}

export const github: Backend = {
  name: 'github',
  ...repositoryBackend(),
  capabilities: GITHUB.capabilities,
  lacks: {
    'stored-types': 'git stores no media types',
    'lasting-urls': 'a download URL of GitHub works once',
    'urls-of-downloads': 'a download URL of GitHub has no file name',
    'modification-times': 'git stores the times of commits, not of files',
    'kept-times': 'git stores no times of files',
    'times-in-listings': 'git stores no times of files',
    'emptied-folders': 'git stores no empty folders: a folder exists while it has a file or a marker',
  },
};

/** A folder of a branch. The path has characters that URLs escape. */
export const githubPath: Backend = {
  ...github,
  name: 'github with a path',
  ...repositoryBackend(parseFolder('té & co/a+b%20#1')),
};

export const disk: Backend = {
  name: 'disk',
  open: async () => {
    const root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    const { store } = await openDisk({ root, log: silentLog });
    const close = async () => {
      await store.close?.();
      await rm(root, { recursive: true, force: true });
    };
    return { store, streamsLargeFiles: true, close };
  },
  capabilities: DISK.capabilities,
  lacks: {
    'stored-types': 'file systems store no media types',
    'durable-offsets': 'the bytes are durable together, at the end of the append',
  },
};
