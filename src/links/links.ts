import { hash as digest, randomBytes, randomUUID } from 'node:crypto';
import { type Kysely, type Selectable, sql } from 'kysely';
import { type Creator, isRemoved } from '../access/creator.ts';
import type { Policy } from '../access/policy.ts';
import type { Database } from '../database/database.ts';
import type { LinksTable } from '../database/tables/links.ts';
import type { Tables } from '../database/tables/tables.ts';
import { quoted, StoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, isFolder } from '../model/path.ts';
import { type Link, type LinkPermission, type LinkSettings, linkNotFound } from './link.ts';
import { isAt, isBehind, LinkFeed, requireUnchanged } from './link-feed.ts';

/** Maximum number of links of one user, and of all anonymous users. */
const MAX_LINKS = 10_000;

/** Random bytes of a token: 192 bits. */
const TOKEN_BYTES = 24;

/** A token: 24 bytes in base64url. */
const TOKEN = /^[\w-]{32}$/;

/** Milliseconds for which the time of the last use is not updated again. */
const USE_INTERVAL_MS = 60_000;

/** Links that one query reads. */
const BATCH = 500;

export interface LinkPage {
  readonly links: readonly Link[];
  /** The cursor of the next page; undefined on the last page. */
  readonly cursor: string | undefined;
}

export interface ListOptions {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Only links of this user. */
  readonly creatorName?: string | undefined;
  /** Only links to this file or folder. */
  readonly path?: FilePath | FolderPath | undefined;
  /** Only links to this folder and to anything in it. */
  readonly below?: FolderPath | undefined;
  /** Only links for which it returns true. */
  readonly isVisible?: (link: Link) => boolean;
}

export interface CreateOptions {
  /** What `follow` returned before the item was found. */
  readonly since: number;
  readonly identity?: string | undefined;
}

/**
 * The table of share links. What it returns has followed the changes of files that were in the log before. Every member throws
 * `database-unavailable` if the database can't be used.
 */
export class Links {
  readonly #database: Database;
  readonly #feed: LinkFeed;

  /** A link follows its item only to where its creator manages it, by `policy`. */
  constructor(database: Database, policy: () => Policy) {
    this.#database = database;
    this.#feed = new LinkFeed(database, policy);
  }

  /** See `LinkFeed.follow`. */
  follow(): Promise<number> {
    return this.#feed.follow();
  }

