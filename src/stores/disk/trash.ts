import type { BigIntStats } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quoted, StoreError, systemErrorCode } from '../../model/error.ts';
import { type KeptId, newKeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import { pageOfIds } from '../../model/page.ts';
import { type FilePath, type FolderPath, isFolder, nameOf, ROOT } from '../../model/path.ts';
import type { Cancellable, Reporting, TrashedItem, TrashListing } from '../../model/store.ts';
import { notInTrash } from '../../model/store-errors.ts';
import { formatRecord, parseRecord, type TrashRecord } from '../trash-record.ts';
import { renameTemporaryToNew } from './atomic-rename.ts';
import { toStoreError } from './errors.ts';
import type { Folder } from './folder.ts';
import type { DiskLog } from './recovery.ts';
import type { Root } from './root.ts';
import type { Temporary } from './temporary.ts';
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
  readonly #log: DiskLog;

  constructor({ root, temporary, ownFolder, log }: DiskTrashOptions) {
    this.#root = root;
    this.#temporary = temporary;
    this.#folder = join(ownFolder, 'trash');
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
    const deletedAt = new Date();
    const id = await this.#reserve(wanted, formatRecord({ path, deletedAt, user }));
    const [source, content] = [parent.at(nameOf(path)), this.#contentOf(id)];
    try {
      await rename(source, content);
    } catch (error) {
      await this.release(id);
      throw systemErrorCode(error) === 'EXDEV' ? onOtherFileSystem(path, error) : error;
    }
    const stats = await lstat(content, { bigint: true });
    try {
      verify(stats);
    } catch (error) {
      await this.undo(id, source);
      throw error;
    }
    await Promise.all([this.sync(), parent.sync()]);
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

  /** Removes the record of an item whose content has left the trash. */
  async release(id: KeptId): Promise<void> {
    await rm(this.#recordOf(id), { force: true });
  }

  /** Makes earlier changes in the trash durable. */
  async sync(): Promise<void> {
    await this.#root.syncOwnFolder(this.#folder);
  }

  async find(id: KeptId): Promise<StoredItem> {
    const found = timeOfKeptId(id) && (await this.#load(id));
    if (!found) throw notInTrash(id);
    return found;
  }

  /** Fulfils the contract of `Store.listTrash`. */
  async list(options: { cursor?: string; limit?: number }): Promise<TrashListing> {
    const names = await this.#names();
    const ids = names.filter((name) => timeOfKeptId(name)).toSorted() as KeptId[];
    const page = pageOfIds(ids, options);
    const items: TrashedItem[] = [];
    for (let start = 0; start < page.ids.length; start += LIST_CONCURRENCY) {
      const found = await Promise.all(page.ids.slice(start, start + LIST_CONCURRENCY).map((id) => this.#load(id)));
      for (const stored of found) if (stored && !(await this.#isRestored(stored))) items.push(stored.item);
    }
    // A complete listing already has all names, so it costs nothing to find the orphaned records.
    if (page.cursor === undefined) await this.#removeOrphanedRecords(names, new Set(ids));
    return { items, ...(page.cursor !== undefined && { cursor: page.cursor }) };
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
    // The item disappears in one step. An interruption then leaves a temporary file or folder.
    const removed = await this.#temporary.name();
    await rename(content, removed).catch((error: unknown) => {
      throw systemErrorCode(error) === 'ENOENT' ? notInTrash(id, error) : toStoreError(error, ROOT);
    });
    await this.release(id);
    await this.sync();
    if (!isFolder(item.path)) return rm(removed, { force: true });
    await removeTree(removed, options).catch((error: unknown) =>
      this.#log.warn('The content of a removed folder could not be deleted.', { path: removed, err: error }),
    );
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
    const path = this.#recordOf(id);
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
        await this.#root.requireSame();
        await mkdir(this.#folder, { recursive: true, mode: 0o700 });
        await write();
      });
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') await rm(path, { force: true });
      throw error;
    }
  }

  /** Replaces the record of an item. Writes a new one first, so that the old one remains if the disk is full. */
  async #replaceRecord(id: KeptId, record: string): Promise<void> {
    const temporary = await this.#temporary.name();
    try {
      await writeFile(temporary, record, { mode: RECORD_MODE, flush: true });
      await rename(temporary, this.#recordOf(id));
    } finally {
      await rm(temporary, { force: true });
    }
    // The item might have left the trash meanwhile.
    if (!(await isPresent(this.#contentOf(id)))) await this.release(id);
  }

  /** Returns an item; undefined if its content is not in the trash. */
  async #load(id: KeptId): Promise<StoredItem | undefined> {
    const content = this.#contentOf(id);
    const stats = await lstat(content, { bigint: true }).catch(ignoreMissing);
    const record = stats && (await this.#readRecord(id));
    if (!stats || !record || isFolder(record.path) !== stats.isDirectory()) return undefined;
    const { size, ...rest } = record;
    const known = isFolder(record.path) ? size : Number(stats.size);
    return { item: { id, ...rest, ...(known !== undefined && { size: known }) }, content, stats };
  }

  async #readRecord(id: KeptId): Promise<TrashRecord | undefined> {
    const text = await readFile(this.#recordOf(id), 'utf8').catch(ignoreMissing);
    const record = text === undefined ? undefined : parseRecord(text);
    // A missing record belongs to an item that leaves the trash at this moment.
    if (text !== undefined && !record) {
      this.#log.warn('An item in the trash has an invalid record and is not listed.', { id, folder: this.#folder });
    }
    return record;
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

  async #removeOrphanedRecords(names: readonly string[], ids: ReadonlySet<string>): Promise<void> {
    for (const name of names) {
      if (!name.endsWith(RECORD_SUFFIX) || ids.has(name.slice(0, -RECORD_SUFFIX.length))) continue;
      const path = join(this.#folder, name);
      const found = await stat(path).catch(ignoreMissing);
      if (found && Date.now() - found.mtimeMs > ORPHANED_AFTER_MS) await unlink(path).catch(ignoreMissing);
    }
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#folder);
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw toStoreError(error, ROOT);
      // The folder is missing until the first delete. On an unmounted disk it must not look empty.
      await this.#root.requireSame();
      return [];
    }
  }

  #contentOf(id: KeptId): string {
    return join(this.#folder, id);
  }

  #recordOf(id: KeptId): string {
    return join(this.#folder, id + RECORD_SUFFIX);
  }
}

/** Renames a file or folder. Rejects if anything but an empty folder, for a folder, has the name. */
async function renameUnlessUsed(from: string, to: string): Promise<void> {
  if ((await lstat(from)).isDirectory()) return rename(from, to);
  await renameTemporaryToNew(from, to);
}

function onOtherFileSystem(path: FilePath | FolderPath, cause: unknown): StoreError {
  const message = `${quoted(path)} is on another file system than DISK_ROOT, so it can't be moved to the trash. Delete it permanently.`;
  return new StoreError('unsupported', message, { cause });
}

const RECORD_SUFFIX = '.json';

/** Only the owner can read a record: it contains a username. */
const RECORD_MODE = 0o600;

function ignoreMissing(error: unknown): undefined {
  if (systemErrorCode(error) === 'ENOENT') return undefined;
  throw toStoreError(error, ROOT);
}

const isPresent = (path: string): Promise<boolean> => lstat(path).then(Boolean, () => false);
