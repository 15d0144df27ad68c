import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../cache/lru-options.ts';
import { mapAhead } from '../../concurrency/concurrently.ts';
import type { KeyedMutex } from '../../concurrency/keyed-mutex.ts';
import { deleteItems } from '../../files/folder-transfer.ts';
import type { ItemTree } from '../../files/item-tree.ts';
import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import { type KeptId, newKeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import { invalidCursor } from '../../model/page.ts';
import { type FilePath, type FolderPath, isFolder, nameOf } from '../../model/path.ts';
import type { Cancellable, Reporting, TrashedItem, TrashListing, TrashPageOptions } from '../../model/store.ts';
import { notInTrash, wrongRestoreKind } from '../../model/store-errors.ts';
import { TrashPaths } from '../trash-paths.ts';
import { formatRecord, parseRecord, type TrashRecord } from '../trash-record.ts';
import { type FileContext, moveFile } from './files.ts';
import type { Key } from './keys.ts';
import type { Leases } from './lease.ts';
import { MAX_KEYS, readPage } from './list.ts';
import { getText, headObject, type ListedObject, putObject } from './operations.ts';
import { OWN_FOLDER } from './own-folder.ts';
import { moveTree } from './tree-move.ts';

/** The folder of the records of items: small JSON objects. An item exists while its record exists. */
const RECORDS = `${OWN_FOLDER}trash/`;
const RECORD_SUFFIX = '.json';

/** The folder of the content of items, in a folder for each. */
const CONTENT = `${OWN_FOLDER}trash-content/`;

/** Maximum items that are read for a page, because each takes a request, and maximum requests in progress for a page. */
const MAX_PAGE_ITEMS = 200;
const LIST_CONCURRENCY = 32;

/** Maximum number of remembered records. A record never changes. */
const MAX_REMEMBERED = 5000;

export interface BucketTrashOptions {
  readonly context: FileContext;
  readonly tree: ItemTree<ListedObject>;
  readonly leases: Leases;
  /** Serializes the changes of one path or item in this process, so that few of them wait for leases. */
  readonly locks: KeyedMutex;
  /** Permanently removes what was deleted below a prefix, if the bucket has object versions. */
  readonly erase: (prefix: Key) => Promise<void>;
}

/** A record with the id of its item. */
export interface ItemRecord extends TrashRecord {
  readonly id: KeptId;
}

/** The items in the trash: a record and the content of each. */
export class BucketTrash {
  readonly #context: FileContext;
  readonly #tree: ItemTree<ListedObject>;
  readonly #leases: Leases;
  readonly #locks: KeyedMutex;
  readonly #erase: BucketTrashOptions['erase'];
  readonly #remembered = new LRUCache<KeptId, { readonly etag: string; readonly record: ItemRecord }>(
    maxEntries(MAX_REMEMBERED),
  );
  readonly #paths = new TrashPaths();

  constructor({ context, tree, leases, locks, erase }: BucketTrashOptions) {
    this.#context = context;
    this.#tree = tree;
    this.#leases = leases;
    this.#locks = locks;
    this.#erase = erase;
  }

  /** Fulfils the contract of `Store.findTrashed`. */
  async find(id: KeptId, options: Cancellable = {}): Promise<TrashedItem> {
    const record = await this.#read(id, options);
    if (!record) throw notInTrash(id);
    return itemOf(record);
  }

  /** Returns whether an item has the id. */
  async has(id: KeptId, options: Cancellable): Promise<boolean> {
    return (await undefinedIfNotFound(headObject(this.#context.bucket, keyOfRecord(id), options))) !== undefined;
  }

  /** Adds an item whose content is complete. Afterwards it is visible. */
  async add(record: ItemRecord): Promise<TrashedItem> {
    const size = record.size ?? (await this.sizeOf(record));
    const measured = { ...record, size };
    await putObject(this.#context.bucket, keyOfRecord(record.id), Buffer.from(formatRecord(measured)), {
      attributes: { 'content-type': 'application/json' },
    });
    return itemOf(measured);
  }

  /** Fulfils the contract of `Store.listTrash`. Reads no record of an item again that is not selected. */
  async list({
    cursor,
    limit = MAX_PAGE_ITEMS,
    isSelected = () => true,
    signal,
  }: TrashPageOptions = {}): Promise<TrashListing> {
    if (cursor !== undefined && timeOfKeptId(cursor) === undefined) throw invalidCursor(cursor);
    const size = Math.min(limit, MAX_PAGE_ITEMS);
    const request = { prefix: RECORDS, limit: MAX_KEYS, position: undefined, signal };
    for (let after = cursor === undefined ? undefined : keyOfRecord(cursor as KeptId); ; ) {
      const { objects, next } = await readPage(this.#context.bucket, { ...request, after });
      const records = objects.filter(({ key }) => idOfRecord(key) !== undefined);
      const wanted = records.filter(({ key }) => this.#canBeSelected(key, isSelected));
      const read = wanted.slice(0, size);
      const items: TrashedItem[] = [];
      for await (const { found } of mapAhead(each(read), LIST_CONCURRENCY, (object) =>
        this.#load(object, { signal }),
      )) {
        if (found && isSelected(found.path)) items.push(itemOf(found));
      }
      const last = wanted.length > size ? read.at(-1) : next && records.at(-1);
      if (items.length > 0 || (!last && !next)) return { items, ...(last && { cursor: idOfRecord(last.key) }) };
      // Other programs might have added objects.
      after = last?.key ?? next?.last;
    }
  }

  #canBeSelected(key: Key, isSelected: (path: FilePath | FolderPath) => boolean): boolean {
    const id = idOfRecord(key);
    const path = id === undefined ? undefined : this.#paths.get(id);
    return path === undefined || isSelected(path);
  }

  /** Fulfils the contract of `Store.restoreTrashed`. */
  async restore(
    id: KeptId,
    to: FilePath | FolderPath,
    { onProgress, signal }: Reporting & Cancellable = {},
  ): Promise<void> {
    signal?.throwIfAborted();
    await this.#exclusively(id, { signal }, async (record, leased) => {
      const content = contentOf(record);
      if (isFolder(to) !== isFolder(content)) throw wrongRestoreKind(record.path, to);
      const cancellable = { signal: signal ? AbortSignal.any([signal, leased]) : leased };
      if (isFolder(content) && isFolder(to)) {
        await moveTree(this.#tree, content, to, { onProgress, ...cancellable, removalSignal: leased });
      } else {
        await moveFile(this.#context, content as FilePath, to as FilePath, { replace: false, ...cancellable });
      }
    });
  }

  /** Fulfils the contract of `Store.purgeTrashed`. */
  async purge(id: KeptId, { onProgress, signal }: Reporting & Cancellable = {}): Promise<void> {
    signal?.throwIfAborted();
    await this.#exclusively(id, { signal }, async (record) => {
      await this.removeContent(record, { onProgress, signal });
    });
  }

  /** Removes the content of an item, or what remains of it. */
  async removeContent(record: Pick<ItemRecord, 'id' | 'path'>, options: Reporting & Cancellable): Promise<void> {
    const content = contentOf(record);
    if (isFolder(content)) await undefinedIfNotFound(deleteItems(this.#tree, content, options));
    else await this.#context.remover.removeObject(content, options);
  }

  /**
   * Runs a task that ends an item, while no other process changes the item. Removes the record afterwards, also if the
   * content no longer exists because an earlier task was interrupted.
   */
  async #exclusively(
    id: KeptId,
    { signal }: Cancellable,
    task: (record: ItemRecord, leased: AbortSignal) => Promise<void>,
  ): Promise<void> {
    await this.#locks.run(`item ${id}`, async () => {
      await this.find(id, { signal });
      const lease = await this.#leases.acquire(`item-${id}`, '', { signal });
      try {
        // Another process might have ended the item before this one acquired the lease.
        const record = await this.#read(id, { signal });
        if (!record) throw notInTrash(id);
        await task(record, lease.signal).catch(async (error: unknown) => {
          if (!isStoreError(error, 'not-found')) throw error;
          if (!(await this.isEmpty(record, {}))) throw error;
          await this.#forget(id);
          throw notInTrash(id, error);
        });
        await this.#forget(id);
      } finally {
        await lease.release();
      }
    });
  }

  /** Returns whether nothing of an item's content exists. */
  async isEmpty(record: Pick<ItemRecord, 'id' | 'path'>, options: Cancellable): Promise<boolean> {
    const content = contentOf(record);
    if (!isFolder(content)) return (await this.#context.copier.find(content, options)) === undefined;
    const { objects } = await readPage(this.#context.bucket, {
      prefix: content,
      limit: 1,
      position: undefined,
      ...options,
    });
    return objects.length === 0;
  }

  async #forget(id: KeptId): Promise<void> {
    this.#remembered.delete(id);
    this.#paths.delete(id);
    await this.#context.remover.removeObject(keyOfRecord(id), {});
    // In a bucket with object versions, the content would otherwise remain as versions.
    for (const prefix of [`${CONTENT}${id}/`, keyOfRecord(id)]) await this.#erase(prefix);
  }

  /** Returns the bytes of the content of an item. Lists a folder. */
  async sizeOf(record: ItemRecord): Promise<number> {
    const content = contentOf(record);
    if (!isFolder(content)) return (await this.#context.copier.find(content, {}))?.size ?? 0;
    let size = 0;
    for await (const item of this.#tree.walk(content, {})) size += item.size;
    return size;
  }

  /** Returns the record of a listed item; undefined if it has left the trash meanwhile. */
  async #load({ key, etag }: ListedObject, options: Cancellable): Promise<ItemRecord | undefined> {
    const id = idOfRecord(key);
    if (id === undefined) return undefined;
    const known = this.#remembered.get(id);
    if (known && etag !== '' && known.etag === etag) return known.record;
    return this.#read(id, options);
  }

  async #read(id: KeptId, { signal }: Cancellable): Promise<ItemRecord | undefined> {
    if (!timeOfKeptId(id)) return undefined;
    const { bucket } = this.#context;
    const found = await undefinedIfNotFound(getText(bucket, keyOfRecord(id), { signal }));
    if (!found) return undefined;
    const record = parseRecord(found.text);
    if (!record) {
      bucket.warn('An item in the trash has an invalid record and is not listed.', { key: keyOfRecord(id) });
      return undefined;
    }
    this.#remembered.set(id, { etag: found.head.etag, record: { id, ...record } });
    this.#paths.set(id, record.path);
    return { id, ...record };
  }
}

