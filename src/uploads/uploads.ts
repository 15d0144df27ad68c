import { randomUUID } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { UploadsTable } from '../database/tables/uploads.ts';
import { StoreError } from '../model/error.ts';
import type { FilePath } from '../model/path.ts';
import type { WriteCondition } from '../model/store.ts';

/** Maximum number of unfinished uploads of one user, and of all anonymous users. */
const MAX_UNFINISHED = 10_000;

/** Maximum number of unfinished uploads of the anonymous users of one network. */
const MAX_UNFINISHED_OF_NETWORK = 100;

/** Maximum number of unfinished uploads of the anonymous users of one site, which can have thousands of networks. */
const MAX_UNFINISHED_OF_SITE = 1000;

/** Milliseconds until an upload of an anonymous user expires, of which nothing has arrived. */
const EMPTY_LIFETIME_MS = 60 * 60_000;

/** Milliseconds for which a finished upload is remembered. */
const FINISHED_LIFETIME_MS = 24 * 60 * 60_000;

/** Uploads in one page. */
const PAGE = 1000;

/** An upload whose content arrives in several requests. */
export interface Upload {
  readonly id: string;
  /** The user who began it; undefined for an anonymous user. */
  readonly owner: string | undefined;
  /** Whether the access file had the owner. Others come from an identity provider. */
  readonly ownerHasEntry: boolean;
  /** The network of the anonymous user who began it, until it is finished; undefined for other users. */
  readonly network: string | undefined;
  /** The ID of the app token that began it; undefined for other credentials. */
  readonly appToken: string | undefined;
  /** The file that it becomes. */
  readonly path: FilePath;
  /** The media type that the client sent. */
  readonly type: string | undefined;
  /** Bytes of the whole content; undefined while the client has not told it. */
  readonly size: number | undefined;
  /** The modification time to store. */
  readonly modified: Date | undefined;
  readonly condition: WriteCondition | undefined;
  /** The metadata as the client sent it. */
  readonly metadata: string | undefined;
  /** The ETag of the stored file, empty if it is unknown; undefined while the upload is unfinished. */
  readonly etag: string | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** What a client determines when it begins an upload. */
export type NewUpload = Omit<Upload, 'id' | 'etag' | 'createdAt' | 'expiresAt'> & {
  /** The site of an anonymous user, which can have several networks; undefined for other users. */
  readonly site: string | undefined;
};

/** What a renewal of a lease found: it continues, another request waits for its end, or it is lost. */
export type LeaseState = 'held' | 'wanted' | 'lost';

export interface UploadsOptions {
  /** Milliseconds until an upload expires. Those of anonymous users expire after an hour until some of their content arrives. */
  readonly lifetimeMs: number;
  /** Milliseconds until another request can write, if the process of the writer ends without releasing its lease. */
  readonly leaseMs: number;
}

/**
 * The table of uploads whose content arrives in several requests. The content is in the store, which alone knows how much
 * has arrived. Every member throws `database-unavailable` if the database can't be used.
 */
export class Uploads {
  readonly #database: Database;
  readonly #options: UploadsOptions;

