import type { FileSource } from '../../platform/file-handles.ts';
import type { PageIdentity } from '../../platform/page-locks.ts';
import type { RecordStore } from '../../platform/record-store.ts';
import type { QueuedItem } from './upload-item.ts';

/** An unfinished upload, as it is remembered. */
export interface RecordedUpload {
  readonly folder: string;
  readonly name: string;
  readonly storedName: string;
  /** Bytes. */
  readonly size: number;
  /** When the file changed, in milliseconds since 1970. */
  readonly modified: number;
  readonly mayReplace: boolean;
  /** Undefined in the records of earlier versions of the page. */
  readonly deletesVersions?: boolean;
  readonly mayRename: boolean;
  /** Whether the service had some of its bytes when it was found before, so that it has ended if the service has none. */
  readonly hasBegun: boolean;
  /** Where to read the file again; undefined if only the user can choose it again. */
  readonly source: FileSource | undefined;
}

/** Several uploads: one record for each would take too long to write, and one for all to update. */
export interface UploadRecord {
  readonly id: string;
  /** The service and its user, whose uploads other users don't see. */
  readonly scope: string;
  /** The page that has these uploads in its queue. */
  readonly page: string;
  /** When they were added, in milliseconds since 1970. */
  readonly addedAt: number;
  readonly uploads: readonly RecordedUpload[];
}

/** Uploads that were found after the page that had them has ended. */
export interface FoundUploads {
  readonly uploads: readonly RecordedUpload[];
  readonly addedAt: number;
}

/** The number of uploads in a record. */
const RECORD_SIZE = 200;

/** Milliseconds between two updates of the records. */
const UPDATE_INTERVAL_MS = 500;

/** The age at which uploads are forgotten: longer than the service keeps unfinished ones by default. */
const MAX_AGE_MS = 30 * 24 * 60 * 60_000;

/** The items of a record. It is deleted with its last item. */
interface Chunk {
  readonly id: string;
  readonly scope: string;
  readonly addedAt: number;
  readonly items: Set<QueuedItem>;
}

/** Remembers the unfinished uploads of the queue after a reload or a crash. Failures are ignored: uploads don't need it. */
export class UploadRecords {
  readonly #opening: Promise<RecordStore<UploadRecord> | undefined>;
  readonly #page: PageIdentity;
  readonly #scope: () => string;
  readonly #chunks = new Map<QueuedItem, Chunk>();
  readonly #changed = new Set<Chunk>();
  #writtenAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `scope` returns the service and its current user. */
  constructor(opening: Promise<RecordStore<UploadRecord>>, page: PageIdentity, scope: () => string) {
    this.#opening = opening.catch(() => undefined);
    this.#page = page;
    this.#scope = scope;
  }

  /** Remembers items, at once. Folders are not remembered. `addedAt`: by default now. */
  add(items: readonly QueuedItem[], addedAt = Date.now()): void {
    const files = items.filter(({ kind }) => kind === 'file');
    for (let start = 0; start < files.length; start += RECORD_SIZE) {
      const id = `${addedAt}-${Math.random().toString(36).slice(2)}`;
      const part = files.slice(start, start + RECORD_SIZE);
      const chunk: Chunk = { id, scope: this.#scope(), addedAt, items: new Set(part) };
      for (const item of part) this.#chunks.set(item, chunk);
      this.#changed.add(chunk);
    }
    void this.#write();
  }

  /** Updates what is remembered of an item. */
  update(item: QueuedItem): void {
    const chunk = this.#chunks.get(item);
    if (chunk) this.#markChanged(chunk);
  }

  /** Forgets an item that needs no more work. */
  forget(item: QueuedItem): void {
    const chunk = this.#chunks.get(item);
    if (!chunk) return;
    this.#chunks.delete(item);
    chunk.items.delete(item);
    this.#markChanged(chunk);
    // At once: a page that is reloaded then must not show completed uploads as unfinished.
    if (chunk.items.size === 0) void this.#write();
  }

  /**
   * Calls `onFound` with the uploads of the current user whose page has ended, now or later. `onFound` must `add` those
   * that are still unfinished. Only one page finds them.
   */
  async find(onFound: (found: readonly FoundUploads[]) => Promise<void>): Promise<void> {
    const scope = this.#scope();
    const store = await this.#opening;
    const records = (await store?.all().catch(() => [])) ?? [];
    const outdated = records.filter(({ addedAt }) => addedAt < Date.now() - MAX_AGE_MS).map(({ id }) => id);
    if (outdated.length > 0) void store?.remove(outdated).catch(() => {});
    const pages = new Set(records.filter((record) => record.scope === scope).map(({ page }) => page));
    for (const page of pages) {
      this.#page.whenEnded(page, async () => {
        const all = (await store?.all()) ?? [];
        const own = new Set([...this.#chunks.values()].map(({ id }) => id));
        const found = all.filter((record) => record.page === page && record.scope === scope && !own.has(record.id));
        if (found.length === 0) return;
        await onFound(found);
        await store?.remove(found.map(({ id }) => id));
      });
    }
  }

  #markChanged(chunk: Chunk): void {
    this.#changed.add(chunk);
    const delay = Math.max(0, this.#writtenAt + UPDATE_INTERVAL_MS - performance.now());
    this.#timer ??= setTimeout(() => void this.#write(), delay);
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writtenAt = performance.now();
    const chunks = [...this.#changed];
    this.#changed.clear();
    const { id: page } = this.#page;
    const left = chunks.filter(({ items }) => items.size > 0);
    const records = left.map(({ id, scope, addedAt, items }) => ({
      id,
      scope,
      page,
      addedAt,
      uploads: [...items].map(recordOf),
    }));
    const ended = chunks.filter(({ items }) => items.size === 0).map(({ id }) => id);
    const store = await this.#opening;
    await Promise.allSettled([
      ...(records.length > 0 ? [store?.put(records)] : []),
      ...(ended.length > 0 ? [store?.remove(ended)] : []),
    ]);
  }
}

function recordOf(item: QueuedItem): RecordedUpload {
  const { folder, name, size, modified, mayReplace, deletesVersions, mayRename, source, state, sent } = item;
  const storedName = item.storedName.peek();
  const hasBegun = state.peek() === 'interrupted' && sent.peek() > 0;
  return { folder, name, storedName, size, modified, mayReplace, deletesVersions, mayRename, hasBegun, source };
}
