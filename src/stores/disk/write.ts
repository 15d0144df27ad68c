import type { BigIntStats } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { isDiskFull, isStoreError, systemErrorCode } from '../../model/error.ts';
import { type FilePath, nameOf, ROOT } from '../../model/path.ts';
import type {
  Cancellable,
  FileEntry,
  Keeping,
  StagedUpload,
  Upload,
  WriteCondition,
  WriteOptions,
} from '../../model/store.ts';
import { preconditionFailed, requireCondition, requireSize } from '../../model/store-errors.ts';
import { forEachChunk } from '../../streams/bodies.ts';
import { recyclerOf } from '../../streams/chunk-recycling.ts';
import { findFile, renameTemporaryToNew, renameToNew } from './atomic-rename.ts';
import type { MaybePromise } from './blocking-budget.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { copyOpenFile, entryOf, isSameInode, setModified } from './metadata.ts';
import { adoptPermissions, inheritPermissions, type StagedFile } from './permissions.ts';
import type { Root } from './root.ts';
import type { Staging, StagingPlace } from './staging.ts';
import type { Syscalls } from './syscalls.ts';
import type { Temporary } from './temporary.ts';
import type { DiskVersions } from './versions.ts';

type CommitOptions = WriteOptions & Keeping;

export interface DiskWriterOptions {
  readonly root: Root;
  readonly temporary: Temporary;
  readonly staging: Staging;
  readonly versions: DiskVersions;
}

/** Maximum body size in bytes that is written to a temporary file without a prior check of the destination. */
const MAX_UNCHECKED_BODY_BYTES = 64 * 1024;

/** Maximum attempts to commit a file to a folder that other programs remove meanwhile. */
const MAX_COMMIT_ATTEMPTS = 5;

/** Writes files atomically: to a temporary file, which is synced and then renamed. */
export class DiskWriter {
  readonly #root: Root;
  readonly #temporary: Temporary;
  readonly #staging: Staging;
  readonly #versions: DiskVersions;

  constructor({ root, temporary, staging, versions }: DiskWriterOptions) {
    this.#root = root;
    this.#temporary = temporary;
    this.#staging = staging;
    this.#versions = versions;
  }

  /** Fulfils the contract of `Store.write`. */
  async write(file: FilePath, upload: Upload, { signal, ...options }: CommitOptions & Cancellable): Promise<FileEntry> {
    const { condition } = options;
    const { body, size, maxSize = Number.POSITIVE_INFINITY } = upload;
    try {
      // For a small body, the check costs as much as writing the temporary file, and `commit` checks again.
      const isLarge = maxSize > MAX_UNCHECKED_BODY_BYTES;
      if (isLarge || condition !== undefined) await this.requireWritable(file, condition);
      await using place = isLarge ? await this.#staging.placeElsewhere(file) : undefined;
      const staged = await this.#stage(body, { signal, place, check: (actual) => requireSize(file, actual, size) });
      return await this.commit(staged, file, { ...options, modified: upload.modified?.() });
    } catch (error) {
      body.destroy();
      throw toStoreError(error, file);
    }
  }