  constructor(database: Database, options: UploadsOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** Adds an upload. Throws `invalid-request` if its user or network has too many unfinished ones. */
  async create(upload: NewUpload): Promise<Upload> {
    const { owner, ownerHasEntry, network, site, appToken, path, type, size, modified, condition, metadata } = upload;
    const { now } = this.#database.dialect;
    const { lifetimeMs } = this.#options;
    const row = await this.#database.transaction(async (db) => {
      const unfinished = db
        .selectFrom('uploads')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('owner', owner === undefined ? 'is' : '=', owner ?? null)
        .where('etag', 'is', null)
        .where('expires_at', '>', now);
      const requireFewer = async (column: 'network' | 'site', value: string, max: number) => {
        const { count } = await unfinished.where(column, '=', value).executeTakeFirstOrThrow();
        if (count >= max) throw tooManyUploads('Anonymous users of your network', max);
      };
      if (network !== undefined) await requireFewer('network', network, MAX_UNFINISHED_OF_NETWORK);
      if (site !== undefined) await requireFewer('site', site, MAX_UNFINISHED_OF_SITE);
      const { count } = await unfinished.executeTakeFirstOrThrow();
      if (count >= MAX_UNFINISHED)
        throw tooManyUploads(owner === undefined ? 'Anonymous users' : 'You', MAX_UNFINISHED);
      return db
        .insertInto('uploads')
        .values({
          id: randomUUID(),
          owner: owner ?? null,
          owner_has_entry: ownerHasEntry ? 1 : 0,
          network: network ?? null,
          site: site ?? null,
          app_token: appToken ?? null,
          path,
          type: type ?? null,
          size: size ?? null,
          modified: modified?.getTime() ?? null,
          condition: condition === undefined ? null : JSON.stringify(condition),
          metadata: metadata ?? null,
          etag: null,
          created_at: now,
          expires_at: this.#after(network === undefined ? lifetimeMs : Math.min(EMPTY_LIFETIME_MS, lifetimeMs)),
          writer: null,
          writer_until: null,
          is_wanted: 0,
          is_committing: 0,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
    });
    return toUpload(row);
  }

  /** Returns an upload that has not expired; undefined if it does not exist. */
  async find(id: string): Promise<Upload | undefined> {
    const row = await this.#database.run((db) =>
      db
        .selectFrom('uploads')
        .selectAll()
        .where('id', '=', id)
        .where('expires_at', '>', this.#database.dialect.now)
        .executeTakeFirst(),
    );
    return row && toUpload(row);
  }

  /** Returns whether an upload still has the lifetime of an empty one of an anonymous user. */
  expiresSoon({ network, createdAt, expiresAt }: Upload): boolean {
    return network !== undefined && expiresAt.getTime() - createdAt.getTime() < this.#options.lifetimeMs;
  }

  /** Records that some of the content has arrived. Returns when the upload now expires; undefined if it has. */
  async extend(id: string): Promise<Date | undefined> {
    const { lifetimeMs } = this.#options;
    const row = await this.#database.run((db) =>
      db
        .updateTable('uploads')
        .set(({ eb }) => ({ expires_at: eb('created_at', '+', lifetimeMs) }))
        .where('id', '=', id)
        .where('etag', 'is', null)
        .where('expires_at', '>', this.#database.dialect.now)
        .returning('expires_at')
        .executeTakeFirst(),
    );
    return row && new Date(row.expires_at);
  }

  /** Returns the unfinished uploads of a user, or of one app token of theirs, the newest first, at most 1,000. */
  async list(owner: string, appToken?: string): Promise<readonly Upload[]> {
    const rows = await this.#database.run((db) =>
      db
        .selectFrom('uploads')
        .selectAll()
        .where('owner', '=', owner)
        .$if(appToken !== undefined, (query) => query.where('app_token', '=', appToken ?? ''))
        .where('etag', 'is', null)
        .where('expires_at', '>', this.#database.dialect.now)
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(PAGE)
        .execute(),
    );
    return rows.map(toUpload);
  }

  /** Returns uploads that expire before a time, the oldest first, at most 1,000. */
  async expired(before: Date): Promise<readonly Upload[]> {
    const rows = await this.#database.run((db) =>
      db
        .selectFrom('uploads')
        .selectAll()
        .where('expires_at', '<=', before.getTime())
        .orderBy('expires_at')
        .limit(PAGE)
        .execute(),
    );
    return rows.map(toUpload);
  }

