import type { BigIntStats } from 'node:fs';
import { lstat, open, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordingTime } from '../../model/clock.ts';
import { isStoreError, systemErrorCode } from '../../model/error.ts';
import { type KeptId, newKeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import { pageOfIds } from '../../model/page.ts';
import { type FilePath, type FolderPath, isFolder, nameOf, ROOT } from '../../model/path.ts';
import type { Cancellable, Reporting, TrashedItem, TrashListing, TrashPageOptions } from '../../model/store.ts';
import { notInTrash } from '../../model/store-errors.ts';
import { formatRecord } from '../trash-record.ts';
import { renameTemporaryToNew } from './atomic-rename.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import { requireNoMounts, trashOnOtherFileSystem } from './mount-points.ts';
import type { DiskLog } from './recovery.ts';
import type { Root } from './root.ts';
import type { Temporary } from './temporary.ts';
import { TrashRecords } from './trash-records.ts';
import { measureTree, removeTree } from './trees.ts';

export interface DiskTrashOptions {
  readonly root: Root;
  readonly temporary: Temporary;
  /** Absolute path of Holdall's own folder. */
  readonly ownFolder: string;
  readonly log: DiskLog;
}

/** An item in the trash and its content. */
export interface StoredItem {
  readonly item: TrashedItem;
  /** Absolute path of the file or folder. */
  readonly content: string;
  readonly stats: BigIntStats;
}

/** Number of items that are read in parallel for a listing. */
const LIST_CONCURRENCY = 16;

/** Remembered paths that a listing checks before it lets other requests run. */
const SCAN_BATCH = 1000;

/** Maximum number of items that are logged because they can't be listed. */
const MAX_REPORTED = 1000;

/** Milliseconds after which a record without content belongs to an operation that was interrupted. */
const ORPHANED_AFTER_MS = 60 * 60 * 1000;

/**
 * The folder `.holdall/trash`. Each item is a file or folder with the name of its id, and a record `ID.json`. Only the
 * content makes an item: a record is written before the content arrives, and removed after the content has left. So an
 * interruption at any point leaves the content either at its path or in the trash, with its record.
 */
export class DiskTrash {
  readonly #root: Root;
  readonly #temporary: Temporary;
  readonly #folder: string;
  readonly #records: TrashRecords;
  readonly #log: DiskLog;
  /** The items that were logged because they can't be listed. */
  readonly #reported = new Set<KeptId>();

  constructor({ root, temporary, ownFolder, log }: DiskTrashOptions) {
    this.#root = root;
    this.#temporary = temporary;
    this.#folder = join(ownFolder, 'trash');
    this.#records = new TrashRecords(root, this.#folder);
    this.#log = log;
  }

  /**
   * Moves a file or folder from its open parent folder to the trash and returns the item. `verify` gets the stats of
   * the moved content. If it throws, the content returns to its path.
   */
  async receive(
    path: FilePath | FolderPath,
    parent: Folder,
    { id: wanted, user }: { readonly id: KeptId; readonly user?: string | undefined },
    verify: (moved: BigIntStats) => void,
  ): Promise<TrashedItem> {
    if ((await parent.stats()).dev !== this.#root.device) throw trashOnOtherFileSystem(path);
    if (isFolder(path)) await requireNoMounts(this.#root.absolute(path), path);
    await this.#root.requireOwnFolder(this.#folder);
    const deletedAt = new Date(recordingTime());
    const id = await this.#reserve(wanted, formatRecord({ path, deletedAt, user }));
    const [source, content] = [parent.at(nameOf(path)), this.#contentOf(id)];
    try {
      await parent.requireInPlace();
      await rename(source, content);
    } catch (error) {
      await this.release(id);
      throw systemErrorCode(error) === 'EXDEV' ? trashOnOtherFileSystem(path, error) : error;
    }
    const stats = await lstat(content, { bigint: true });
    try {
      verify(stats);
    } catch (error) {
      await this.undo(id, source);
      throw error;
    }
    // In this order, so that a power failure in between leaves the content at one of both names.
    await this.sync();
    await parent.sync();
    return {
      id,
      path,
      deletedAt,
      ...(user !== undefined && { user }),
      ...(!isFolder(path) && { size: Number(stats.size) }),
    };
  }

  /**
   * Moves the content of an item back to the absolute path `target`, if that is free. Otherwise the item remains: the
   * path has newer content, and the older content must not be lost.
   */
  async undo(id: KeptId, target: string): Promise<void> {
    try {
      await renameUnlessUsed(this.#contentOf(id), target);
    } catch (error) {
      this.#log.warn('An item remains in the trash because it could not return to its path.', { id, err: error });
      return;
    }
    await this.release(id);
  }

  /**
   * Removes the record of an item whose content has left the trash. Only logs a failure, because a record without content is
   * no item.
   */
  async release(id: KeptId): Promise<void> {
    await rm(this.#records.pathOf(id), { force: true }).catch((error: unknown) =>
      this.#log.warn('The record of an item that left the trash could not be removed.', { id, err: error }),
    );
    this.#records.forget(id);
  }

  /** Makes earlier changes in the trash durable. */
  async sync(): Promise<void> {
    await this.#root.syncOwnFolder(this.#folder);
  }

  async find(id: KeptId): Promise<StoredItem> {
    await this.#root.requireOwnFolder(this.#folder);
    const found = timeOfKeptId(id) && (await this.#load(id));
    if (!found) throw notInTrash(id);
    return found;
  }

  /** Fulfils the contract of `Store.listTrash`. */
  async list({
    cursor,
    limit = Number.POSITIVE_INFINITY,
    isSelected = () => true,
    signal,
  }: TrashPageOptions): Promise<TrashListing> {
    const names = await this.#records.names();
    const { ids } = pageOfIds(names.ids, { cursor });
    const items: TrashedItem[] = [];
    for await (const { item } of this.#select(ids, isSelected, signal)) {
      items.push(item);
      if (items.length === limit && item.id !== ids.at(-1)) return { items, cursor: item.id };
    }
    // A complete listing already has all names, so it costs nothing to find the orphaned records.
    await this.#removeOrphans(names.orphans);
    return { items };
  }

  /** Yields the items with these ids whose path is selected. Reads no record of another item twice. */
  async *#select(
    ids: readonly KeptId[],
    isSelected: (path: FilePath | FolderPath) => boolean,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<StoredItem> {
    let batch: KeptId[] = [];
    for (const [index, id] of ids.entries()) {
      const path = this.#records.rememberedPath(id);
      if (path === undefined || isSelected(path)) batch.push(id);
      const isPause = (index + 1) % SCAN_BATCH === 0;
      if (batch.length < LIST_CONCURRENCY && !isPause && index + 1 < ids.length) continue;
      if (isPause) await nextTurn();
      signal?.throwIfAborted();
      for (const stored of await Promise.all(batch.map((each) => this.#load(each)))) {
        if (stored && isSelected(stored.item.path) && !(await this.#isRestored(stored))) yield stored;
      }
      batch = [];
    }
  }

  /** Fulfils the contract of `Store.measureTrashed`. */
  async measure(id: KeptId, { signal }: Cancellable = {}): Promise<number> {
    const { item, content } = await this.find(id);
    if (item.size !== undefined) return item.size;
    const size = await measureTree(content, { signal }).catch((error: unknown) => {
      throw systemErrorCode(error) === 'ENOENT' ? notInTrash(id, error) : toStoreError(error, ROOT);
    });
    await this.#replaceRecord(id, formatRecord({ ...item, size }));
    return size;
  }

  /** Fulfils the contract of `Store.purgeTrashed`. */
  async purge(id: KeptId, options: Reporting & Cancellable = {}): Promise<void> {
    options.signal?.throwIfAborted();
    const { item, content } = await this.find(id);
    try {
      if (isFolder(item.path)) await requireNoMounts(content, item.path);
      // The item disappears in one step. An interruption then leaves a temporary file or folder.
      const removed = await this.#temporary.name();
      await rename(content, removed).catch((error: unknown) => {
        throw systemErrorCode(error) === 'ENOENT' ? notInTrash(id, error) : error;
      });
      await this.sync();
      await this.#remove(item, removed, options);
    } catch (error) {
      const known = toStoreError(error, item.path);
      if (!isStoreError(known, 'not-found')) this.#reportUnpurged(id, content, known);
      throw known;
    }
    await this.release(id);
    await this.sync();
  }

  /** Removes the content of an item, which is at the absolute path `removed`. What can't be removed returns to the trash. */
  async #remove(item: TrashedItem, removed: string, options: Reporting): Promise<void> {
    try {
      await (isFolder(item.path) ? removeTree(removed, { ...options, path: item.path }) : unlink(removed));
    } catch (error) {
      // A listing can have removed the record meanwhile, and the size of a folder has changed.
      await this.#writeOver(item.id, formatRecord({ ...item, size: undefined })).catch(() => {});
      await rename(removed, this.#contentOf(item.id));
      throw error;
    }
  }

  /** Logs why an item can't be purged: the expiry and the user who empties the trash continue with other items. */
  #reportUnpurged(id: KeptId, path: string, error: unknown): void {
    const message = isStoreError(error, 'other-file-system')
      ? 'An item remains in the trash because another file system is mounted in it. Unmount that.'
      : 'An item remains in the trash because not all of it can be deleted.';
    this.#log.warn(message, { id, path, err: error });
  }

  /** Writes a record under the id `wanted`, or under a new one if that is in use. Returns the id. */
  async #reserve(wanted: KeptId, record: string): Promise<KeptId> {
    for (let id = timeOfKeptId(wanted) ? wanted : newKeptId(); ; id = newKeptId()) {
      try {
        await this.#writeRecord(id, record);
        return id;
      } catch (error) {
        if (systemErrorCode(error) !== 'EEXIST') throw error;
      }
    }
  }

  /** Writes a record and makes it durable. Rejects with EEXIST if an item or a record with the id exists. */
  async #writeRecord(id: KeptId, record: string): Promise<void> {
    const path = this.#records.pathOf(id);
    if (await isPresent(this.#contentOf(id))) throw Object.assign(new Error(`EEXIST: ${id}`), { code: 'EEXIST' });
    const write = async () => {
      await using handle = await open(path, 'wx', RECORD_MODE);
      await handle.writeFile(record);
      // Otherwise a power failure could leave the content with an empty record.
      await handle.datasync();
    };
    try {
      await write().catch(async (error: unknown) => {
        if (systemErrorCode(error) !== 'ENOENT') throw error;
        await this.#root.makeOwnFolder(this.#folder);
        await write();
      });
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') await rm(path, { force: true });
      throw error;
    }
  }

  /** Replaces the record of an item. Writes a new one first, so that the old one remains if the disk is full. */
  async #replaceRecord(id: KeptId, record: string): Promise<void> {
    await this.#writeOver(id, record);
    // The item might have left the trash meanwhile.
    if (!(await isPresent(this.#contentOf(id)))) await this.release(id);
  }

  async #writeOver(id: KeptId, record: string): Promise<void> {
    const temporary = await this.#temporary.name();
    try {
      await writeFile(temporary, record, { mode: RECORD_MODE, flush: true });
      await rename(temporary, this.#records.pathOf(id));
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /** Returns an item; undefined if its content is not in the trash. */
  async #load(id: KeptId): Promise<StoredItem | undefined> {
    const content = this.#contentOf(id);
    const stats = await lstat(content, { bigint: true }).catch(ignoreMissing);
    if (!stats) return undefined;
    const record = await this.#records.read(id);
    if (!record || isFolder(record.path) !== stats.isDirectory()) {
      await this.#reportUnlisted(
        id,
        record ? 'Its content and its record are of different kinds.' : 'It has no valid record.',
      );
      return undefined;
    }
    const { size, ...rest } = record;
    const known = isFolder(record.path) ? size : Number(stats.size);
    return { item: { id, ...rest, ...(known !== undefined && { size: known }) }, content, stats };
  }

  /** Logs once that the trash neither lists nor expires an item. */
  async #reportUnlisted(id: KeptId, reason: string): Promise<void> {
    const content = this.#contentOf(id);
    // The record is also missing while the item leaves the trash at this moment.
    if (this.#reported.has(id) || this.#reported.size === MAX_REPORTED || !(await isPresent(content))) return;
    this.#reported.add(id);
    this.#log.warn("An item in the trash can't be listed. Move it to its path, or delete it.", {
      path: content,
      reason,
    });
  }

  /**
   * Returns whether the content is also at its path, because a restore was interrupted between its two steps. Completes
   * the restore after a while. Most files have one name, so this costs nothing.
   */
  async #isRestored({ item: { id, path }, content, stats }: StoredItem): Promise<boolean> {
    if (isFolder(path) || stats.nlink === 1n) return false;
    const found = await lstat(join(this.#root.path, path), { bigint: true }).catch(() => undefined);
    if (found?.ino !== stats.ino || found.dev !== stats.dev) return false;
    if (Date.now() - Number(stats.ctimeMs) > ORPHANED_AFTER_MS) {
      await unlink(content).catch(ignoreMissing);
      await this.release(id);
    }
    return true;
  }

  async #removeOrphans(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.#folder, name);
      const found = await lstat(path).catch(ignoreMissing);
      if (found?.isFile() && Date.now() - found.mtimeMs > ORPHANED_AFTER_MS) await unlink(path).catch(ignoreMissing);
    }
  }

  #contentOf(id: KeptId): string {
    return join(this.#folder, id);
  }
}

/** Renames a file or folder. Rejects if anything but an empty folder, for a folder, has the name. */
async function renameUnlessUsed(from: string, to: string): Promise<void> {
  if ((await lstat(from)).isDirectory()) return rename(from, to);
  await renameTemporaryToNew(from, to);
}

/** Only the owner can read a record: it contains a username. */
const RECORD_MODE = 0o600;

function ignoreMissing(error: unknown): undefined {
  if (systemErrorCode(error) === 'ENOENT') return undefined;
  throw toStoreError(error, ROOT);
}

const isPresent = (path: string): Promise<boolean> => lstat(path).then(Boolean, () => false);