  /**
   * Adds a link. Its token is returned only here. Throws `invalid-request` if the user has too many, and `overloaded` if the
   * item was moved or deleted at the same time.
   */
  async create(
    path: FilePath | FolderPath,
    settings: LinkSettings,
    creator: Creator | undefined,
    { since, identity }: CreateOptions,
  ): Promise<{ readonly link: Link; readonly token: string }> {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const creatorName = creator?.name ?? null;
    const row = await this.#database.transaction(async (db) => {
      await requireUnchanged(db, path, since);
      const { count } = await db
        .selectFrom('links')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('creator_name', creatorName === null ? 'is' : '=', creatorName)
        .executeTakeFirstOrThrow();
      if (count >= MAX_LINKS) throw tooManyLinks();
      return db
        .insertInto('links')
        .values({
          ...toColumns(settings),
          id: randomUUID(),
          token_hash: hashOf(token),
          kind: isFolder(path) ? 'folder' : 'file',
          path,
          creator: creator ? JSON.stringify(creator) : null,
          creator_name: creatorName,
          downloads: 0,
          uploads: 0,
          identity: identity ?? null,
          created_at: this.#database.dialect.now,
          last_used_at: null,
        })
        .returningAll()
        .returning(this.#now)
        .executeTakeFirstOrThrow();
    });
    return { link: toLink(row), token };
  }

  /** Returns the link of a token; undefined if the link does not exist. */
  async findByToken(token: string): Promise<Link | undefined> {
    if (!TOKEN.test(token)) return undefined;
    const hash = hashOf(token);
    const [link] = await this.#find('token_hash', [hash]);
    return link;
  }

  /** Returns the link with an ID; undefined if the link does not exist. */
  async find(id: string): Promise<Link | undefined> {
    const [link] = await this.findAll([id]);
    return link;
  }

  /** Returns the links with these IDs that exist. */
  async findAll(ids: readonly string[]): Promise<readonly Link[]> {
    return this.#find('id', ids);
  }

  /** Returns one page of the links, the newest first. Throws `invalid-cursor`. */
  async list({ limit, cursor, isVisible = () => true, ...filter }: ListOptions): Promise<LinkPage> {
    await this.follow();
    const links: Link[] = [];
    let after = cursor === undefined ? undefined : parseCursor(cursor);
    for (;;) {
      const start = after;
      const rows = await this.#database.run((db) => this.#selectPage(db, start, filter).execute());
      for (const row of rows) {
        const link = toLink(row);
        if (!isVisible(link)) continue;
        if (links.length === limit) return { links, cursor: cursorOf(links.at(-1)) };
        links.push(link);
      }
      const last = rows.at(-1);
      if (!last || rows.length < BATCH) return { links, cursor: undefined };
      after = { createdAt: last.created_at, id: last.id };
    }
  }

  /**
   * Changes all settings of a link. Returns undefined, and changes nothing, if its settings and path are no longer those of
   * `present`, or if it no longer exists.
   */
  async change(present: Link, settings: LinkSettings): Promise<Link | undefined> {
    const row = await this.#database.run((db) =>
      db
        .updateTable('links')
        .set(toColumns(settings))
        .where('id', '=', present.id)
        .where('path', '=', present.path)
        .where(({ and, eb }) =>
          and(entriesOf(toColumns(present)).map(([column, value]) => eb(column, value === null ? 'is' : '=', value))),
        )
        .returningAll()
        .returning(this.#now)
        .executeTakeFirst(),
    );
    return row && toLink(row);
  }

  /** Removes a link. Throws `not-found`. */
  async revoke(id: string): Promise<void> {
    const removed = await this.#database.run((db) =>
      db.deleteFrom('links').where('id', '=', id).returning('id').executeTakeFirst(),
    );
    if (!removed) throw linkNotFound(id);
  }

  /** Ends the links of all users who are no longer in the access file permanently. */
  async endOfRemoved(policy: Policy): Promise<void> {
    const creators = await this.#database.run((db) =>
      db.selectFrom('links').select('creator').distinct().where('ended', 'is', null).execute(),
    );
    const removed = creators
      .map(({ creator }) => creator)
      .filter((creator) => creator !== null && isRemoved(JSON.parse(creator) as Creator, policy));
    if (removed.length === 0) return;
    await this.#database.run((db) =>
      db.updateTable('links').set({ ended: 'permission' }).where('creator', 'in', removed).execute(),
    );
  }

  /** Binds a link to the item with this identity at its path. */
  async bind({ id, path }: Link, identity: string): Promise<void> {
    await this.#database.run((db) =>
      db.updateTable('links').set({ identity }).where('id', '=', id).where('path', '=', path).execute(),
    );
  }

  /** Records that a link is used. */
  async recordUse(id: string): Promise<void> {
    const { now } = this.#database.dialect;
    await this.#database.run((db) => db.updateTable('links').set({ last_used_at: now }).where('id', '=', id).execute());
  }

  /** Counts a download. Returns false if the link allows no more, or no longer exists. */
  countDownload(id: string): Promise<boolean> {
    return this.#count(id, 'downloads', 'max_downloads');
  }

  /** Counts an upload. Returns false if the link allows no more, or no longer exists. */
  countUpload(id: string): Promise<boolean> {
    return this.#count(id, 'uploads', 'max_uploads');
  }

  /** Takes a download that failed off the count. */
  refundDownload(id: string): Promise<void> {
    return this.#refund(id, 'downloads');
  }

  /** Takes an upload that failed off the count. */
  refundUpload(id: string): Promise<void> {
    return this.#refund(id, 'uploads');
  }

  async #count(id: string, column: 'downloads' | 'uploads', max: 'max_downloads' | 'max_uploads'): Promise<boolean> {
    const counted = await this.#database.run((db) =>
      db
        .updateTable('links')
        .set(column, sql<number>`${sql.ref(column)} + 1`)
        .where('id', '=', id)
        .where(({ eb, or }) => or([eb(max, 'is', null), eb(column, '<', sql<number>`${sql.ref(max)}`)]))
        .returning('id')
        .executeTakeFirst(),
    );
    return counted !== undefined;
  }

  async #refund(id: string, column: 'downloads' | 'uploads'): Promise<void> {
    await this.#database.run((db) =>
      db
        .updateTable('links')
        .set(column, sql<number>`${sql.ref(column)} - 1`)
        .where('id', '=', id)
        .where(column, '>', 0)
        .execute(),
    );
  }

  /** The time of the query, in a column. */
  get #now() {
    return this.#database.dialect.now.as('now');
  }

  #select(db: Pick<Kysely<Tables>, 'selectFrom'>) {
    return db.selectFrom('links').selectAll().select(this.#now);
  }

  /** Returns links. One query also tells whether they have followed all changes: each request of a visitor finds its link. */
  async #find(column: 'id' | 'token_hash', values: readonly string[]): Promise<Link[]> {
    const select = () =>
      this.#database.run((db) => this.#select(db).select(isBehind).where(column, 'in', values).execute());
    const rows = await select();
    if (!rows.some(({ is_behind }) => is_behind)) return rows.map(toLink);
    await this.follow();
    return (await select()).map(toLink);
  }

  #selectPage(
    db: Kysely<Tables>,
    after: Position | undefined,
    { creatorName, path, below }: Pick<ListOptions, 'creatorName' | 'path' | 'below'>,
  ) {
    return this.#select(db)
      .$if(creatorName !== undefined, (query) => query.where('creator_name', '=', creatorName ?? ''))
      .$if(path !== undefined, (query) => query.where('path', '=', path ?? ''))
      .$if(below !== undefined && below !== '', (query) => query.where(isAt(below ?? '')))
      .$if(after !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('created_at', 'id'), '<', tuple(after?.createdAt ?? 0, after?.id ?? '')),
        ),
      )
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(BATCH);
  }
}

