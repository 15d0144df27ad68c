import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { type Selectable, sql, type Transaction } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Tables } from '../database/tables/tables.ts';
import type { UploadContentsTable } from '../database/tables/upload-contents.ts';
import { asError, exists, isStoreError, quoted, StoreError, undefinedIfNotFound } from '../model/error.ts';
import { type FilePath, type FolderPath, parentOf, ROOT, withoutSlash } from '../model/path.ts';
import type { AppendOptions, Cancellable, FileEntry, PendingUpload, Store, UploadDestination } from '../model/store.ts';
import { kindConflict, requireCondition } from '../model/store-errors.ts';

/** Bytes of a row. */
const CHUNK_BYTES = 2 ** 20;

/** Rows that are deleted at once: SQLite blocks the process meanwhile. */
const DELETED_ROWS = 16;

/** Limits of the bytes in the database. */
export interface ContentLimits {
  /** Bytes of one upload. */
  readonly uploadBytes: number;
  /** Bytes of all unfinished uploads together. Several processes at the same time can exceed it by a row each. */
  readonly totalBytes: number;
}

/** The limits of a service. */
export const DATABASE_LIMITS: ContentLimits = { uploadBytes: 100 * 2 ** 20, totalBytes: 2 ** 30 };

/** Seconds after which other uploads might have ended. */
const FULL_RETRY_SECONDS = 60;

type Uploading = Required<Pick<Store, 'createUpload' | 'openUpload'>>;
type CommitOptions = NonNullable<Parameters<PendingUpload['commit']>[2]>;

/**
 * Receives uploads in several requests for a store that can't: keeps their content in the database, so that every process
 * can continue them. Each upload must have a row in `uploads`, with which its content disappears.
 */
export function createDatabaseContents(database: Database, store: Store, limits: ContentLimits): Uploading {
  return {
    async createUpload(id, target, options = {}) {
      const { size = 0 } = target;
      if (size > limits.uploadBytes) throw uploadTooLarge(limits);
      await requireWritable(store, target, options);
      await database.transaction(async (db) => {
        await requireSpace(db, size, limits);
        const empty = { upload_id: id, size: 0, written: 0, writer: null, is_committing: 0, is_ended: 0 };
        await db.insertInto('upload_contents').values(empty).execute();
      });
    },
    async openUpload(id) {
      const upload = new DatabaseUpload(id, { database, store, limits });
      await upload.load();
      return upload;
    },
  };
}

interface UploadEnvironment {
  readonly database: Database;
  readonly store: Store;
  readonly limits: ContentLimits;
}

/**
 * The content of one upload. A row of bytes and the size of the content change in one transaction, and only for the append
 * that began last: a request that lost its lease, but still runs, changes nothing.
 */
class DatabaseUpload implements PendingUpload {
  readonly #id: string;
  readonly #environment: UploadEnvironment;
  #offset = 0;

  constructor(id: string, environment: UploadEnvironment) {
    this.#id = id;
    this.#environment = environment;
  }

  get offset(): number {
    return this.#offset;
  }

