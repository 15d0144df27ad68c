import type { BigIntStats } from 'node:fs';
import { lstat, rename, unlink } from 'node:fs/promises';
import { isStoreError, quoted, StoreError, systemErrorCode } from '../../model/error.ts';
import type { KeptId } from '../../model/kept-ids.ts';
import { type FilePath, isFolder, nameOf } from '../../model/path.ts';
import type { ByteRange } from '../../model/range.ts';
import type {
  Cancellable,
  Content,
  FileEntry,
  Keeping,
  Replacing,
  TrashedItem,
  WriteCondition,
} from '../../model/store.ts';
import {
  alreadyExists,
  notFound,
  notInTrash,
  requireEtag,
  versionReplaced,
  wrongRestoreKind,
} from '../../model/store-errors.ts';
import { findFile, inParent, isOneName, renameToNew, respell } from './atomic-rename.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { copyOpenFile, entryOf, isSameInode, touch } from './metadata.ts';
import { restoredToOtherFileSystem } from './mount-points.ts';
import { contentOf } from './read.ts';
import type { OpenFile, Root } from './root.ts';
import type { Staging } from './staging.ts';
import type { Temporary } from './temporary.ts';
import type { DiskTrash } from './trash.ts';
import type { DiskVersions, Replaceable } from './versions.ts';
import type { DiskWriter } from './write.ts';

export interface DiskFileOptions {
  readonly root: Root;
  readonly temporary: Temporary;
  readonly staging: Staging;
  readonly writer: DiskWriter;
  readonly versions: DiskVersions;
  readonly trash: DiskTrash;
}

/** Maximum attempts of a move that concurrent changes interrupt. */
const MAX_MOVE_ATTEMPTS = 5;

/** The operations on existing files. They fulfil the contracts of the members of `Store` with the same names. */
export class DiskFileOperations {
  readonly #root: Root;
  readonly #temporary: Temporary;
  readonly #staging: Staging;
  readonly #writer: DiskWriter;
  readonly #trash: DiskTrash;
  readonly #versions: DiskVersions;

  constructor({ root, temporary, staging, writer, versions, trash }: DiskFileOptions) {
    this.#root = root;
    this.#temporary = temporary;
    this.#staging = staging;
    this.#writer = writer;
    this.#trash = trash;
    this.#versions = versions;
  }

