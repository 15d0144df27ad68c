import { lstat, mkdir, opendir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isStoreError, quoted, StoreError, systemErrorCode, undefinedIfNotFound } from '../../model/error.ts';
import { type KeptId, newKeptId } from '../../model/kept-ids.ts';
import type { NameComparison } from '../../model/name-comparison.ts';
import { type FolderPath, isFolder, nameOf, ROOT } from '../../model/path.ts';
import type {
  Bounded,
  Cancellable,
  Keep,
  Keeping,
  Replacing,
  Reporting,
  Store,
  TrashedItem,
} from '../../model/store.ts';
import {
  alreadyExists,
  concurrentlyModified,
  notEmpty,
  notFound,
  notInTrash,
  wrongRestoreKind,
} from '../../model/store-errors.ts';
import { findFolder, inParent, respell } from './atomic-rename.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { hasIdentity } from './identity.ts';
import { otherFileSystem, requireNoMounts, restoredToOtherFileSystem } from './mount-points.ts';
import { groupOfNewItems } from './permissions.ts';
import { type DiskLog, isNameInUse } from './recovery.ts';
import { newStagingName } from './reserved-names.ts';
import type { Root } from './root.ts';
import type { Staging, StagingPlace } from './staging.ts';
import type { Temporary } from './temporary.ts';
import type { DiskTrash } from './trash.ts';
import { copyTree, removeTree, requireNoArrivals, requireTransferable, type Transfer } from './trees.ts';

type FolderOptions = Replacing & Keeping & Reporting & Cancellable;

export interface DiskFolderOptions {
  readonly root: Root;
  readonly temporary: Temporary;
  readonly staging: Staging;
  readonly trash: DiskTrash;
  readonly list: Store['list'];
  readonly log: DiskLog;
}

/** A folder that was moved away because another one replaces it. */
interface ReplacedFolder {
  /** Moves it back to the absolute path `target`. */
  restore(target: string): Promise<void>;
  /** Called after the other folder has arrived. */
  finish(): Promise<void>;
}

/** Maximum attempts to replace a folder that other programs recreate meanwhile. */
const MAX_REPLACE_ATTEMPTS = 20;

/**
 * The operations on folders. Each takes effect by one rename, so that no reader sees a partial result. A move renames
 * the folder itself. A copy is completed under a temporary name and then renamed. A removal renames the folder to a
 * temporary name and then deletes it.
 */
export class DiskFolderOperations {
  readonly #root: Root;
  readonly #temporary: Temporary;
  readonly #staging: Staging;
  readonly #trash: DiskTrash;
  readonly #list: Store['list'];
  readonly #log: DiskLog;

  constructor({ root, temporary, staging, trash, list, log }: DiskFolderOptions) {
    this.#root = root;
    this.#temporary = temporary;
    this.#staging = staging;
    this.#trash = trash;
    this.#list = list;
    this.#log = log;
  }

  async exists(folder: FolderPath): Promise<boolean> {
    try {
      await using _opened = await this.#root.openFolder(folder);
      return true;
    } catch (error) {
      const known = toStoreError(error, folder);
      if (isStoreError(known, 'not-found')) return false;
      throw known;
    }
  }

  async createFolder(folder: FolderPath): Promise<void> {
    await using _created = await this.#root.makeFolder(folder);
  }

