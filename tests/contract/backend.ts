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
  /** Copies keep the etag. */
  | 'etags-of-content'
  /** Knows when a file was written. */
  | 'modification-times'
  /** Refuses a path through a file, and a file and a folder of one name. */
  | 'one-kind-per-name';

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
