import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { isMissing, noteUse } from '../../../cache/cache-folder.ts';
import { maxEntries } from '../../../cache/lru-options.ts';

/** The cached blobs, each in a file named by its SHA. */
export interface StoredBlobs {
  /**
   * Opens a cached blob and records its use. Returns undefined if it is missing or damaged; removes a damaged file.
   */
  open(blob: Blob): Promise<FileHandle | undefined>;
  /** Marks the content of a file as verified, until the file is replaced or modified. */
  trust(blob: Blob, file: FileHandle): Promise<void>;
}

/**
 * Maximum bytes of a file that is verified on open, which takes about 20 ms, unless the same file was verified before.
 * Cached files are not flushed to disk, so a power failure can truncate them. Of larger files, only the size is
 * checked.
 */
const VERIFIED_UP_TO = 8 * 1024 * 1024;

/** Maximum blobs remembered as verified. They need one or two megabytes. */
const MOST_TRUSTED = 10_000;

/** Does not follow symbolic links, and does not block on a FIFO. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Bytes per read. */
const PIECE = 64 * 1024;

export function createKeptBlobs(folder: string, warn: (message: string, details: object) => void): StoredBlobs {
  /** Identity of the verified file of each blob, by SHA. */
  const trusted = new LRUCache<string, string>(maxEntries(MOST_TRUSTED));

  const isRight = async (file: FileHandle, { sha, size }: Blob): Promise<boolean> => {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size !== size) return false;
    const isKnown = trusted.get(sha) === (await identityOf(file));
    return size > VERIFIED_UP_TO || isKnown || (await shaOf(file, size)) === sha;
  };

  return {
    async open(blob) {
      const path = join(folder, blob.sha);
      const file = await open(path, FLAGS).catch((error: unknown) => {
        if (!isMissing(error)) warn('A file could not be opened in the cache.', { path, err: error });
      });
      if (!file) return undefined;
      try {
        if (await isRight(file, blob)) {
          await noteUse(file);
          trusted.set(blob.sha, await identityOf(file));
          return file;
        }
        warn('A file of the cache was damaged, and is fetched again.', { path });
        await unlink(path);
      } catch (error) {
        warn('A file could not be read from the cache.', { path, err: error });
      }
      await file.close();
      return undefined;
    },

    async trust({ sha }, file) {
      trusted.set(sha, await identityOf(file));
    },
  };
}

/** Returns the identity of a file's content. It changes when the file is replaced or modified. */
async function identityOf(file: FileHandle): Promise<string> {
  const { dev, ino, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
  return `${dev} ${ino} ${mtimeNs} ${ctimeNs}`;
}

/** Returns the blob SHA of the first `size` bytes of a file. */
async function shaOf(file: FileHandle, size: number): Promise<string> {
  const hash = hashOfBlob(size);
  const piece = Buffer.allocUnsafe(PIECE);
  for (let position = 0; position < size; ) {
    const { bytesRead } = await file.read(piece, 0, Math.min(PIECE, size - position), position);
    if (bytesRead === 0) break;
    hash.update(piece.subarray(0, bytesRead));
    position += bytesRead;
  }
  return hash.digest('hex');
}

/** A git blob: the immutable content of a file, identified by its SHA. */
export interface Blob {
  /** 40 hexadecimal digits. */
  readonly sha: string;
  /** Bytes. */
  readonly size: number;
}

/** Returns a hash that yields the SHA of a blob of `size` bytes after an update with them (gitformat-pack). */
export function hashOfBlob(size: number): Hash {
  return createHash('sha1').update(`blob ${size}\0`);
}
