import { LRUCache } from 'lru-cache';
import { createDiskCache, type Warn } from './disk-cache.ts';

export interface CacheOptions {
  /** Made when missing; not touched when `size` is 0. */
  readonly folder: string;
  /** Bytes on disk; 0 keeps thumbnails in memory only. */
  readonly size: number;
  readonly warn: Warn;
}

/** Finished thumbnails, in memory and behind that on disk. Failures are warned of and never thrown. */
export interface ThumbnailCache {
  /** What is in memory. */
  peek(key: string): Buffer | undefined;
  /** What is in memory or on disk. */
  get(key: string): Promise<Buffer | undefined>;
  set(key: string, thumbnail: Buffer): void;
  /** Resolves when everything that was set is stored. */
  close(): Promise<void>;
}

/** Bytes. */
const MEMORY_SIZE = 16 * 1024 * 1024;

/**
 * Milliseconds after which a thumbnail in memory is taken from disk once more, where that notes its use: what only
 * memory knows to be popular would be the first to go on disk.
 */
const NOTE_USE_AFTER = 60 * 60 * 1000;

export function createCache({ folder, size, warn }: CacheOptions): ThumbnailCache {
  const disk = size > 0 ? createDiskCache({ folder, size, warn }) : undefined;
  const memory = new LRUCache<string, Buffer>({
    maxSize: MEMORY_SIZE,
    sizeCalculation: (thumbnail) => thumbnail.length,
    ttl: disk ? NOTE_USE_AFTER : 0,
  });

  return {
    peek: (key) => memory.get(key),

    async get(key) {
      const known = memory.get(key);
      if (known) return known;
      const stored = await disk?.get(key);
      if (stored) memory.set(key, stored);
      return stored;
    },

    set(key, thumbnail) {
      memory.set(key, thumbnail);
      disk?.set(key, thumbnail);
    },

    close: async () => disk?.close(),
  };
}