  /** Fulfils the contract of `Store.stage`. */
  async stage({ body }: Pick<Upload, 'body'>, { signal }: Cancellable): Promise<StagedUpload> {
    const staged = await this.#stage(body, { signal }).catch((error: unknown) => {
      throw toStoreError(error, ROOT);
    });
    return {
      commit: (file, { modified }, options) => this.commitStaged(staged, file, { ...options, modified: modified?.() }),
      abort: () => rm(staged.path, { force: true }),
    };
  }

  /**
   * Writes a body to a durable temporary file, at `place` or in Holdall's own folder. `check` is called with its size; its
   * error fails the write.
   */
  async #stage(
    body: Readable,
    { signal, place, check }: Cancellable & { place?: StagingPlace | undefined; check?: (size: number) => void },
  ): Promise<StagedFile> {
    const syscalls = this.#root.system.sync;
    const { path, fd } = place
      ? { path: place.path, fd: await syscalls.create(place.path) }
      : await this.#temporary.create();
    const abort = () => void body.destroy(signal?.reason);
    try {
      let stats: BigIntStats;
      try {
        if (signal?.aborted) abort();
        signal?.addEventListener('abort', abort);
        await writeBody(syscalls, fd, body);
        stats = await syscalls.statOpen(fd);
      } finally {
        signal?.removeEventListener('abort', abort);
        await syscalls.close(fd);
      }
      check?.(Number(stats.size));
      return { path, stats, isElsewhere: place !== undefined };
    } catch (error) {
      body.destroy();
      await rm(path, { force: true });
      throw error;
    }
  }

  /**
   * Throws the errors that `commit` would throw, before the body is read: `condition-failed` and `wrong-kind`.
   */
  async requireWritable(file: FilePath, condition: WriteCondition | undefined): Promise<void> {
    try {
      await using folder = await this.#root.openParent(file);
      const present = await findFile(folder, file);
      requireCondition(file, present && entryOf(file, present), condition);
    } catch (error) {
      const translated = toStoreError(error, file);
      if (!isStoreError(translated, 'not-found')) throw translated;
      requireCondition(file, undefined, condition);
      // `commit` creates a missing folder.
      await using _parent = await this.#root.openNearestParent(file);
    }
  }

  /**
   * Renames a durable temporary file to its final name, with the modification time `modified` if the file system can
   * store that. Removes the temporary file in any case, also on failure.
   */
  async commit(
    staged: StagedFile,
    file: FilePath,
    options: CommitOptions & { modified?: Date | undefined },
  ): Promise<FileEntry> {
    try {
      return await this.#publish(staged, file, options);
    } catch (error) {
      await rm(staged.path, { force: true });
      throw error;
    }
  }

  /** Like `commit`, but keeps the temporary file if it fails, so that the call can be repeated for another file. */
  async commitStaged(
    staged: StagedFile,
    file: FilePath,
    options: CommitOptions & { modified?: Date | undefined },
  ): Promise<FileEntry> {
    try {
      return await this.#publish(staged, file, options);
    } catch (error) {
      throw toStoreError(error, file);
    }
  }

  async #publish(
    staged: StagedFile,
    file: FilePath,
    { modified, ...options }: CommitOptions & { modified?: Date | undefined },
  ): Promise<FileEntry> {
    const dated = modified ? { ...staged, stats: await setModified(staged, modified) } : staged;
    let isOnOtherFileSystem = false;
    for (let attempt = 1; ; attempt++) {
      try {
        const entry = await this.#renameTo(file, dated, { ...options, isOnOtherFileSystem });
        if (isOnOtherFileSystem) await rm(staged.path, { force: true });
        return entry;
      } catch (error) {
        if (isStoreError(error, 'other-file-system') && !isOnOtherFileSystem) {
          isOnOtherFileSystem = true;
          continue;
        }
        // The folder was removed after it was opened. The next attempt creates it again.
        if (!isStoreError(error, 'not-found') || attempt === MAX_COMMIT_ATTEMPTS) throw error;
      }
    }
  }

  /** Opens the folder of a file that must meet `condition`. Throws `condition-failed` if the folder is missing. */
  async #openParent(file: FilePath, condition: WriteCondition | undefined): Promise<Folder> {
    try {
      return await this.#root.openParent(file);
    } catch (error) {
      if (isStoreError(toStoreError(error, file), 'not-found')) requireCondition(file, undefined, condition);
      throw error;
    }
  }

  async #renameTo(
    file: FilePath,
    staged: StagedFile,
    { isOnOtherFileSystem, ...options }: CommitOptions & { isOnOtherFileSystem: boolean },
  ): Promise<FileEntry> {
    const { condition, keep, onOutcome } = options;
    const etag = typeof condition === 'object' ? condition.etag : undefined;
    // A file that must exist needs no new folder.
    await using folder = await (etag === undefined ? this.#root.makeParent(file) : this.#openParent(file, condition));
    try {
      const present = await findFile(folder, file);
      if (present && isSameInode(present, staged.stats)) {
        // An interrupted attempt has already given the staged file this name, which was free then.
        await rm(staged.path, { force: true });
        await folder.sync();
        onOutcome?.({ replaced: false });
        return entryOf(file, staged.stats);
      }
      await using place = isOnOtherFileSystem ? await this.#staging.placeIn(folder) : undefined;
      const source = place ? await copyTo(place, staged) : staged;
      const { path, stats } = source;
      const target = folder.at(nameOf(file));
      if (present) await adoptPermissions(source, { path: target, stats: present });
      else await inheritPermissions(source, folder);
      let syncVersion: (() => Promise<void>) | undefined;
      if (condition === 'absent') {
        if (present) throw preconditionFailed(file);
        if (source.isElsewhere) await renameTemporaryToNew(path, target);
        else await renameToNew(path, target, file, { temporary: this.#temporary });
      } else if (keep || etag !== undefined) {
        const placement = {
          replace: () => folder.syscalls.rename(path, target),
          create: () => renameTemporaryToNew(path, target),
        };
        syncVersion = await this.#versions.replace({ file, folder }, { keep, etag }, placement);
      } else {
        await this.#versions.exclusively(file, async () => {
          await folder.requireInPlace();
          await folder.syscalls.rename(path, target);
        });
      }
      await Promise.all([folder.sync(), syncVersion?.()]);
      onOutcome?.({ replaced: present !== undefined });
      return entryOf(file, stats);
    } catch (error) {
      throw systemErrorCode(error) === 'EEXIST' ? preconditionFailed(file, error) : toStoreError(error, file);
    }
  }
}