/** A position in the list. */
interface Position {
  readonly createdAt: number;
  readonly id: string;
}

function parseCursor(cursor: string): Position {
  const [, createdAt = '', id = ''] = /^(\d{1,15})_([\w-]{1,64})$/.exec(cursor) ?? [];
  if (id !== '') return { createdAt: Number(createdAt), id };
  throw new StoreError(
    'invalid-cursor',
    `The cursor ${quoted(cursor)} was not issued by the list of links. List them from the beginning.`,
  );
}

const cursorOf = (link: Link | undefined) => link && `${link.createdAt.getTime()}_${link.id}`;

const hashOf = (token: string) => digest('sha256', token, 'base64url');

function toColumns(settings: LinkSettings) {
  return {
    permissions: JSON.stringify(settings.permissions),
    label: settings.label ?? null,
    password_hash: settings.passwordHash ?? null,
    expires_at: settings.expiresAt?.getTime() ?? null,
    max_downloads: settings.maxDownloads ?? null,
    max_uploads: settings.maxUploads ?? null,
    max_upload_bytes: settings.maxUploadBytes ?? null,
    ask_sender: settings.asksSender ? 1 : 0,
  };
}

function entriesOf<Row extends object>(row: Row): [keyof Row, Row[keyof Row]][] {
  return Object.entries(row) as [keyof Row, Row[keyof Row]][];
}

function toLink(row: Selectable<LinksTable> & { readonly now: number }): Link {
  const { expires_at: expiresAt, last_used_at: lastUsedAt, now } = row;
  return {
    id: row.id,
    // Only parsed paths and permissions are stored.
    path: row.path as FilePath | FolderPath,
    permissions: JSON.parse(row.permissions) as LinkPermission[],
    label: row.label ?? undefined,
    creator: row.creator === null ? undefined : (JSON.parse(row.creator) as Creator),
    passwordHash: row.password_hash ?? undefined,
    expiresAt: expiresAt === null ? undefined : new Date(expiresAt),
    maxDownloads: row.max_downloads ?? undefined,
    downloads: row.downloads,
    maxUploads: row.max_uploads ?? undefined,
    uploads: row.uploads,
    maxUploadBytes: row.max_upload_bytes ?? undefined,
    asksSender: row.ask_sender === 1,
    identity: row.identity ?? undefined,
    ended: row.ended ?? undefined,
    createdAt: new Date(row.created_at),
    lastUsedAt: lastUsedAt === null ? undefined : new Date(lastUsedAt),
    isExpired: expiresAt !== null && expiresAt <= now,
    isRecentlyUsed: lastUsedAt !== null && now - lastUsedAt < USE_INTERVAL_MS,
  };
}

function tooManyLinks(): StoreError {
  const message = `You already have ${MAX_LINKS} links, the maximum. Revoke those that are no longer needed.`;
  return new StoreError('invalid-request', message);
}
