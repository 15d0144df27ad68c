import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { isMissing, noteUse } from '../../../cache/cache-folder.ts';
import { maxEntries } from '../../../cache/lru-options.ts';

/** Blobs in the folder of the cache, each in a file that is called by its sha. */
export interface StoredBlobs {
  /** The blob, open for reading, if it is there and right. One that is damaged is removed. Notes that it was used. */
  open(blob: Blob): Promise<FileHandle | undefined>;
  /** Notes that a blob is right, as long as it is in this file and nobody writes to that. */
  trust(blob: Blob, file: FileHandle): Promise<void>;
}

/**
 * Nothing waits for the disk when a blob is kept, so that a machine that loses power may leave one that is not whole.
 * Up to this size, in bytes, each is read through before it is used, unless its file is the one that was found right
 * before: some 20 ms. Of a larger one the size has to do.
 */
const VERIFIED_UP_TO = 8 * 1024 * 1024;

/** How many blobs are remembered to be right: a megabyte or two. */
const MOST_TRUSTED = 10_000;

/** No link is followed, and what is no file does not hold up who opens it. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Bytes that are read at once. */
const PIECE = 64 * 1024;

export function createKeptBlobs(folder: string, warn: (message: string, details: object) => void): StoredBlobs {
  /** Which file of a blob is known to be right. */
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

/** A file as it is: another one, and one that was written to, is told otherwise. */
async function identityOf(file: FileHandle): Promise<string> {
  const { dev, ino, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
  return `${dev} ${ino} ${mtimeNs} ${ctimeNs}`;
}

/** The sha of the first `size` bytes of a file. */
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

/** A file as git keeps it: bytes that never change, by the sha of exactly those. */
export interface Blob {
  /** 40 hexadecimal digits. */
  readonly sha: string;
  /** Bytes. */
  readonly size: number;
}

/** The hash whose digest is the sha of a blob of `size` bytes, once it was given those (gitformat-pack). */
export function hashOfBlob(size: number): Hash {
  return createHash('sha1').update(`blob ${size}\0`);
}