/** Copies a temporary file to a place on another file system. */
async function copyTo(place: StagingPlace, staged: StagedFile): Promise<StagedFile> {
  await using source = await open(staged.path, 'r');
  const stats = await copyOpenFile({ fd: source.fd, ...staged }, place.path);
  return { ...staged, path: place.path, stats, isElsewhere: true };
}

/** Maximum bytes that are queued while earlier ones are written. */
const MAX_QUEUED_BYTES = 1024 * 1024;

/** Maximum chunks that are queued: IOV_MAX, the limit of writev(2). */
const MAX_QUEUED_CHUNKS = 1024;

/**
 * Size in bytes up to which a file is written in one call at its end. The page cache accepts that many bytes in
 * microseconds.
 */
const MAX_SINGLE_WRITE_BYTES = 64 * 1024;

/**
 * Writes all of `body` to an open file and makes it durable. Chunks that arrive during a write are queued and written
 * together by the next one. Writes are therefore small for a slow client and large for a client faster than the disk.
 */
async function writeBody(syscalls: Syscalls, fd: number, body: Readable): Promise<void> {
  const queue = new WriteQueue(syscalls, fd, recyclerOf(body));
  try {
    await forEachChunk(body, (chunk) => queue.add(chunk));
  } finally {
    // The caller closes the file next, so all writes must have ended.
    await queue.idle();
  }
  await queue.finish();
  await syscalls.syncBytes(fd);
}

/** Bytes that an append leaves free on a full disk. */
const DISK_HEADROOM_BYTES = 4 * 2 ** 20;

/**
 * Appends a body to an open file of `offset` bytes, and makes it durable, also if the body fails: what arrived before
 * remains. With `verify`, a body that fails or is invalid is removed again: its bytes must not be taken for valid ones after
 * a power failure. If the disk is full, the last bytes are removed as well, so that the database can grow, and the upload can
 * be cancelled. Then throws the error of the body.
 */
export async function appendBody(
  syscalls: Syscalls,
  fd: number,
  body: Readable,
  { offset, verify }: { readonly offset: number; readonly verify?: (() => void | Promise<void>) | undefined },
): Promise<void> {
  const queue = new WriteQueue(syscalls, fd, recyclerOf(body));
  let failure: { readonly error: unknown } | undefined;
  try {
    await forEachChunk(body, (chunk) => queue.add(chunk));
  } catch (error) {
    failure = { error };
  }
  await queue.idle();
  try {
    await queue.finish();
    if (!failure) await verify?.();
  } catch (error) {
    failure ??= { error };
  }
  if (failure && verify) await syscalls.truncate(fd, offset);
  else if (isDiskFull(failure?.error)) {
    const size = Number((await syscalls.statOpen(fd)).size);
    await syscalls.truncate(fd, Math.max(offset, size - DISK_HEADROOM_BYTES));
  }
  await syscalls.syncBytes(fd);
  if (failure) throw failure.error;
}

/** The chunks that wait to be appended to an open file. */
class WriteQueue {
  readonly #syscalls: Syscalls;
  readonly #fd: number;
  readonly #recycle: ((chunk: Buffer) => void) | undefined;
  #chunks: Buffer[] = [];
  /** Total size of `#chunks` in bytes. */
  #queuedBytes = 0;
  /** Bytes added since the start. */
  #totalBytes = 0;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(syscalls: Syscalls, fd: number, recycle: ((chunk: Buffer) => void) | undefined) {
    this.#syscalls = syscalls;
    this.#fd = fd;
    this.#recycle = recycle;
  }

  /**
   * Queues a chunk. Returns a promise if the queue is full, which resolves when it is written. Throws the error of
   * earlier chunks.
   */
  add(chunk: Buffer): MaybePromise<void> {
    this.#throwFailure();
    this.#chunks.push(chunk);
    this.#queuedBytes += chunk.length;
    this.#totalBytes += chunk.length;
    if (this.#totalBytes > MAX_SINGLE_WRITE_BYTES) this.#writing ??= this.#writeQueued();
    const isFull = this.#queuedBytes >= MAX_QUEUED_BYTES || this.#chunks.length >= MAX_QUEUED_CHUNKS;
    return isFull ? this.#writing : undefined;
  }

  /** Resolves when no write is in progress. Never rejects. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  /** Writes the remaining chunks. Throws the error of earlier chunks. */
  async finish(): Promise<void> {
    this.#throwFailure();
    if (this.#chunks.length > 0) await this.#syscalls.write(this.#fd, Buffer.concat(this.#chunks));
  }

  // No sync in between: a sync every 32 MiB made a file of 256 MiB take three times as long.
  async #writeQueued(): Promise<void> {
    try {
      while (this.#chunks.length > 0) {
        const chunks = this.#chunks;
        this.#chunks = [];
        this.#queuedBytes = 0;
        await this.#syscalls.writeMany(this.#fd, chunks);
        if (this.#recycle) for (const chunk of chunks) this.#recycle(chunk);
      }
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#writing = undefined;
    }
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
