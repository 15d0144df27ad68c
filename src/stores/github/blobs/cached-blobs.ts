import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { isMissing, noteUse } from '../../../cache/cache-folder.ts';
import { maxEntries } from '../../../cache/lru-options.ts';

/**
 * Maximum bytes of a file that is verified on open, which takes about 20 ms, unless the same file was verified before.
 * Cached files are not flushed to disk, so a power failure can truncate them. Of larger files, only the size is
 * checked.
 */
const MAX_VERIFIED_BYTES = 8 * 1024 * 1024;

/** Maximum blobs remembered as verified. They need one or two megabytes. */
const MAX_REMEMBERED_BLOBS = 10_000;

/** Does not follow symbolic links, and does not block on a FIFO. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const READ_CHUNK_BYTES = 64 * 1024;

/** The cached blobs, each in a file named by its SHA. */
export class CachedBlobs {
  readonly #folder: string;
  readonly #warn: (message: string, details: object) => void;
  /** Identity of the verified file of each blob, by SHA. */
  readonly #verified = new LRUCache<string, string>(maxEntries(MAX_REMEMBERED_BLOBS));

  constructor(folder: string, warn: (message: string, details: object) => void) {
    this.#folder = folder;
    this.#warn = warn;
  }

  /**
   * Opens a cached blob and records its use. Returns undefined if it is missing or damaged; removes a damaged file.
   */
  async open(blob: Blob): Promise<FileHandle | undefined> {
    const path = join(this.#folder, blob.sha);
    const file = await open(path, OPEN_FLAGS).catch((error: unknown) => {
      if (!isMissing(error)) this.#warn('A cached file could not be opened.', { path, err: error });
    });
    if (!file) return undefined;
    try {
      if (await this.#isIntact(file, blob)) {
        await noteUse(file);
        await this.markVerified(blob, file);
        return file;
      }
      this.#warn('A cached file is damaged and will be downloaded again.', { path });
      await unlink(path);
    } catch (error) {
      this.#warn('A cached file could not be read.', { path, err: error });
    }
    await file.close();
    return undefined;
  }

  /** Marks the content of a file as verified, until the file is replaced or modified. */
  async markVerified({ sha }: Blob, file: FileHandle): Promise<void> {
    this.#verified.set(sha, await identityOf(file));
  }

  async #isIntact(file: FileHandle, { sha, size }: Blob): Promise<boolean> {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size !== size) return false;
    const isVerified = this.#verified.get(sha) === (await identityOf(file));
    return size > MAX_VERIFIED_BYTES || isVerified || (await shaOf(file, size)) === sha;
  }
}

/** Returns the identity of a file's content. It changes when the file is replaced or modified. */
async function identityOf(file: FileHandle): Promise<string> {
  const { dev, ino, mtimeNs, ctimeNs } = await file.stat({ bigint: true });
  return `${dev} ${ino} ${mtimeNs} ${ctimeNs}`;
}

/** Returns the blob SHA of the first `size` bytes of a file. */
async function shaOf(file: FileHandle, size: number): Promise<string> {
  const hash = hashOfBlob(size);
  const chunk = Buffer.allocUnsafe(READ_CHUNK_BYTES);
  for (let position = 0; position < size; ) {
    const { bytesRead } = await file.read(chunk, 0, Math.min(READ_CHUNK_BYTES, size - position), position);
    if (bytesRead === 0) break;
    hash.update(chunk.subarray(0, bytesRead));
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