  async removeFolder(folder: FolderPath): Promise<void> {
    if (folder === ROOT) throw notEmpty(folder);
    await inParent(this.#root, folder, async (parent) => {
      try {
        await rmdir(parent.at(nameOf(folder)));
        await parent.sync();
      } catch (error) {
        throw systemErrorCode(error) === 'ENOTEMPTY' ? notEmpty(folder, error) : error;
      }
    });
  }

  async removeTree(
    folder: FolderPath,
    { before, identity, signal, onProgress }: Bounded & Reporting & Cancellable = {},
  ): Promise<void> {
    signal?.throwIfAborted();
    await inParent(this.#root, folder, async (parent) => {
      await requireNoMounts(this.#root.absolute(folder), folder);
      // Before the folder leaves its path, so that what arrived is never missing, also if the process is killed.
      if (before) await requireNoArrivals(parent.at(nameOf(folder)), { path: folder, before, signal });
      let moved = await this.#temporary.name();
      await using _note = await this.#renameFolder(parent, folder, moved, identity).then(
        () => undefined,
        async (error: unknown) => {
          if (!isStoreError(error, 'other-file-system')) throw error;
          const name = newStagingName();
          const note = await this.#temporary.noteHidden(join(parent.absolute, name));
          moved = parent.at(name);
          await this.#renameFolder(parent, folder, moved, identity);
          return note;
        },
      );
      await parent.sync();
      await removeTree(moved, { path: folder, before, onProgress }).catch(async (error: unknown) => {
        await this.#temporary.recovery.returnFolder(moved, parent.at(nameOf(folder)), folder);
        throw error;
      });
    });
  }

  /** Fulfils the contract of `Store.moveToTrash` for a folder. */
  async moveToTrash(
    folder: FolderPath,
    { id, user, identity, signal }: { id: KeptId; user?: string | undefined } & Bounded & Cancellable,
  ): Promise<TrashedItem> {
    signal?.throwIfAborted();
    return inParent(this.#root, folder, async (parent) => {
      await requireFolderAt(parent.at(nameOf(folder)), folder);
      return this.#trash.receive(folder, parent, { id, user }, (moved) => {
        requireFolder(moved, folder);
        if (!hasIdentity(moved, identity)) throw notFound(folder);
      });
    });
  }

  /** Fulfils the contract of `Store.restoreTrashed` for a folder. */
  async restoreTrashed(id: KeptId, to: FolderPath, { signal }: Cancellable): Promise<void> {
    const { item, content } = await this.#trash.find(id);
    if (!isFolder(item.path)) throw wrongRestoreKind(item.path, to);
    const { maxPathBytes } = this.#root;
    await requireTransferable({ absolute: content, from: item.path, to, isCopy: false, maxPathBytes }, { signal });
    signal?.throwIfAborted();
    try {
      await this.#renameTo(content, to, { replace: false });
    } catch (error) {
      const isGone = isStoreError(error, 'not-found') && (await isMissing(content));
      if (isGone) throw notInTrash(id, error);
      throw isStoreError(error, 'other-file-system') ? restoredToOtherFileSystem(to, error) : error;
    }
    await this.#trash.release(id);
    await this.#trash.sync();
  }

  async moveFolder(from: FolderPath, to: FolderPath, { replace, keep, signal }: FolderOptions): Promise<void> {
    await this.#requireTransferable({ from, to, isCopy: false }, { signal });
    rejectNesting(this.#root.names, from, to);
    signal?.throwIfAborted();
    await using parent = await this.#root.openParent(from);
    const source = parent.at(nameOf(from));
    await requireFolderAt(source, from);
    await requireNoMounts(this.#root.absolute(from), from);
    const requireInPlace = async () => {
      await parent.requireInPlace().catch((error: unknown) => {
        throw toStoreError(error, from);
      });
    };
    if (isSameName(this.#root.names, from, to)) await this.#respell(source, to);
    else await this.#renameTo(source, to, { replace, keep, requireInPlace });
    await parent.sync();
  }

  async copyFolder(from: FolderPath, to: FolderPath, { replace, keep, ...options }: FolderOptions): Promise<void> {
    try {
      rejectNesting(this.#root.names, from, to);
      if (isSameName(this.#root.names, from, to)) throw sameFolder(from, to);
      await this.#list(from, { limit: 1 });
      await using place = await this.#staging.placeFor(to);
      await this.#requireDestination(to, place, { replace });
      await this.#requireTransferable({ from, to, isCopy: true }, options);
      await mkdir(place.path);
      await using parent = await this.#root.openNearestParent(to);
      const group = await groupOfNewItems(parent);
      await copyTree({ root: this.#root, list: this.#list }, { from, to, copy: place.path, group }, options);
      options.signal?.throwIfAborted();
      await this.#renameTo(place.path, to, { replace, keep });
    } catch (error) {
      throw toStoreError(error, to);
    }
  }

  async #requireTransferable(
    transfer: Omit<Transfer, 'absolute' | 'maxPathBytes'>,
    options: Cancellable,
  ): Promise<void> {
    await using folder = await this.#root.openFolder(transfer.from);
    // `folder.path` is a link, which would not be followed.
    const { maxPathBytes } = this.#root;
    await requireTransferable({ absolute: folder.at('.'), ...transfer, maxPathBytes }, options);
  }

  /** Throws, before anything is copied, if the destination exists and can't or must not be replaced. */
  async #requireDestination(to: FolderPath, { isElsewhere }: StagingPlace, { replace }: Replacing): Promise<void> {
    const present = await undefinedIfNotFound(inParent(this.#root, to, (parent) => findFolder(parent, to)));
    if (!present) return;
    if (!replace) throw alreadyExists(to);
    await requireNoMounts(this.#root.absolute(to), to);
    // The replaced folder would have to move into Holdall's own folder.
    if (isElsewhere) throw otherFileSystem(to);
  }

  /**
   * Renames the folder at the absolute path `source` to `to`. Moves an existing folder of that name away first, as well
   * as any folder that appears there meanwhile: to the trash with `keep`, and to the recovery folder otherwise. Restores
   * these if the rename fails. If the process ends in between, they remain where they are. `requireInPlace` throws if the
   * folder of the source was moved meanwhile.
   */
  async #renameTo(
    source: string,
    to: FolderPath,
    { replace, keep, requireInPlace }: Replacing & Keeping & { requireInPlace?: () => Promise<void> },
  ): Promise<void> {
    await using parent = await this.#root.makeParent(to);
    const target = parent.at(nameOf(to));
    const replaced: ReplacedFolder[] = [];
    try {
      for (let attempt = 1; ; attempt++) {
        const present = await findFolder(parent, to);
        if (present && !replace) throw alreadyExists(to);
        const moved = present && (await this.#moveAway(parent, to, keep));
        if (moved !== undefined) replaced.unshift(moved);
        await requireInPlace?.();
        await parent.requireInPlace().catch((error: unknown) => {
          throw concurrentlyModified(error);
        });
        if (await renameToFree(source, target, { isLast: attempt === MAX_REPLACE_ATTEMPTS })) break;
      }
    } catch (error) {
      for (const moved of replaced) await moved.restore(target);
      throw isNameInUse(error) ? alreadyExists(to, error) : toStoreError(error, to);
    }
    await parent.sync();
    for (const moved of replaced) await moved.finish();
  }

  /** Renames a folder to another spelling of its name, which the file system treats as equal. */
  async #respell(source: string, to: FolderPath): Promise<void> {
    await using parent = await this.#root.openParent(to);
    try {
      await respell(source, parent.at(nameOf(to)), to, this.#temporary);
    } catch (error) {
      throw isNameInUse(error) ? alreadyExists(to, error) : toStoreError(error, to);
    }
    await parent.sync();
  }

  /** Moves a folder away that is replaced; returns undefined if it no longer exists. */
  async #moveAway(parent: Folder, folder: FolderPath, keep: Keep | undefined): Promise<ReplacedFolder | undefined> {
    await requireNoMounts(this.#root.absolute(folder), folder);
    try {
      return await (keep ? this.#moveReplacedToTrash(parent, folder, keep) : this.#moveToRecovery(parent, folder));
    } catch (error) {
      if (isStoreError(toStoreError(error, folder), 'not-found')) return undefined;
      throw error;
    }
  }

  async #moveReplacedToTrash(parent: Folder, folder: FolderPath, keep: Keep): Promise<ReplacedFolder> {
    await requireFolderAt(parent.at(nameOf(folder)), folder);
    const options = { id: newKeptId(), user: keep.user };
    const { id } = await this.#trash.receive(folder, parent, options, (moved) => requireFolder(moved, folder));
    return {
      restore: (target) => this.#trash.undo(id, target),
      finish: async () => keep.onKept?.(id),
    };
  }

  async #moveToRecovery(parent: Folder, folder: FolderPath): Promise<ReplacedFolder> {
    const { recovery } = this.#temporary;
    const moved = await recovery.reserve(nameOf(folder));
    try {
      await this.#renameFolder(parent, folder, moved);
    } catch (error) {
      await recovery.release(moved);
      throw error;
    }
    return {
      restore: (target) => recovery.restoreFolder(moved, target, folder),
      finish: () => this.#deleteReplaced(moved, folder),
    };
  }

  /** Renames a folder to the absolute path `moved`. Throws `not-found` if it is not a folder, or has another identity. */
  async #renameFolder(parent: Folder, folder: FolderPath, moved: string, identity?: string): Promise<void> {
    const source = parent.at(nameOf(folder));
    await requireFolderAt(source, folder);
    try {
      await parent.requireInPlace();
      await rename(source, moved);
    } catch (error) {
      throw toStoreError(error, folder);
    }
    const stats = await lstat(moved, { bigint: true });
    if (stats.isDirectory() && hasIdentity(stats, identity)) return;
    // Another program replaced the folder before the rename.
    const { recovery } = this.#temporary;
    if (stats.isDirectory()) await recovery.returnFolder(moved, source, folder);
    else await recovery.restoreFile(moved, source, folder);
    throw notFound(folder);
  }

  /**
   * Deletes a folder that was replaced. Moves it first, so that an interruption leaves a temporary folder. What can't be
   * deleted fails no request, because the other folder has arrived. It remains in the recovery folder.
   */
  async #deleteReplaced(moved: string, folder: FolderPath): Promise<void> {
    try {
      const temporary = await this.#temporary.name();
      await rename(moved, temporary);
      await removeTree(temporary, { path: folder }).catch(async (error: unknown) => {
        await rename(temporary, moved);
        throw error;
      });
      await this.#temporary.recovery.release(moved);
    } catch (error) {
      const message = 'A replaced folder could not be deleted and is kept in the recovery folder.';
      this.#log.error(message, { path: folder, recovered: moved, err: error });
    }
  }
}

/**
 * Renames a folder to a name that is free or belongs to an empty folder. An empty source needs a free name: of several,
 * only the first succeeds. Returns false if the name is taken, except in the last attempt, which throws.
 */
async function renameToFree(source: string, target: string, { isLast }: { isLast: boolean }): Promise<boolean> {
  let isReserved = false;
  try {
    // rename(2) replaces an empty destination. Several empty folders could therefore take the same name: mkdir(2)
    // reserves it.
    if (await isEmpty(source)) {
      await mkdir(target);
      isReserved = true;
    }
    await rename(source, target);
    return true;
  } catch (error) {
    if (isReserved) await rmdir(target).catch(() => {});
    // ENOTDIR: another program created a file of this name.
    if (!isLast && (isNameInUse(error) || systemErrorCode(error) === 'ENOTDIR')) return false;
    throw error;
  }
}

async function isEmpty(folder: string): Promise<boolean> {
  await using entries = await opendir(folder);
  return (await entries.read()) === null;
}

async function requireFolderAt(path: string, folder: FolderPath): Promise<void> {
  requireFolder(await lstat(path).catch(() => undefined), folder);
}

function requireFolder(found: { isDirectory(): boolean } | undefined, folder: FolderPath): void {
  if (!found?.isDirectory()) throw notFound(folder);
}

const isMissing = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => false,
    (error: unknown) => systemErrorCode(error) === 'ENOENT',
  );

/** Returns whether the file system might treat both paths as one. */
const isSameName = (names: NameComparison, from: FolderPath, to: FolderPath): boolean =>
  names.possible(from) === names.possible(to);

/**
 * Throws `folder-into-itself` if one folder might be inside the other under another spelling, on a file system that
 * folds names.
 */
function rejectNesting(names: NameComparison, from: FolderPath, to: FolderPath): void {
  const [source, destination] = [names.possible(from), names.possible(to)];
  if (source === destination || !(source.startsWith(destination) || destination.startsWith(source))) return;
  throw new StoreError(
    'folder-into-itself',
    `The folders ${quoted(from)} and ${quoted(to)} might be inside each other, because this file system ignores differences in spelling.`,
  );
}

function sameFolder(from: FolderPath, to: FolderPath): StoreError {
  return new StoreError(
    'same-path',
    `The source ${quoted(from)} and the destination ${quoted(to)} might be the same folder, because this file system ignores differences in spelling.`,
  );
}
