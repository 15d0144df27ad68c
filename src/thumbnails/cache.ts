import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { type CacheFolder, createCacheFolder, isMissing, noteUse } from '../cache/cache-folder.ts';
import { MAX_RENDITION_BYTES } from './limits.ts';

export interface CacheOptions {
  /** The folder of the cache. Created if missing; unused if `size` is 0. */
  readonly folder: string;
  /** Maximum bytes on disk. 0 stores thumbnails in memory only. */
  readonly size: number;
  /** Maximum bytes in memory. Default: 16 MiB. */
  readonly memory?: number;
  readonly warn: Warn;
}

/** Caches thumbnails in memory and on disk. Logs failures and never throws them. */
export interface ThumbnailCache {
  /** Returns the thumbnail if it is in memory. */
  peek(key: string): Buffer | undefined;
  /** Returns the thumbnail if it is in memory or on disk. */
  get(key: string): Promise<Buffer | undefined>;
  set(key: string, thumbnail: Buffer): void;
  /** Resolves when all pending writes have ended. */
  close(): Promise<void>;
}

const MAX_MEMORY_BYTES = 16 * 1024 * 1024;

/**
 * Maximum bytes of an entry in memory, if the disk has it too. The previews of a screen would otherwise displace hundreds
 * of thumbnails and tiles.
 */
const MAX_MEMORY_ENTRY_BYTES = 256 * 1024;

/**
 * Milliseconds after which a thumbnail in memory is read from disk again. The read records its use on disk: otherwise,
 * the disk cache would evict thumbnails that are only read from memory.
 */
const MEMORY_TTL_MS = 60 * 60 * 1000;

export function createCache({ folder, size, memory: maxSize = MAX_MEMORY_BYTES, warn }: CacheOptions): ThumbnailCache {
  const disk = size > 0 ? createDiskCache({ folder, size, warn }) : undefined;
  const memory = new LRUCache<string, Buffer>({
    maxSize,
    maxEntrySize: disk ? MAX_MEMORY_ENTRY_BYTES : maxSize,
    sizeCalculation: (thumbnail) => thumbnail.length,
    ttl: disk ? MEMORY_TTL_MS : 0,
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

/** Logs a failure of the cache. Such a failure never fails a request. */
export type Warn = (message: string, error: unknown) => void;

/**
 * A cache of thumbnails in a folder that several processes can share. `key` is a hash (64 hexadecimal digits) of
 * everything that the thumbnail depends on, so the thumbnail of a key never changes.
 */
export interface DiskCache {
  /** Returns the stored thumbnail, or undefined if the file is missing, damaged or not from this cache. */
  get(key: string): Promise<Buffer | undefined>;
  /** Starts to store a thumbnail. */
  set(key: string, thumbnail: Buffer): void;
  /** Resolves when all pending writes and the cleanup have ended. */
  close(): Promise<void>;
}

const CHECKSUM_BYTES = 32;

/** Maximum bytes of a cache file. A larger file is not from this cache and is not read. */
const MAX_FILE_BYTES = CHECKSUM_BYTES + MAX_RENDITION_BYTES;

const KEY_PATTERN = /^[0-9a-f]{64}$/;

/** Maximum pending writes. With a slow disk, further thumbnails are not cached, so that they do not fill the memory. */
const MAX_PENDING_WRITES = 64;

/** Creates a cache of `size` bytes in `folder`, which is created if missing. Evicts the least recently used files. */
export function createDiskCache({ folder, size, warn }: { folder: string; size: number; warn: Warn }): DiskCache {
  const cache = createCacheFolder({
    path: folder,
    size,
    names: KEY_PATTERN,
    warn: (error) => warn('Thumbnail cache cleanup failed', error),
  });
  const writes = new Set<Promise<void>>();
  let isClosed = false;

  const write = async (key: string, thumbnail: Buffer) => {
    try {
      await store(cache, key, thumbnail);
    } catch (error) {
      warn('Thumbnail cache write failed', error);
    }
  };

  const ready = cache.make().catch((error: unknown) => {
    warn('Thumbnail cache folder could not be created', error);
  });

  return {
    async get(key) {
      try {
        return await load(folder, key);
      } catch (error) {
        if (!isMissing(error)) warn('Thumbnail cache read failed', error);
        return undefined;
      }
    },

    set(key, thumbnail) {
      if (isClosed || writes.size >= MAX_PENDING_WRITES || CHECKSUM_BYTES + thumbnail.length > size) return;
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

/** Reads a thumbnail, and records the use in the timestamp of the file. */
async function load(folder: string, key: string): Promise<Buffer> {
  const path = join(folder, key);
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) throw new Error(`${path} has ${size} bytes, which no thumbnail has.`);
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
 * Stores a thumbnail after its checksum. An atomic rename prevents incomplete files. The checksum detects files that a
 * power failure has damaged, because writes are not flushed, and foreign files in the folder.
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

/** Returns the checksum of a thumbnail. It includes the key, which detects renamed files. */
function checksum(key: string, thumbnail: Buffer): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(key), thumbnail]), 'buffer');
}