/** Returns the id for a new item: `wanted`, or a new one if it is in use or not an id of a bucket. */
export async function unusedId(trash: BucketTrash, wanted: KeptId, options: Cancellable): Promise<KeptId> {
  return timeOfKeptId(wanted) && !(await trash.has(wanted, options)) ? wanted : newKeptId();
}

/** Returns the key of the content of an item: of the file, or of the folder that contains it. */
export function contentOf({ id, path }: Pick<ItemRecord, 'id' | 'path'>): FilePath | FolderPath {
  const folder = `${CONTENT}${id}/`;
  if (isFolder(path)) return folder as FolderPath;
  const name = nameOf(path);
  return (folder + (Buffer.byteLength(name) <= MAX_NAME_BYTES ? name : 'file')) as FilePath;
}

/** Maximum bytes of a name that is part of the key of the content, so that no key is too long. */
const MAX_NAME_BYTES = 255;

const keyOfRecord = (id: KeptId): Key => `${RECORDS}${id}${RECORD_SUFFIX}`;

/** Returns the id of the item whose record has a key; undefined for any other key. */
function idOfRecord(key: Key): KeptId | undefined {
  const id = key.slice(RECORDS.length, -RECORD_SUFFIX.length);
  return key.endsWith(RECORD_SUFFIX) && timeOfKeptId(id) ? (id as KeptId) : undefined;
}

const itemOf = ({ id, path, deletedAt, user, size }: ItemRecord): TrashedItem => ({
  id,
  path,
  deletedAt,
  ...(user !== undefined && { user }),
  ...(size !== undefined && { size }),
});

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
