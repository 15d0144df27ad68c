import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../src/domain/store.ts';
import type { UrlSigner } from '../../src/domain/url-signer.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';

/** A store under test, and where it rightly differs from the others. */
export interface Backend {
  readonly name: string;
  /** A new, empty store. `close` leaves nothing behind. */
  open(): Promise<{ store: Store; signer?: UrlSigner; close(): Promise<void> }>;
  /** What it can't do, each with its reason; the suites ask for a trait by its name. */
  readonly lacks: Partial<Record<Trait, string>>;
}

export type Trait =
  /** Keeps the media type that an upload had. */
  | 'stored-types'
  /** Replaces a file under the condition of its etag. */
  | 'conditional-replace'
  /** Enforces the condition of a write against other writes at the same moment. */
  | 'atomic-conditions'
  /** Copies keep the etag. */
  | 'etags-of-content'
  /** Knows when a file was written. */
  | 'modification-times'
  /** Keeps the modification time that an upload had. */
  | 'kept-times'
  /** Refuses a path through a file, and a file and a folder of one name. */
  | 'one-kind-per-name'
  /** Keeps a folder that was made by a file in it when that file goes. */
  | 'emptied-folders'
  /** Tells the media type of each file in a listing. */
  | 'types-in-listings'
  /** Says of a file that was just written when that was. */
  | 'times-of-writes'
  /** Has something to do with the operations that `Files` composes from single files. */
  | 'composed-operations'
  /** Never says that a file was modified later than now. */
  | 'past-times'
  /** Gives presigned URLs that are good more than once. */
  | 'lasting-urls'
  /** Gives presigned URLs by which a file comes as an attachment of its name. */
  | 'urls-of-downloads';

/** A tree in which these folders were made by what they held, and hold nothing any more: some stores keep them. */
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
  lacks: {},
};

/** Nothing but what every store has: what `Files` composes from it is tested on this one. */
export const bare: Backend = {
  name: 'bare memory',
  open: async () => {
    const { list, stat, read, write, remove, createFolder, removeFolder } = createMemoryStore();
    return { store: { list, stat, read, write, remove, createFolder, removeFolder }, close: async () => {} };
  },
  lacks: {},
};

export const s3: Backend = {
  name: 's3',
  open: async () => {
    // Loaded by the files alone that need it: it takes longer than many of their tests.
    const { openS3 } = await import('../../src/stores/s3/s3.ts');
    const { createBucket } = await import('../servers/bucket.ts');
    const bucket = await createBucket();
    const store = openS3({ ...bucket.settings, warn: () => {} });
    const close = async () => {
      await store.close?.();
      await bucket.remove();
    };
    return { store, close };
  },
  lacks: {
    'one-kind-per-name': 'a bucket holds an object "a" and objects "a/…" side by side',
    'emptied-folders': 'a folder of a bucket is there while anything lies under it, or its marker does',
    'types-in-listings': 'a listing of objects has no types, so that it gives those that the names tell',
    'times-of-writes': 'the answer to a write has no time',
    'kept-times': 'a listing of objects has no time but that of the write',
  },
};

export const github: Backend = {
  name: 'github',
  open: async () => {
    const { openGitHub } = await import('../../src/stores/github/github.ts');
    const { hostRepository } = await import('../servers/hosted-repository.ts');
    const hosted = await hostRepository();
    const store = openGitHub(hosted.options);
    const close = async () => {
      await store.close?.();
      await hosted.remove();
    };
    return { store, close };
  },
  lacks: {
    'stored-types': 'git keeps no media type',
    'composed-operations': 'every operation is one commit, so that nothing is composed',
    'lasting-urls': 'the URL that the host gives is good for one use',
    'urls-of-downloads': 'the URL that the host gives says nothing of a file name',
    'modification-times': 'git keeps the time of commits, and a file may have come with any of them',
    'kept-times': 'git keeps no time of a file',
    'emptied-folders':
      'git keeps no empty folder, so that one is there while anything lies under it, or its marker does',
  },
};

export const disk: Backend = {
  name: 'disk',
  open: async () => {
    const root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    const { store, signer } = await openDisk({ root, warn: () => {} });
    const close = async () => {
      await store.close?.();
      await rm(root, { recursive: true, force: true });
    };
    return { store, signer, close };
  },
  lacks: {
    'stored-types': 'file systems keep no media type',
    'conditional-replace': 'other programs could change the file between the look and the renaming',
    'etags-of-content': 'an etag holds the inode, which a copy has of its own',
  },
};