  async load(): Promise<Selectable<UploadContentsTable>> {
    const row = await this.#find();
    if (!row) throw uploadNotFound(this.#id);
    this.#offset = row.size;
    return row;
  }

  async append(body: Readable, { signal, ...options }: AppendOptions = {}): Promise<number> {
    const abort = () => void body.destroy(asError(signal?.reason));
    // The body can fail before it is read. Its reader then finds it destroyed.
    body.on('error', () => {});
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    try {
      return await this.#append(body, options);
    } finally {
      signal?.removeEventListener('abort', abort);
      body.destroy();
    }
  }

  async commit(
    file: FilePath,
    upload: Parameters<PendingUpload['commit']>[1],
    options: CommitOptions = {},
  ): Promise<FileEntry> {
    const { is_committing: isCommitting } = await this.load();
    const committed = isCommitting === 1 ? await this.#findCommitted(file) : undefined;
    const entry = committed ?? (await this.#commit(file, upload, options));
    // What remains disappears with the upload.
    await this.remove().catch(() => {});
    return entry;
  }

  async remove(): Promise<void> {
    await this.#update({ is_ended: 1, writer: null });
    while ((await this.#deleteChunks()) > 0);
    await this.#environment.database.run((db) =>
      db.deleteFrom('upload_contents').where('upload_id', '=', this.#id).execute(),
    );
  }

  async #append(body: Readable, { verify, onDurable }: AppendOptions): Promise<number> {
    const writer = randomUUID();
    await this.#begin(writer);
    const ending: { failure?: { readonly reason: unknown } } = {};
    let position = this.#offset;
    try {
      const chunks = splitIntoChunks(body, (reason) => {
        ending.failure = { reason };
      });
      for await (const bytes of chunks) {
        await this.#write(bytes, { position, writer, counts: verify === undefined });
        position += bytes.length;
        if (verify) continue;
        this.#offset = position;
        onDurable?.(position);
      }
      if (ending.failure) throw ending.failure.reason;
      if (verify) {
        await verify();
        await this.#accept(writer);
        this.#offset = position;
      }
      return position;
    } catch (error) {
      // If this fails as well, the next append does it.
      if (verify) await this.#discardUnverified(writer).catch(() => {});
      throw error;
    }
  }

  /** Lets an append add bytes, and no longer those before it. */
  async #begin(writer: string): Promise<void> {
    const begun = await this.#environment.database.transaction(async (db) => {
      const row = await db
        .updateTable('upload_contents')
        .set(({ ref }) => ({ writer, written: ref('size') }))
        .where('upload_id', '=', this.#id)
        .where('size', '=', this.#offset)
        .where('is_ended', '=', 0)
        .returning('size')
        .executeTakeFirst();
      // A verified append whose process ended has left rows.
      if (row) await this.#deleteChunksFrom(db, row.size);
      return row;
    });
    if (!begun) throw await this.#superseded();
  }

  async #write(
    bytes: Uint8Array,
    { position, writer, counts }: { readonly position: number; readonly writer: string; readonly counts: boolean },
  ): Promise<void> {
    const { database, limits } = this.#environment;
    const end = position + bytes.length;
    if (end > limits.uploadBytes) throw uploadTooLarge(limits);
    const written = await database.transaction(async (db) => {
      const row = await db
        .updateTable('upload_contents')
        .set({ written: end, ...(counts && { size: end }) })
        .where('upload_id', '=', this.#id)
        .where('writer', '=', writer)
        .where('written', '=', position)
        .returning('upload_id')
        .executeTakeFirst();
      if (!row) return undefined;
      await requireSpace(db, 0, limits);
      await db.insertInto('upload_chunks').values({ upload_id: this.#id, position, bytes }).execute();
      return row;
    });
    if (!written) throw await this.#superseded();
  }

  /** Makes the bytes of a verified append count. */
  async #accept(writer: string): Promise<void> {
    const accepted = await this.#environment.database.run((db) =>
      db
        .updateTable('upload_contents')
        .set(({ ref }) => ({ size: ref('written'), writer: null }))
        .where('upload_id', '=', this.#id)
        .where('writer', '=', writer)
        .returning('size')
        .executeTakeFirst(),
    );
    if (!accepted) throw await this.#superseded();
  }

  async #discardUnverified(writer: string): Promise<void> {
    await this.#environment.database.transaction(async (db) => {
      const row = await db
        .updateTable('upload_contents')
        .set(({ ref }) => ({ written: ref('size'), writer: null }))
        .where('upload_id', '=', this.#id)
        .where('writer', '=', writer)
        .returning('size')
        .executeTakeFirst();
      if (row) await this.#deleteChunksFrom(db, row.size);
    });
  }

  async #commit(
    file: FilePath,
    upload: Parameters<PendingUpload['commit']>[1],
    options: CommitOptions,
  ): Promise<FileEntry> {
    await this.#update({ is_committing: 1 });
    try {
      const body = Readable.from(this.#read(), { objectMode: false });
      return await this.#environment.store.write(file, { ...upload, body, size: this.#offset }, options);
    } catch (error) {
      // After an error of another kind, the commit might have succeeded.
      if (isStoreError(error) && error.kind !== 'unavailable') await this.#update({ is_committing: 0 });
      throw error;
    }
  }

  /** Returns the file if it has the content of this upload: then an interrupted commit has written it. */
  async #findCommitted(file: FilePath): Promise<FileEntry | undefined> {
    const content = await undefinedIfNotFound(this.#environment.store.read(file, { isOnce: true }));
    if (!content) return undefined;
    try {
      if (content.file.size !== this.#offset) return undefined;
      const found = await hashOf(content.body);
      return found.equals(await hashOf(this.#read())) ? content.file : undefined;
    } finally {
      content.body.destroy();
    }
  }

  async *#read(): AsyncGenerator<Buffer> {
    for (let position = 0; position < this.#offset; ) {
      const row = await this.#environment.database.run((db) =>
        db
          .selectFrom('upload_chunks')
          .select('bytes')
          .where('upload_id', '=', this.#id)
          .where('position', '=', position)
          .executeTakeFirst(),
      );
      // Another request has removed the upload.
      if (!row) throw uploadNotFound(this.#id);
      const { buffer, byteOffset, length } = row.bytes;
      yield Buffer.from(buffer, byteOffset, length);
      position += length;
    }
  }

  #find(): Promise<Selectable<UploadContentsTable> | undefined> {
    return this.#environment.database.run((db) =>
      db
        .selectFrom('upload_contents')
        .selectAll()
        .where('upload_id', '=', this.#id)
        .where('is_ended', '=', 0)
        .executeTakeFirst(),
    );
  }

  async #update(values: Partial<Pick<UploadContentsTable, 'is_committing' | 'is_ended' | 'writer'>>): Promise<void> {
    await this.#environment.database.run((db) =>
      db.updateTable('upload_contents').set(values).where('upload_id', '=', this.#id).execute(),
    );
  }

  /** Deletes some of the rows. Returns their number. */
  async #deleteChunks(): Promise<number> {
    const { numDeletedRows } = await this.#environment.database.run((db) =>
      db
        .deleteFrom('upload_chunks')
        .where('upload_id', '=', this.#id)
        .where('position', 'in', (query) =>
          query
            .selectFrom('upload_chunks')
            .select('position')
            .where('upload_id', '=', this.#id)
            .orderBy('position')
            .limit(DELETED_ROWS),
        )
        .executeTakeFirstOrThrow(),
    );
    return Number(numDeletedRows);
  }

  async #deleteChunksFrom(db: Transaction<Tables>, position: number): Promise<void> {
    await db.deleteFrom('upload_chunks').where('upload_id', '=', this.#id).where('position', '>=', position).execute();
  }

  /** Returns the error of an append that another request has replaced, or whose upload has ended. */
  async #superseded(): Promise<StoreError> {
    if (!(await this.#find())) return uploadNotFound(this.#id);
    return new StoreError('upload-in-use', 'Another request continues this upload.', { retryAfter: 1 });
  }
}

/** Throws `store-full` if the bytes of all uploads, and `more` bytes, exceed the limit. */
async function requireSpace(db: Transaction<Tables>, more: number, limits: ContentLimits): Promise<void> {
  // PostgreSQL sums to a type without a limit, which is no number in JavaScript.
  const total = sql<number>`cast(coalesce(sum(written), 0) as bigint)`.as('total');
  const row = await db.selectFrom('upload_contents').select(total).executeTakeFirstOrThrow();
  if (row.total + more > limits.totalBytes) throw databaseFull(limits);
}

/**
 * Yields the bytes of a body in pieces of `CHUNK_BYTES`, and at its end the rest. Each piece is valid until the next one is
 * requested. Passes the failure of the body to `onFailure`, and then yields the bytes that arrived before it.
 */
async function* splitIntoChunks(body: Readable, onFailure: (reason: unknown) => void): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let filled = 0;
  for await (const piece of readPieces(body, onFailure)) {
    for (let start = 0; start < piece.length; ) {
      const copied = piece.copy(chunk, filled, start);
      start += copied;
      filled += copied;
      if (filled < CHUNK_BYTES) continue;
      yield chunk;
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}

async function* readPieces(body: Readable, onFailure: (reason: unknown) => void): AsyncGenerator<Buffer> {
  try {
    for await (const piece of body) yield typeof piece === 'string' ? Buffer.from(piece) : (piece as Buffer);
  } catch (error) {
    onFailure(error);
  }
}

async function hashOf(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const hash = createHash('sha256');
  for await (const bytes of content) hash.update(bytes);
  return hash.digest();
}

/** Throws the error that a write would have now, if its path is taken or does not meet the condition. */
async function requireWritable(
  store: Store,
  { file, condition }: UploadDestination,
  options: Cancellable,
): Promise<void> {
  const isFolder = (folder: FolderPath) => exists(store.list(folder, { ...options, limit: 1 }));
  const present = await undefinedIfNotFound(store.stat(file, options));
  requireCondition(file, present, condition);
  if (present) return;
  if (await isFolder(`${file}/` as FolderPath)) throw kindConflict(file);
  for (let folder = parentOf(file); folder !== ROOT && !(await isFolder(folder)); folder = parentOf(folder)) {
    if (await exists(store.stat(withoutSlash(folder) as FilePath, options))) throw kindConflict(folder);
  }
}

function uploadTooLarge({ uploadBytes }: ContentLimits): StoreError {
  const message = `A resumable upload to this store can have at most ${uploadBytes} bytes. Send the file in one request.`;
  return new StoreError('upload-too-large', message);
}

function databaseFull({ totalBytes }: ContentLimits): StoreError {
  const message = `All unfinished uploads together have reached the maximum of ${totalBytes} bytes. Finish or cancel some of them.`;
  return new StoreError('store-full', message, { retryAfter: FULL_RETRY_SECONDS });
}

function uploadNotFound(id: string): StoreError {
  return new StoreError('not-found', `The upload ${quoted(id)} does not exist.`);
}
