import { createHash } from 'node:crypto';
import type { KeyedMutex } from '../../concurrency/keyed-mutex.ts';
import type { ItemTree } from '../../files/item-tree.ts';
import { TreeComparison } from '../../files/tree-comparison.ts';
import { recordingTime } from '../../model/clock.ts';
import { isStoreError, quoted, StoreError, undefinedIfNotFound } from '../../model/error.ts';
import { type KeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import { type FilePath, type FolderPath, isFolder, PathTooLong } from '../../model/path.ts';
import type { Bounded, Cancellable, FileEntry, Reporting, TrashedItem } from '../../model/store.ts';
import { concurrentlyModified, inconsistentStore, requireEtag } from '../../model/store-errors.ts';
import { formatRecord, parseRecord } from '../trash-record.ts';
import { boundedTree } from './bounded-tree.ts';
import type { FileContext } from './files.ts';
import { LEASES, type Lease, type Leases } from './lease.ts';
import { requestPage } from './list.ts';
import type { ListedObject } from './operations.ts';
import { type BucketTrash, contentOf, type ItemRecord, unusedId } from './trash.ts';
import { moveTree } from './tree-move.ts';

/** Maximum attempts to move a file that changes meanwhile. */
const MAX_MOVE_ATTEMPTS = 5;

export interface DeleteOptions extends Bounded, Reporting, Cancellable {
  readonly id: KeptId;
  readonly user?: string | undefined;
  readonly ifMatch?: string;
}

export interface TrashDeletesOptions {
  readonly context: FileContext;
  readonly tree: ItemTree<ListedObject>;
  readonly leases: Leases;
  readonly locks: KeyedMutex;
  readonly trash: BucketTrash;
}

/**
 * The moves of files and folders to the trash. Each holds a lease on its path, which records the item. The record of the
 * item follows when nothing remains at the path, so no item can be restored while objects are still deleted at its path.
 *
 * If a process dies, the lease expires. The next delete of the path then completes the move. The next listing of the trash
 * undoes the move if it had only copied, and otherwise makes an item of what was moved.
 */
export class TrashDeletes {
  readonly #context: FileContext;
  readonly #tree: ItemTree<ListedObject>;
  readonly #leases: Leases;
  readonly #locks: KeyedMutex;
  readonly #trash: BucketTrash;

  constructor({ context, tree, leases, locks, trash }: TrashDeletesOptions) {
    this.#context = context;
    this.#tree = tree;
    this.#leases = leases;
    this.#locks = locks;
    this.#trash = trash;
  }

  /** Fulfils the contract of `Store.moveToTrash`. */
  async move(path: FilePath | FolderPath, options: DeleteOptions): Promise<TrashedItem> {
    options.signal?.throwIfAborted();
    return this.#locks.run(path, async () => {
      let id: KeptId;
      try {
        [id] = await Promise.all([unusedId(this.#trash, options.id, options), this.#requirePresent(path, options)]);
      } catch (error) {
        // An interrupted move might have removed everything.
        const item = isStoreError(error, 'not-found') && (await this.#completeExpired(leaseOf(path), options));
        if (item) return item;
        throw error;
      }
      const record = { id, path, deletedAt: new Date(recordingTime()), user: options.user };
      for (let attempt = 1; ; attempt++) {
        const item = await this.#tryMove(record, options);
        if (item) return item;
        if (attempt === MAX_MOVE_ATTEMPTS) throw concurrentlyModified();
      }
    });
  }

  /** Completes or undoes the moves of processes that died. */
  async completeInterrupted({ signal }: Cancellable): Promise<void> {
    const { objects } = await requestPage(this.#context.bucket, { prefix: LEASES, signal });
    for (const { key } of objects) await this.#completeExpired(key.slice(LEASES.length), { signal });
  }

  /**
   * Moves the path to the trash, or completes the interrupted move of it. Returns undefined if that one ended before the
   * path got its present content.
   */
  async #tryMove(record: ItemRecord, options: DeleteOptions): Promise<TrashedItem | undefined> {
    const lease = await this.#leases.acquire(leaseOf(record.path), formatTask(record), options);
    const interrupted = parseTask(lease.interrupted);
    const moving = interrupted ?? record;
    let end: 'release' | 'leave' | 'abandon' = 'release';
    try {
      if (interrupted && (await this.#trash.has(interrupted.id, options))) return undefined;
      const isResumed = interrupted !== undefined && !(await this.#trash.isEmpty(interrupted, options));
      const size = await this.#moveContent(moving, lease, { ...options, isResumed });
      if (size !== undefined) return await this.#trash.add({ ...moving, size });
      await this.#complete(moving, options);
      return undefined;
    } catch (error) {
      // Content in the trash that is no item yet: the next process continues. After a request without response, it must not
      // do so before the lease expires, because the store might still execute the request.
      const isEmpty = await this.#trash.isEmpty(moving, {}).catch(() => false);
      const isOver = isStoreError(error) && error.kind !== 'unavailable';
      if (!isEmpty) end = isOver ? 'leave' : 'abandon';
      throw error;
    } finally {
      await lease[end]();
    }
  }

  /**
   * Moves the content of a path to the trash and returns its size. Returns undefined if the interrupted move had moved
   * another content.
   */
  async #moveContent(
    record: ItemRecord,
    lease: Lease,
    { ifMatch, before, onProgress, signal: cancelled, isResumed }: DeleteOptions & { isResumed: boolean },
  ): Promise<number | undefined> {
    const signal = cancelled ? AbortSignal.any([cancelled, lease.signal]) : lease.signal;
    const content = contentOf(record);
    if (!isFolder(record.path)) {
      const move = {
        from: record.path,
        to: content as FilePath,
        ifMatch,
        isResumed,
        signal,
        removalSignal: lease.signal,
      };
      return this.#moveFile(move);
    }
    try {
      await moveTree(boundedTree(this.#tree, record.path, before), record.path, content as FolderPath, {
        onProgress,
        signal,
        removalSignal: lease.signal,
      });
      return await this.#trash.sizeOf(record);
    } catch (error) {
      if (isResumed && isStoreError(error, 'already-exists')) return undefined;
      if (!(error instanceof PathTooLong)) throw error;
      throw tooLongForTrash(record.path, record.path + error.path.slice(content.length), error);
    }
  }

  async #moveFile(move: FileMove): Promise<number | undefined> {
    const { from, to, ifMatch, isResumed, signal, removalSignal } = move;
    const { stat, copier, remover, entries } = this.#context;
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === MAX_MOVE_ATTEMPTS;
      const source = await stat(from, { signal });
      requireEtag(source, ifMatch);
      if (isResumed && !(await this.#isCopied(source, to, { signal }))) return undefined;
      try {
        await copier.copyQuickly({ ...source, key: from }, to, { exclusive: false, signal });
        entries.forget(from);
        await remover.removeObject(from, { ifMatch: source.etag, signal: removalSignal });
        return source.size;
      } catch (error) {
        const hasChanged = isStoreError(error, 'condition-failed') || isStoreError(error, 'not-found');
        // The file was not removed, so its copy is not needed.
        if (hasChanged) await remover.removeObject(to, {});
        if (!hasChanged || isLast) throw isStoreError(error, 'not-found') ? inconsistentStore(from, error) : error;
      }
    }
  }

  /** Returns whether the content in the trash is a copy of the file. */
  async #isCopied({ etag }: FileEntry, content: FilePath, options: Cancellable): Promise<boolean> {
    return this.#context.copier.isCopyOf(content, etag, options);
  }

  /** Completes a move whose process died. Returns undefined if there was none. */
  async #completeExpired(name: string, options: Cancellable): Promise<TrashedItem | undefined> {
    const lease = await this.#leases.acquireExpired(name, options);
    if (!lease) return undefined;
    const record = parseTask(lease.interrupted);
    try {
      const item = record && (await this.#complete(record, options));
      await lease.release();
      return item;
    } catch (error) {
      await lease.abandon();
      throw error;
    }
  }

  /**
   * Ends an interrupted move. If everything in the trash is also still at the path, removes it from the trash. Otherwise
   * returns it as an item.
   */
  async #complete(record: ItemRecord, options: Cancellable): Promise<TrashedItem | undefined> {
    if (await this.#trash.has(record.id, options)) return this.#trash.find(record.id, options);
    if (await this.#trash.isEmpty(record, options)) return undefined;
    if (!(await this.#isAllAtPath(record, options))) return this.#trash.add(record);
    await this.#trash.removeContent(record, {});
    return undefined;
  }

  async #isAllAtPath(record: ItemRecord, options: Cancellable): Promise<boolean> {
    const { path } = record;
    const content = contentOf(record);
    if (!isFolder(path)) {
      const source = await undefinedIfNotFound(this.#context.stat(path, options));
      return source !== undefined && this.#isCopied(source, content as FilePath, options);
    }
    const folder = content as FolderPath;
    let missing = 0;
    for await (const _ of this.#tree.walk(folder, options)) missing++;
    for await (const _ of new TreeComparison(this.#tree, path, folder).copiedPairs()) missing--;
    return missing === 0;
  }

  async #requirePresent(path: FilePath | FolderPath, { ifMatch, before, signal }: DeleteOptions): Promise<void> {
    if (isFolder(path)) await boundedTree(this.#tree, path, before).requireFolder(path, { signal });
    else requireEtag(await this.#context.stat(path, { signal }), ifMatch);
  }
}

interface FileMove extends Cancellable {
  readonly from: FilePath;
  readonly to: FilePath;
  readonly ifMatch: string | undefined;
  readonly isResumed: boolean;
  /** Stops the removal of the source, which `signal` does not. */
  readonly removalSignal: AbortSignal;
}

/** Returns the name of the lease on a path. It has a fixed length, and no character of the path. */
const leaseOf = (path: FilePath | FolderPath): string => `path-${createHash('sha256').update(path).digest('hex')}`;

const formatTask = (record: ItemRecord): string => `${record.id} ${formatRecord(record)}`;

/** Parses the task of a lease; undefined for a lease on an item. */
function parseTask(task = ''): ItemRecord | undefined {
  const [id = '', ...rest] = task.split(' ');
  const record = timeOfKeptId(id) ? parseRecord(rest.join(' ')) : undefined;
  return record && { id: id as KeptId, ...record };
}

function tooLongForTrash(folder: FolderPath, path: string, cause: unknown): StoreError {
  const message = `The folder ${quoted(folder)} contains the path ${quoted(path)}, which is too long for the trash. Delete the folder permanently.`;
  return new StoreError('path-too-long', message, { cause });
}
