import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { type CacheFolder, createCacheFolder, isMissing, noteUse } from '../cache/cache-folder.ts';

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

/** Is told of whatever goes wrong in a cache, which never fails a request. */
export type Warn = (message: string, error: unknown) => void;

/**
 * Thumbnails in a folder that any number of processes share. `key` is 64 hexadecimal digits that say all that the
 * thumbnail depends on: what is stored under it never changes.
 */
export interface DiskCache {
  /** The thumbnail as it was stored, or undefined. What is not whole, or is not ours, is not there. */
  get(key: string): Promise<Buffer | undefined>;
  /** Begins to store a thumbnail. */
  set(key: string, thumbnail: Buffer): void;
  /** Resolves when everything that began has ended. */
  close(): Promise<void>;
}

/** Far above any thumbnail, in bytes: a larger file is not one of ours, and not worth reading. */
const MAX_FILE = 4 * 1024 * 1024;

const CHECKSUM_BYTES = 32;

const KEY = /^[0-9a-f]{64}$/;

/** How many thumbnails may be on their way to a slow disk. More are left out of the cache, not held in memory. */
const MAX_WRITES = 64;

/** A cache of `size` bytes in `folder`, which is made when missing. The files used least recently make room. */
export function createDiskCache({ folder, size, warn }: { folder: string; size: number; warn: Warn }): DiskCache {
  const cache = createCacheFolder({
    path: folder,
    size,
    names: KEY,
    warn: (error) => warn('The folder of the thumbnail cache could not be cleaned up.', error),
  });
  const writes = new Set<Promise<void>>();
  let isClosed = false;

  const write = async (key: string, thumbnail: Buffer) => {
    try {
      await store(cache, key, thumbnail);
    } catch (error) {
      warn('A thumbnail could not be written to the cache.', error);
    }
  };

  const ready = cache.make().catch((error: unknown) => {
    warn('The folder of the thumbnail cache could not be made.', error);
  });

  return {
    async get(key) {
      try {
        return await load(folder, key);
      } catch (error) {
        if (!isMissing(error)) warn('A thumbnail could not be read from the cache.', error);
        return undefined;
      }
    },

    set(key, thumbnail) {
      if (isClosed || writes.size >= MAX_WRITES || CHECKSUM_BYTES + thumbnail.length > size) return;
      const running = ready.then(() => write(key, thumbnail)).finally(() => writes.delete(running));
      writes.add(running);
    },

    async close() {
      isClosed = true;
      const swept = cache.close();
      await Promise.all([ready, ...writes]);
      await swept;
    },
  };
}

/** Reads a thumbnail and notes in its time stamp that it was used. */
async function load(folder: string, key: string): Promise<Buffer> {
  const path = join(folder, key);
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > MAX_FILE) throw new Error(`${path} has ${size} bytes, which no thumbnail has.`);
    const content = await file.readFile();
    const thumbnail = content.subarray(CHECKSUM_BYTES);
    if (!checksum(key, thumbnail).equals(content.subarray(0, CHECKSUM_BYTES))) {
      throw new Error(`${path} is damaged, or not a file of the cache. It will be replaced.`);
    }
    await noteUse(file);
    return thumbnail;
  } finally {
    await file.close();
  }
}

/**
 * Stores a thumbnail behind its checksum. No file of the final name is ever incomplete; the checksum is there for
 * machines that lose power, since nothing waits for the disk, and for whatever else comes to lie in the folder.
 */
async function store(cache: CacheFolder, key: string, thumbnail: Buffer): Promise<void> {
  const content = Buffer.concat([checksum(key, thumbnail), thumbnail]);
  const { file, keep, discard } = await cache.create();
  try {
    try {
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    await keep(key, content.length);
  } catch (error) {
    await discard();
    throw error;
  }
}

/** The key is part of it, so that a file that was renamed is not taken for another. */
function checksum(key: string, thumbnail: Buffer): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(key), thumbnail]), 'buffer');
}
