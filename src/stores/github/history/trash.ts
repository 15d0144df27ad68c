import { LRUCache } from 'lru-cache';
import { createKeyedMutex } from '../../../concurrency/keyed-mutex.ts';
import { type KeptId, newKeptId, timeOfKeptId } from '../../../model/kept-ids.ts';
import { pageOfIds } from '../../../model/page.ts';
import { type FilePath, type FolderPath, isFolder, withoutSlash } from '../../../model/path.ts';
import type { Cancellable, Reporting, TrashedItem, TrashListing, TrashStore } from '../../../model/store.ts';
import { notInTrash, wrongRestoreKind } from '../../../model/store-errors.ts';
import type { TreeEntry } from '../branch/objects.ts';
import type { ServedFolder } from '../branch/served-folder.ts';
import type { Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import { moveToTrash, restore } from '../commits/changes.ts';
import type { CommitQueue } from '../commits/commit-queue.ts';
import { parseTrailers, type TrashedEntry } from '../commits/trailers.ts';
import { type FolderMeter, requireLengths, singleStepProgress } from '../folders.ts';
import type { Host } from '../host/host.ts';
import { type CommitLog, MAX_READ_COMMITS } from './commit-log.ts';

/** Maximum remembered sizes of folders. */
const MAX_SIZES = 1000;

export interface BranchTrashOptions {
  readonly host: Host;
  readonly trees: Trees;
  readonly snapshots: Snapshots;
  readonly served: ServedFolder;
  readonly queue: CommitQueue;
  readonly log: CommitLog;
  readonly meter: FolderMeter;
}

/** An item, and the commit before the one that deleted it. */
interface StoredItem {
  readonly item: TrashedItem;
  readonly parent: string | undefined;
  readonly trashed: TrashedEntry;
}

/** What the trailers of a commit say. */
interface ReadCommit {
  readonly sha: string;
  readonly parent: string | undefined;
  readonly trashed: readonly TrashedEntry[];
  readonly restored: readonly KeptId[];
}

type DeleteOptions = Parameters<TrashStore['moveToTrash']>[1];

/**
 * The trash of a branch: its history. A commit of Holdall records in its message what it moved to the trash, and another
 * one that it was restored. Nothing is copied, and nothing can be removed from the history.
 */
export class BranchTrash {
  readonly #options: BranchTrashOptions;
  /** The newest commits of the last head that was read, the newest first. */
  #known: readonly ReadCommit[] = [];
  #head: string | undefined;
  readonly #reading = createKeyedMutex();
  readonly #sizes = new LRUCache<string, number>({ max: MAX_SIZES });

  constructor(options: BranchTrashOptions) {
    this.#options = options;
  }

  /** Fulfils the contract of `Store.moveToTrash`. */
  async move(path: FilePath | FolderPath, options: DeleteOptions): Promise<TrashedItem> {
    const { user, ifMatch, signal, onProgress } = options;
    const { queue, meter } = this.#options;
    const id = timeOfKeptId(options.id) ? options.id : newKeptId();
    const progress = singleStepProgress({ onProgress });
    const checkFolder = async ({ sha }: TreeEntry) => {
      if (onProgress) progress.begin(await meter.measure(sha, { isRequired: false, signal }));
    };
    const entry = await queue.run(moveToTrash(path, { id, user, ifMatch }, checkFolder), signal);
    progress.end();
    return this.#itemOf({ id, path, entry, user }, path);
  }

  /** Fulfils the contract of `Store.listTrash`. */
  async list({ signal, ...page }: { cursor?: string; limit?: number } & Cancellable): Promise<TrashListing> {
    const items = await this.#items(await this.#headNow({ signal }), { signal });
    const { ids, cursor } = pageOfIds([...items.keys()].toSorted(), page);
    const listed = ids.flatMap((id) => items.get(id)?.item ?? []);
    return { items: listed, ...(cursor !== undefined && { cursor }) };
  }

  /** Fulfils the contract of `Store.findTrashed`. */
  async find(id: KeptId, options: Cancellable): Promise<TrashedItem> {
    return (await this.#find(id, await this.#headNow(options), options)).item;
  }

  /** Fulfils the contract of `Store.measureTrashed`. */
  async measure(id: KeptId, options: Cancellable): Promise<number> {
    const stored = await this.#find(id, await this.#headNow(options), options);
    if (stored.item.size !== undefined) return stored.item.size;
    const { sha } = await this.#entryOf(stored, options);
    const size = (await this.#options.meter.measure(sha, { ...options, isRequired: true }))?.bytes ?? 0;
    this.#sizes.set(sha, size);
    return size;
  }

  /** Fulfils the contract of `Store.restoreTrashed`. */
  async restore(id: KeptId, to: FilePath | FolderPath, { onProgress, signal }: Reporting & Cancellable): Promise<void> {
    signal?.throwIfAborted();
    const { queue, meter, snapshots } = this.#options;
    const stored = await this.#find(id, (await snapshots.latest({ signal })).head, { signal });
    const { path } = stored.item;
    if (isFolder(path) !== isFolder(to)) throw wrongRestoreKind(path, to);
    const entry = await this.#entryOf(stored, { signal });
    const progress = singleStepProgress({ onProgress });
    if (isFolder(path) && isFolder(to)) {
      const size = await meter.measure(entry.sha, { isRequired: true, signal });
      if (size) requireLengths(size, path, to);
      progress.begin(size);
    }
    const stillThere = async (head: string) => {
      await this.#find(id, head, {});
      return entry;
    };
    await queue.run(restore(id, to, stillThere), signal);
    progress.end();
  }

  async #headNow(options: Cancellable): Promise<string | undefined> {
    return (await this.#options.snapshots.current(options)).head;
  }

  async #find(id: KeptId, head: string | undefined, options: Cancellable): Promise<StoredItem> {
    const found = timeOfKeptId(id) && (await this.#items(head, options)).get(id);
    if (!found) throw notInTrash(id);
    return found;
  }

  /** Returns the items in the trash at a commit. */
  async #items(head: string | undefined, options: Cancellable): Promise<ReadonlyMap<KeptId, StoredItem>> {
    const items = new Map<KeptId, StoredItem>();
    const restored = new Set<KeptId>();
    for (const commit of await this.#commits(head, options)) {
      for (const trashed of commit.trashed) {
        const path = this.#options.served.relativePath(trashed.path);
        if (path === undefined || restored.has(trashed.id) || items.has(trashed.id)) continue;
        items.set(trashed.id, { item: this.#itemOf(trashed, path), parent: commit.parent, trashed });
      }
      for (const id of commit.restored) restored.add(id);
    }
    return items;
  }

  /** Reads the commits up to those that were read before. */
  async #commits(head: string | undefined, options: Cancellable): Promise<readonly ReadCommit[]> {
    if (head === undefined) return [];
    return this.#reading.run('history', async () => {
      if (this.#head === head) return this.#known;
      const known = new Map(this.#known.map(({ sha }, index) => [sha, index]));
      const added: ReadCommit[] = [];
      let rest: readonly ReadCommit[] = [];
      for await (const { sha, parents, message } of this.#options.log.read(head, this.#pathOfLog(), options)) {
        const index = known.get(sha);
        if (index !== undefined) {
          // Newer known commits are no longer on the branch if it was force-pushed.
          rest = this.#known.slice(index);
          break;
        }
        const { trashed, restored } = parseTrailers(message);
        added.push({ sha, parent: parents[0], trashed, restored });
      }
      this.#known = [...added, ...rest].slice(0, MAX_READ_COMMITS);
      this.#head = head;
      return this.#known;
    });
  }

  #pathOfLog(): string | undefined {
    const path = withoutSlash(this.#options.served.path);
    return path === '' ? undefined : path;
  }

  /**
   * Returns the entry of an item, as the commit before the delete contains it. Anyone who can push to the branch can write
   * trailers. They must not give access to other objects of the repository.
   */
  async #entryOf({ item: { id }, parent, trashed }: StoredItem, options: Cancellable): Promise<TreeEntry> {
    const { host, trees } = this.#options;
    if (parent === undefined) throw notInTrash(id);
    let tree = await trees.readAbove((await host.commit(parent)).tree, options);
    const names = trashed.path.split('/').filter(Boolean);
    for (const name of names.slice(0, -1)) {
      const entry = tree.entries.get(name);
      if (!entry) throw notInTrash(id);
      tree = await trees.readAbove(entry.sha, options);
    }
    const entry = tree.entries.get(names.at(-1) ?? '');
    if (entry?.sha !== trashed.entry.sha || entry.mode !== trashed.entry.mode) throw notInTrash(id);
    return entry;
  }

  #itemOf({ id, entry, user }: TrashedEntry, path: FilePath | FolderPath): TrashedItem {
    const size = isFolder(path) ? this.#sizes.get(entry.sha) : entry.size;
    return {
      id,
      path,
      deletedAt: timeOfKeptId(id) ?? new Date(0),
      ...(user !== undefined && { user }),
      ...(size !== undefined && { size }),
    };
  }
}
