import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { ChangeRecord } from '../../model/change.ts';
import type { Appended } from '../engine.ts';
import { keptColumn } from '../tables/changes.ts';
import { retryWhenBusy } from './busy.ts';
import type { NodeSqliteOptions } from './dialect.ts';

/**
 * A connection that only appends to the change log. Uploads wait for it, so it uses prepared statements: they take a
 * quarter of the CPU time of Kysely.
 *
 * It does not sync commits, because each sync would block the process. A crash of the machine can therefore undo the last
 * changes, unless another connection has synced the WAL since (https://sqlite.org/pragma.html#pragma_synchronous).
 */
export class SqliteChangeWriter {
  readonly #database: DatabaseSync;
  readonly #busyTimeoutMs: number;
  /** Prepared for the first change, because the tables do not exist before the migration. */
  #statements: Statements | undefined;

  /** Owns `database`. */
  constructor(database: DatabaseSync, { busyTimeoutMs }: NodeSqliteOptions) {
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  append(changes: readonly ChangeRecord[]): Promise<Appended> {
    return retryWhenBusy(this.#database, this.#busyTimeoutMs, () => this.#append(changes));
  }

  close(): void {
    this.#database.close();
  }

  #append(changes: readonly ChangeRecord[]): Appended {
    this.#statements ??= prepare(this.#database);
    const { begin, reserve, insert, commit } = this.#statements;
    begin.run();
    try {
      const { last_sequence, last_time, key } = reserve.get(changes.length) ?? {};
      const appended = { sequence: Number(last_sequence), time: Number(last_time), key: String(key) };
      let sequence = appended.sequence - changes.length;
      for (const change of changes) insert.run(++sequence, appended.time, ...valuesOf(change));
      commit.run();
      return appended;
    } catch (error) {
      // Some errors have already ended the transaction (https://sqlite.org/lang_transaction.html).
      if (this.#database.isTransaction) this.#database.exec('rollback');
      throw error;
    }
  }
}

type Statements = ReturnType<typeof prepare>;

function prepare(database: DatabaseSync) {
  database.exec('pragma synchronous = normal');
  return {
    // Takes the lock at once, so that no other process can commit a larger number before.
    begin: database.prepare('begin immediate'),
    reserve: database.prepare(`
      update change_feed set last_sequence = last_sequence + ?, last_time = cast(unixepoch('subsec') * 1000 as integer)
      returning last_sequence, last_time, key`),
    insert: database.prepare(`
      insert into changes (sequence, time, type, path, source, size, etag, user_name, link, kept, undoes, identity, is_external)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    commit: database.prepare('commit'),
  };
}

function valuesOf(change: ChangeRecord): readonly SQLInputValue[] {
  const { type, path, from = null, size = null, etag = null, user = null, link = null, undoes = null } = change;
  const { identity = null, isExternal } = change;
  return [type, path, from, size, etag, user, link, keptColumn(change), undoes, identity, isExternal ? 1 : null];
}
