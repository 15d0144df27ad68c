import { constants } from 'node:fs';
import { lstat, readdir, readlink, rm, symlink, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { isStoreError, quoted, StoreError, undefinedIfNotFound } from '../../model/error.ts';
import { type FilePath, ROOT } from '../../model/path.ts';
import type {
  AppendOptions,
  Cancellable,
  OrphanedUploads,
  PendingUpload,
  UploadDestination,
} from '../../model/store.ts';
import { toStoreError } from './errors.ts';
import { isAt } from './folder.ts';
import { isStagingName, UPLOADS_FOLDER } from './reserved-names.ts';
import type { Root } from './root.ts';
import { makeHidden, type Staging } from './staging.ts';
import { removeItem, type Temporary } from './temporary.ts';
import { appendBody, type DiskWriter } from './write.ts';

/** Opens the file of an upload to append to it. Other programs can have replaced it by a symbolic link. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW;

export interface DiskUploadsOptions {
  readonly root: Root;
  readonly temporary: Temporary;
  readonly staging: Staging;
  readonly writer: DiskWriter;
  /** Absolute path of Holdall's own folder. */
  readonly ownFolder: string;
}

/**
 * The folder `.holdall/uploads`: one file for each upload whose content arrives in several requests, with the ID of the
 * upload as its name. Its size is the offset, so that nothing else has to agree with it after a crash. If the destination is
 * on another file system, the content is there, and the file is a link to it.
 */
export class DiskUploads {
  readonly #root: Root;
  readonly #writer: DiskWriter;
  readonly #temporary: Temporary;
  readonly #staging: Staging;
  readonly #folder: string;

  constructor({ root, temporary, staging, writer, ownFolder }: DiskUploadsOptions) {
    this.#root = root;
    this.#temporary = temporary;
    this.#staging = staging;
    this.#writer = writer;
    this.#folder = join(ownFolder, UPLOADS_FOLDER);
  }

  /** Fulfils the contract of `Store.createUpload`. */
  async create(id: string, { file, condition }: UploadDestination): Promise<void> {
    await this.#writer.requireWritable(file, condition);
    try {
      await this.#temporary.withoutDefaultAcl();
      await this.#root.makeOwnFolder(this.#folder);
      await this.#createContent(this.#pathOf(id), file);
      await this.#root.syncOwnFolder(this.#folder);
    } catch (error) {
      throw toStoreError(error, ROOT);
    }
  }

  /** Creates the file of an upload, on the file system of its destination where the process is permitted to. */
  async #createContent(path: string, file: FilePath): Promise<void> {
    const syscalls = this.#root.system.sync;
    const elsewhere = await this.#staging.lastingPathFor(file);
    if (elsewhere !== undefined) {
      // First, so that an interruption leaves nothing without a link to it.
      await symlink(elsewhere, path);
      try {
        await makeHidden(dirname(elsewhere));
        return await syscalls.close(await syscalls.create(elsewhere));
      } catch {
        await unlink(path);
        await removeItem(dirname(elsewhere)).catch(() => {});
      }
    }
    await syscalls.close(await syscalls.create(path));
  }

  /** Fulfils the contract of `Store.openUpload`. */
  async open(id: string): Promise<PendingUpload> {
    await this.#root.requireOwnFolder(this.#folder);
    const path = await this.#contentOf(id);
    const { size } = await this.#withFile(path, id, (fd) => this.#root.system.sync.statOpen(fd));
    return {
      offset: Number(size),
      append: (body, options) => this.#append(path, id, body, { ...options, offset: Number(size) }),
      commit: async (file, { modified }, options) => {
        const stats = await this.#withFile(path, id, (fd) => this.#root.system.sync.statOpen(fd));
        const isElsewhere = path !== this.#pathOf(id);
        const staged = { path, stats, isElsewhere };
        const entry = await this.#writer.commitStaged(staged, file, { ...options, modified: modified?.() });
        if (isElsewhere) await this.#remove(id, path);
        return entry;
      },
      remove: () => this.#remove(id, path),
    };
  }

  /** Fulfils the contract of `Store.removeUploads`. */
  async removeOrphaned({ before, isOrphaned, signal }: OrphanedUploads & Cancellable): Promise<number> {
    let count = 0;
    await this.#root.requireOwnFolder(this.#folder);
    for (const id of (await ifPresent(readdir(this.#folder))) ?? []) {
      signal?.throwIfAborted();
      if (!ID.test(id)) continue;
      const path = await this.#contentOf(id).catch(() => this.#pathOf(id));
      const stats = (await ifPresent(lstat(path))) ?? (await ifPresent(lstat(this.#pathOf(id))));
      // Not `mtime`, which a failed commit sets to the time that the client sent.
      if (!stats || stats.isDirectory() || stats.ctime >= before || !(await isOrphaned(id))) continue;
      await this.#remove(id, path);
      count++;
    }
    return count;
  }

  async #append(
    path: string,
    id: string,
    body: Readable,
    { offset, verify, signal }: AppendOptions & { readonly offset: number },
  ): Promise<number> {
    const { sync } = this.#root.system;
    const abort = () => void body.destroy(signal?.reason);
    try {
      if (signal?.aborted) abort();
      signal?.addEventListener('abort', abort);
      return await this.#withFile(path, id, async (fd) => {
        await appendBody(sync, fd, body, { offset, verify });
        return Number((await sync.statOpen(fd)).size);
      });
    } catch (error) {
      body.destroy();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Runs a task with the open file of an upload. Throws `not-found` if it does not exist. */
  async #withFile<Result>(path: string, id: string, task: (fd: number) => Result | Promise<Result>): Promise<Result> {
    const { sync } = this.#root.system;
    let fd: number;
    try {
      fd = await sync.open(path, APPEND);
    } catch (error) {
      const translated = toStoreError(error, ROOT);
      throw isStoreError(translated, 'not-found') ? uploadNotFound(id, error) : translated;
    }
    try {
      // On another file system, other programs can have replaced a folder by a link.
      if (path !== this.#pathOf(id) && !(await isAt(sync, fd, path, this.#root.names))) throw uploadNotFound(id);
      return await task(fd);
    } catch (error) {
      throw toStoreError(error, ROOT);
    } finally {
      await sync.close(fd);
    }
  }

  /** Returns the path of the content of an upload. */
  async #contentOf(id: string): Promise<string> {
    const path = this.#pathOf(id);
    const elsewhere = await readlink(path).catch(() => undefined);
    return elsewhere !== undefined && isStagingName(basename(dirname(elsewhere))) ? elsewhere : path;
  }

  async #remove(id: string, content: string): Promise<void> {
    if (content !== this.#pathOf(id)) await removeItem(dirname(content));
    await rm(this.#pathOf(id), { force: true });
  }

  #pathOf(id: string): string {
    if (!ID.test(id)) throw uploadNotFound(id);
    return join(this.#folder, id);
  }
}

/** An ID of letters, digits and `-`, which is also a valid name of a file. */
const ID = /^[\dA-Za-z-]{1,64}$/;

/** Returns the result of a call; undefined if the file or folder does not exist. */
const ifPresent = <Result>(call: Promise<Result>): Promise<Result | undefined> =>
  undefinedIfNotFound(
    call.catch((error: unknown) => {
      throw toStoreError(error, ROOT);
    }),
  );

function uploadNotFound(id: string, cause?: unknown): StoreError {
  return new StoreError('not-found', `The upload ${quoted(id)} does not exist.`, { cause });
}