  remove(file: FilePath, { ifMatch }: { readonly ifMatch?: string }): Promise<void> {
    return inParent(this.#root, file, async (folder) => {
      const found = await folder.find(nameOf(file));
      if (!found?.isFile()) throw notFound(file);
      requireEtag(entryOf(file, found), ifMatch);
      if (ifMatch === undefined) {
        await this.#versions.exclusively(file, async () => {
          await folder.requireInPlace();
          await unlink(folder.at(nameOf(file)));
        });
      } else await this.#ifUnchanged({ file, folder }, ifMatch, () => this.#removeVersion(folder, file, ifMatch));
      await folder.sync();
    });
  }

  /** Fulfils the contract of `Store.setModified`. */
  async setModified(file: FilePath, modified: Date): Promise<FileEntry> {
    try {
      return await this.#versions.exclusively(file, async () => {
        await using opened = await this.#root.openFile(file);
        return entryOf(file, await touch(opened, modified));
      });
    } catch (error) {
      throw toStoreError(error, file);
    }
  }

  /** Takes a file with the ETag `etag` away by `take`, while no other process replaces it. */
  async #ifUnchanged(target: Replaceable, etag: string, take: () => Promise<void>): Promise<void> {
    // The file was found before, so without one here, it was changed.
    const create = () => Promise.reject(versionReplaced(target.file));
    await this.#versions.replace(target, { etag }, { replace: take, create });
  }

  /**
   * Removes the file if it has the ETag `etag`. Renames it away before it checks the ETag, so that a newer version is
   * never removed.
   */
  async #removeVersion(folder: Folder, file: FilePath, etag: string): Promise<void> {
    const path = folder.at(nameOf(file));
    const moved = await this.#temporary.nameOfMoved();
    try {
      await rename(path, moved);
    } catch (error) {
      // On another file system, only changes by other programs can come between the check and the removal.
      if (systemErrorCode(error) === 'EXDEV') return unlink(path);
      throw error;
    }
    const version = entryOf(file, await lstat(moved, { bigint: true }));
    try {
      if (version.etag !== etag) throw versionReplaced(file);
      await unlink(moved);
    } catch (error) {
      await this.#temporary.recovery.restoreFile(moved, path, file);
      throw error;
    }
  }

  /** Fulfils the contract of `Store.moveToTrash` for a file. */
  async moveToTrash(
    file: FilePath,
    { id, user, ifMatch, signal }: { id: KeptId; user?: string | undefined; ifMatch?: string } & Cancellable,
  ): Promise<TrashedItem> {
    signal?.throwIfAborted();
    const verify = (found: BigIntStats | undefined) => {
      if (!found?.isFile()) throw notFound(file);
      requireEtag(entryOf(file, found), ifMatch);
    };
    return inParent(this.#root, file, async (folder) => {
      verify(await folder.find(nameOf(file)));
      const receive = () => this.#trash.receive(file, folder, { id, user }, verify);
      if (ifMatch === undefined) return this.#versions.exclusively(file, receive);
      const { promise, resolve } = Promise.withResolvers<TrashedItem>();
      await this.#ifUnchanged({ file, folder }, ifMatch, async () => resolve(await receive()));
      return promise;
    });
  }

  /** Fulfils the contract of `Store.restoreTrashed` for a file. */
  async restoreTrashed(id: KeptId, to: FilePath, { signal }: Cancellable): Promise<void> {
    const { item, content, stats } = await this.#trash.find(id);
    if (isFolder(item.path)) throw wrongRestoreKind(item.path, to);
    signal?.throwIfAborted();
    await using target = await this.#root.makeParent(to);
    try {
      const present = await findFile(target, to);
      if (present && !isSameInode(present, stats)) throw alreadyExists(to);
      const sync = () => target.sync();
      // A hard link of it at its own path comes from an interrupted restore.
      const move = to === item.path ? {} : { move: [id, to] as const };
      await renameToNew(content, target.at(nameOf(to)), to, { temporary: this.#temporary, sync, ...move });
    } catch (error) {
      if (systemErrorCode(error) === 'EEXIST') throw alreadyExists(to, error);
      if (systemErrorCode(error) === 'EXDEV') throw restoredToOtherFileSystem(to, error);
      throw systemErrorCode(error) === 'ENOENT' ? notInTrash(id, error) : toStoreError(error, to);
    }
    await this.#trash.release(id);
    await this.#trash.sync();
  }

  /** Fulfils the contract of `Store.readVersion`. */
  async readVersion(file: FilePath, id: KeptId, options: { range?: ByteRange; ifMatch?: string }): Promise<Content> {
    const opened = await this.#versions.open(file, id);
    return contentOf(opened, entryOf(file, opened.stats), options);
  }

  /** Fulfils the contract of `Store.restoreVersion`. */
  async restoreVersion(
    file: FilePath,
    id: KeptId,
    { condition, keep, signal }: { condition?: WriteCondition } & Keeping & Cancellable,
  ): Promise<FileEntry> {
    try {
      await using version = await this.#versions.open(file, id);
      return await this.#writeCopy(version, file, { condition, keep, signal });
    } catch (error) {
      throw toStoreError(error, file);
    }
  }

  async copy(
    from: FilePath,
    to: FilePath,
    { replace, keep, signal }: Replacing & Keeping & Cancellable,
  ): Promise<FileEntry> {
    if (this.#isRespelled(from, to)) throw sameFile(from, to);
    try {
      await using source = await this.#root.openFile(from);
      return await this.#writeCopy(source, to, { condition: replace ? undefined : 'absent', keep, signal });
    } catch (error) {
      if (!replace && isStoreError(error, 'condition-failed')) throw alreadyExists(to, error);
      throw toStoreError(error, to);
    }
  }

  /** Copies an open file to a path. */
  async #writeCopy(
    source: OpenFile,
    to: FilePath,
    { condition, keep, signal }: { condition: WriteCondition | undefined } & Keeping & Cancellable,
  ): Promise<FileEntry> {
    await this.#writer.requireWritable(to, condition);
    await using place = await this.#staging.placeFor(to);
    const { path, isElsewhere } = place;
    const staged = { path, stats: await copyOpenFile(source, path), isCopy: true, isElsewhere };
    signal?.throwIfAborted();
    return await this.#writer.commit(staged, to, { condition, keep });
  }

  async move(from: FilePath, to: FilePath, options: Replacing & Keeping): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === MAX_MOVE_ATTEMPTS;
      // Opened again for each attempt, because another request can have moved the folder.
      const isMoved = await inParent(this.#root, from, (folder) =>
        this.#moveOnce(folder, from, to, { ...options, isLast }),
      );
      if (isMoved) return;
    }
  }

  /**
   * Tries to move a file. Returns false if a concurrent change interfered, except in the last attempt, which throws.
   */
  async #moveOnce(
    folder: Folder,
    from: FilePath,
    to: FilePath,
    { replace, keep, isLast }: Replacing & Keeping & { isLast: boolean },
  ): Promise<boolean> {
    const source = await folder.find(nameOf(from));
    if (!source?.isFile()) throw notFound(from);
    await using target = await this.#root.makeParent(to);
    // Another request moved the folder meanwhile, and the file with it. Both paths are then one name of the file.
    const isInPlace = isSameInode(await folder.stats(), await target.stats());
    if (nameOf(from) === nameOf(to) && isInPlace) throw notFound(from);
    const [sourcePath, targetPath] = [folder.at(nameOf(from)), target.at(nameOf(to))];
    let syncTarget: (() => Promise<void>) | undefined = () => target.sync();
    const create = async () => {
      const sync = () => target.sync();
      await renameToNew(sourcePath, targetPath, from, { temporary: this.#temporary, sync, move: [from, to], replace });
      syncTarget = undefined;
    };
    const replaceTarget = async () => {
      await Promise.all([folder.requireInPlace(), target.requireInPlace()]);
      await rename(sourcePath, targetPath);
    };
    let syncVersion: (() => Promise<void>) | undefined;
    try {
      const present = await findFile(target, to);
      const isOneFile = isSameInode(present, source);
      if (present && isInPlace && (await isOneName(sourcePath, targetPath))) {
        await respell(sourcePath, targetPath, to, this.#temporary);
      }
      // rename(2) does nothing for two hard links of one file.
      else if (!replace || isOneFile) await create();
      else if (!keep) await this.#versions.exclusively(to, replaceTarget);
      else {
        const placement = { replace: replaceTarget, create };
        syncVersion = await this.#versions.replace({ file: to, folder: target }, { keep }, placement);
      }
    } catch (error) {
      const isNameInUse = systemErrorCode(error) === 'EEXIST';
      // The source, the destination or the destination folder changed meanwhile.
      const hasChanged = systemErrorCode(error) === 'ENOENT' || (isNameInUse && replace);
      if (hasChanged && !isLast) return false;
      throw isNameInUse ? alreadyExists(to, error) : toStoreError(error, to);
    }
    await Promise.all([syncTarget?.(), syncVersion?.()]);
    await folder.sync();
    return true;
  }

  /** Returns whether both paths are spellings of one name, which the file system treats as equal. */
  #isRespelled(from: FilePath, to: FilePath): boolean {
    const { names } = this.#root;
    return from !== to && names.certain(from) === names.certain(to);
  }
}

function sameFile(from: FilePath, to: FilePath): StoreError {
  return new StoreError(
    'same-path',
    `The source ${quoted(from)} and the destination ${quoted(to)} are the same file, because this file system ignores differences in spelling.`,
  );
}
