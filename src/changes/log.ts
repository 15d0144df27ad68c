import { type Selectable, sql, type Transaction } from 'kysely';
import type { Database } from '../database/database.ts';
import type { ChangesTable } from '../database/tables/changes.ts';
import type { Tables } from '../database/tables/tables.ts';
import type { Change, ChangeRecord, LoggedChange } from '../model/change.ts';
import { isStoreError, StoreError } from '../model/error.ts';
import type { KeptId } from '../model/kept-ids.ts';
import { type FilePath, type FolderPath, ROOT } from '../model/path.ts';
import { decodeCursor, encodeCursor, encodeCursors, type Position, START } from './cursor.ts';

/**
 * Changes that one query searches for those of some paths. Without an index, which would make each upload slower, that takes
 * some milliseconds, during which SQLite blocks the process.
 */
const SEARCH_BATCH = 10_000;

/** Changes that are deleted in one transaction. */
const EXPIRY_BATCH = 1000;

/** Part of the log. */
export interface LogPage {
  readonly changes: readonly LoggedChange[];
  /** The position of the last change of the page, where the next page starts. */
  readonly end: Position;
  /** The same position, for clients. */
  readonly cursor: string;
  /** Whether the log had more changes. */
  readonly hasMore: boolean;
}

/** A change in the log with what is needed to undo it. */
export interface StoredChange extends LoggedChange, ChangeRecord {
  readonly sequence: number;
}

/** Selects changes: of any of `paths`, of anything in the folders `contentOf`, or with any of the IDs `kept`. */
export interface ChangeScope {
  readonly paths: readonly (FilePath | FolderPath)[];
  readonly contentOf: readonly FolderPath[];
  readonly kept?: readonly KeptId[];
}

/** Changes that were added in one transaction. */
export interface AppendedChanges {
  /** Returns the ID of the change that `count` other ones of the transaction follow. */
  idBefore(count: number): string;
}

/** What a process learns of the others. */
export interface Beat {
  /** Whether changes of a process that was killed can be missing. */
  readonly hasLost: boolean;
  /** Whether the process has been alive for the longest time. */
  readonly isOldest: boolean;
}

/** How long changes are kept. */
export interface Retention {
  readonly ageMs: number;
  readonly maxChanges: number;
}

/**
 * The table of changes. Sequence numbers have no gaps and follow the order of commits, so that a reader that has seen a
 * number has seen all smaller ones. Every member throws `database-unavailable` if the database can't be used.
 */