  /** Ends the uploads of users who were in the access file, and for whom `hasEntry` now returns false: they expire at once. */
  async endOfRemoved(hasEntry: (username: string) => boolean): Promise<void> {
    const rows = await this.#database.run((db) =>
      db.selectFrom('uploads').select('owner').distinct().where('owner_has_entry', '=', 1).execute(),
    );
    const removed = rows.flatMap(({ owner }) => (owner !== null && !hasEntry(owner) ? [owner] : []));
    if (removed.length === 0) return;
    const { now } = this.#database.dialect;
    await this.#database.run((db) =>
      db
        .updateTable('uploads')
        .set({ expires_at: now })
        .where('owner_has_entry', '=', 1)
        .where('owner', 'in', removed)
        .where('expires_at', '>', now)
        .execute(),
    );
  }

  /** Returns whether the table has an upload, also one that has expired. */
  async has(id: string): Promise<boolean> {
    const row = await this.#database.run((db) =>
      db.selectFrom('uploads').select('id').where('id', '=', id).executeTakeFirst(),
    );
    return row !== undefined;
  }

  /** Sets the size of an upload that had none. */
  async setSize(id: string, size: number): Promise<void> {
    await this.#database.run((db) =>
      db.updateTable('uploads').set({ size }).where('id', '=', id).where('size', 'is', null).execute(),
    );
  }

  /** Records that the content becomes a file now. */
  async beginCommit(id: string): Promise<void> {
    await this.#database.run((db) =>
      db.updateTable('uploads').set({ is_committing: 1 }).where('id', '=', id).execute(),
    );
  }

  /** Records that the content did not become a file. */
  async endCommit(id: string): Promise<void> {
    await this.#database.run((db) =>
      db.updateTable('uploads').set({ is_committing: 0 }).where('id', '=', id).execute(),
    );
  }

  /** Returns whether the content became a file, or might have, because a process ended after `beginCommit`. */
  async isCommitting(id: string): Promise<boolean> {
    const row = await this.#database.run((db) =>
      db.selectFrom('uploads').select('is_committing').where('id', '=', id).executeTakeFirst(),
    );
    return row?.is_committing === 1;
  }

  /** Records that the content became a file. Clients whose response was lost can then find that out for a day. */
  async finish(id: string, { path, etag }: { readonly path: string; readonly etag: string }): Promise<void> {
    const finished = { path, etag, network: null, site: null, expires_at: this.#after(FINISHED_LIFETIME_MS) };
    await this.#database.run((db) => db.updateTable('uploads').set(finished).where('id', '=', id).execute());
  }

  async remove(id: string): Promise<void> {
    await this.#database.run((db) => db.deleteFrom('uploads').where('id', '=', id).execute());
  }

  /** Takes the lease of an upload for a writer. Otherwise asks the present writer to end, and returns false. */
  async claim(id: string, writer: string): Promise<boolean> {
    const { now } = this.#database.dialect;
    return this.#database.run(async (db) => {
      const claimed = await db
        .updateTable('uploads')
        .set({ writer, writer_until: this.#after(this.#options.leaseMs), is_wanted: 0 })
        .where('id', '=', id)
        .where(({ eb, or }) => or([eb('writer', 'is', null), eb('writer_until', '<=', now)]))
        .returning('id')
        .executeTakeFirst();
      if (claimed) return true;
      await db.updateTable('uploads').set({ is_wanted: 1 }).where('id', '=', id).execute();
      return false;
    });
  }

  /** Extends the lease of a writer. */
  async renew(id: string, writer: string): Promise<LeaseState> {
    const renewed = await this.#database.run((db) =>
      db
        .updateTable('uploads')
        .set({ writer_until: this.#after(this.#options.leaseMs) })
        .where('id', '=', id)
        .where('writer', '=', writer)
        .returning('is_wanted')
        .executeTakeFirst(),
    );
    if (!renewed) return 'lost';
    return renewed.is_wanted === 1 ? 'wanted' : 'held';
  }

  async release(id: string, writer: string): Promise<void> {
    await this.#database.run((db) =>
      db
        .updateTable('uploads')
        .set({ writer: null, writer_until: null, is_wanted: 0 })
        .where('id', '=', id)
        .where('writer', '=', writer)
        .execute(),
    );
  }

  /** Returns a time of the database after these milliseconds. */
  #after(milliseconds: number) {
    return sql<number>`${this.#database.dialect.now} + ${sql.lit(milliseconds)}`;
  }
}

function toUpload(row: Selectable<UploadsTable>): Upload {
  return {
    id: row.id,
    owner: row.owner ?? undefined,
    ownerHasEntry: row.owner_has_entry === 1,
    network: row.network ?? undefined,
    appToken: row.app_token ?? undefined,
    // Only parsed paths and conditions are stored.
    path: row.path as FilePath,
    type: row.type ?? undefined,
    size: row.size ?? undefined,
    modified: row.modified === null ? undefined : new Date(row.modified),
    condition: row.condition === null ? undefined : (JSON.parse(row.condition) as WriteCondition),
    metadata: row.metadata ?? undefined,
    etag: row.etag ?? undefined,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
  };
}

function tooManyUploads(users: string, max: number): StoreError {
  const message = `${users} already have ${max} unfinished uploads, the maximum. Finish or cancel some of them.`;
  return new StoreError('invalid-request', message);
}