export class ChangeLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Adds changes in one transaction. Returns undefined without changes. */
  async append(changes: readonly ChangeRecord[]): Promise<AppendedChanges | undefined> {
    if (changes.length === 0) return undefined;
    // After a crash of the machine, the row of this process leads to a `resync`, and cursors of lost changes are expired.
    const { sequence, time, key } = await this.#database.appendChanges(changes);
    const keyBytes = Buffer.from(key, 'base64');
    return { idBefore: (count) => encodeCursor(keyBytes, { sequence: sequence - count, time }) };
  }

  /**
   * Returns the position of a cursor. Throws `invalid-cursor`, and `cursor-expired` if it belongs to another database. `read`
   * throws `cursor-expired` if changes after the position were deleted.
   */
  async positionOf(cursor: string): Promise<Position> {
    const { key } = await this.#database.run((db) => this.#state(db));
    const position = decodeCursor(key, cursor);
    if (!position) throw cursorExpired();
    return position;
  }

  /** Returns the position before the oldest change that is kept. */
  async oldest(): Promise<Position> {
    const { expired } = await this.#database.run((db) => this.#state(db));
    // The change itself is deleted, so that its time is not compared.
    return { ...START, sequence: expired };
  }

  /** Returns the position after the last change. */
  async newest(): Promise<LogPage> {
    const { key, last } = await this.#database.run((db) => this.#state(db));
    return { changes: [], end: last, cursor: encodeCursor(key, last), hasMore: false };
  }

  /** Returns at most `limit` changes after a position, the oldest first. */
  async read(after: Position, limit: number): Promise<LogPage> {
    return this.#database.run(async (db) => {
      const found = await db
        .selectFrom('changes')
        .selectAll()
        .where('sequence', '>=', after.sequence)
        .orderBy('sequence')
        .limit(limit + 2)
        .execute();
      // Read after the changes, so that those that are deleted meanwhile are noticed.
      const { key, last, expired } = await this.#state(db);
      if (after.sequence < expired || after.sequence > last.sequence) throw cursorExpired();
      return pageOf(withoutSeen(found, after), { start: after, limit, key });
    });
  }

  /** Returns at most `limit` changes before a position, the newest first. Default: the last changes of the log. */
  async readBefore(before: Position | undefined, limit: number): Promise<LogPage> {
    return this.#database.run(async (db) => {
      const { key, last } = await this.#state(db);
      const start = before ?? last;
      if (start.sequence > last.sequence) throw cursorExpired();
      const found = await db
        .selectFrom('changes')
        .selectAll()
        .where('sequence', '<=', start.sequence)
        .orderBy('sequence', 'desc')
        .limit(limit + 2)
        .execute();
      return pageOf(before ? withoutSeen(found, before) : found, { start, limit, key });
    });
  }

  /** Returns the change with an ID; undefined if the log does not have it. */
  async find(id: string): Promise<StoredChange | undefined> {
    return this.#database.run(async (db) => {
      const { key } = await this.#state(db);
      const position = decodeId(key, id);
      if (!position) return undefined;
      const row = await db
        .selectFrom('changes')
        .selectAll()
        .where('sequence', '=', position.sequence)
        .where('time', '=', position.time)
        .executeTakeFirst();
      return row && toStoredChange(row, encodeCursor(key, row));
    });
  }

  /** Yields the changes of a scope after the sequence number `start`, the newest first. */
  async *readBack(start: number, { paths, contentOf, kept = [] }: ChangeScope): AsyncGenerator<StoredChange> {
    const { key, last, expired } = await this.#database.run((db) => this.#state(db));
    const first = Math.max(start, expired);
    for (let end = last.sequence; end > first; end -= SEARCH_BATCH) {
      const rows = await this.#database.run((db) =>
        db
          .selectFrom('changes')
          .selectAll()
          .where('sequence', '<=', end)
          .where('sequence', '>', Math.max(first, end - SEARCH_BATCH))
          .where(({ or, eb }) =>
            or([
              eb('path', 'in', paths),
              eb('source', 'in', paths),
              ...(kept.length > 0 ? [eb('kept', 'in', kept)] : []),
              ...contentOf.flatMap((folder) => [startsWith('path', folder), startsWith('source', folder)]),
            ]),
          )
          .orderBy('sequence', 'desc')
          .execute(),
      );
      const ids = encodeCursors(key, rows);
      for (const [index, row] of rows.entries()) yield toStoredChange(row, ids[index] ?? encodeCursor(key, row));
    }
  }

  /**
   * Records that a process is alive, and removes processes that were killed more than `timeoutMs` ago. Several processes
   * can notice the same loss, but only one is told that it has to write a `resync`.
   */
  async beat(writer: string, timeoutMs: number): Promise<Beat> {
    const { now } = this.#database.dialect;
    const isLost = sql<boolean>`id <> ${writer} and seen_at < ${now} - ${sql.lit(timeoutMs)}`;
    return this.#database.run(async (db) => {
      await db
        .insertInto('change_writers')
        .values({ id: writer, started_at: now, seen_at: now })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: now }))
        .execute();
      // If this process is killed before it writes the `resync`, its own row leads to another one.
      const lost = await db.deleteFrom('change_writers').where(isLost).returning('id').execute();
      const oldest = await db
        .selectFrom('change_writers')
        .select('id')
        .orderBy('started_at')
        .orderBy('id')
        .limit(1)
        .executeTakeFirst();
      return { hasLost: lost.length > 0, isOldest: oldest?.id === writer };
    });
  }

  /** Removes a process that ends, and has no changes that are not in the log. */
  async leave(writer: string): Promise<void> {
    await this.#database.run((db) => db.deleteFrom('change_writers').where('id', '=', writer).execute());
  }

  /** Deletes old changes. */
  async expire({ ageMs, maxChanges }: Retention): Promise<void> {
    const { now } = this.#database.dialect;
    for (;;) {
      const isDone = await this.#database.transaction(async (db) => {
        const { last } = await this.#state(db);
        const oldest = await db
          .selectFrom('changes')
          .select(['sequence', sql<boolean | number>`time < ${now} - ${sql.lit(ageMs)}`.as('isOld')])
          .orderBy('sequence')
          .limit(EXPIRY_BATCH)
          .execute();
        // Numbers follow the order of time, except for corrections of the clock.
        const kept = oldest.findIndex(({ sequence, isOld }) => !isOld && sequence > last.sequence - maxChanges);
        const expired = (kept === -1 ? oldest : oldest.slice(0, kept)).at(-1);
        if (!expired) return true;
        await db.deleteFrom('changes').where('sequence', '<=', expired.sequence).execute();
        await db.updateTable('change_feed').set({ expired_sequence: expired.sequence }).execute();
        return kept !== -1 || oldest.length < EXPIRY_BATCH;
      });
      if (isDone) return;
    }
  }

  async #state(db: Pick<Transaction<Tables>, 'selectFrom'>) {
    const row = await db.selectFrom('change_feed').selectAll().executeTakeFirstOrThrow();
    return {
      key: Buffer.from(row.key, 'base64'),
      last: { sequence: row.last_sequence, time: row.last_time },
      expired: row.expired_sequence,
    };
  }
}

/** Returns the position of an ID; undefined if another database or none created it. */
function decodeId(key: Buffer, id: string): Position | undefined {
  try {
    return decodeCursor(key, id);
  } catch (error) {
    if (isStoreError(error, 'invalid-request')) return undefined;
    throw error;
  }
}

/** The comparison of both engines is exact, unlike that of LIKE. */
const startsWith = (column: 'path' | 'source', prefix: FolderPath) =>
  sql<boolean>`substr(${sql.ref(column)}, 1, length(cast(${prefix} as text))) = cast(${prefix} as text)`;

type Row = Selectable<ChangesTable>;

/** Returns rows without the first one if it is the change at a position. */
function withoutSeen(rows: readonly Row[], seen: Position): readonly Row[] {
  const [first] = rows;
  if (first?.sequence !== seen.sequence) return rows;
  // A restored backup continues with other changes than those that the reader has seen.
  if (first.time !== seen.time) throw cursorExpired();
  return rows.slice(1);
}

function pageOf(
  rows: readonly Row[],
  { start, limit, key }: { readonly start: Position; readonly limit: number; readonly key: Buffer },
): LogPage {
  const page = rows.slice(0, limit);
  const end = page.at(-1) ?? start;
  const ids = encodeCursors(key, page);
  return {
    changes: page.map((row, index) => toChange(row, ids[index] ?? encodeCursor(key, row))),
    end: { sequence: end.sequence, time: end.time },
    cursor: encodeCursor(key, end),
    hasMore: rows.length > page.length,
  };
}

/** Tells readers that changes are missing. */
export const RESYNC: Change = { type: 'resync', path: ROOT };

function toChange(row: Row, id: string): LoggedChange {
  const { type, source, size, etag, user_name: user, link } = row;
  // Only parsed paths are recorded.
  const toPath = (path: string) => path as FilePath | FolderPath;
  return {
    id,
    time: new Date(row.time),
    type,
    path: toPath(row.path),
    ...(source !== null && { from: toPath(source) }),
    ...(size !== null && { size }),
    ...(etag !== null && { etag }),
    ...(user !== null && { user }),
    ...(link !== null && { link }),
  };
}

function toStoredChange(row: Row, id: string): StoredChange {
  const { sequence, kept, undoes, identity, is_external: isExternal } = row;
  return {
    ...toChange(row, id),
    sequence,
    ...(kept !== null && { kept: kept === '' ? null : (kept as KeptId) }),
    ...(undoes !== null && { undoes }),
    ...(identity !== null && { identity }),
    ...(isExternal !== null && { isExternal: true }),
  };
}

/** Returns the error for a position whose changes the log does not have, or no longer. */
export function cursorExpired(): StoreError {
  const message = 'The cursor is too old, or belongs to a database that was lost. Read the folder again.';
  return new StoreError('cursor-expired', message);
}
