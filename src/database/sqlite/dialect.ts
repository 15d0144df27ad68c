import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type Kysely,
  type LimitNode,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  ValueNode,
} from 'kysely';
import { LRUCache } from 'lru-cache';
import { retryWhenBusy } from './busy.ts';

export interface NodeSqliteOptions {
  /** Milliseconds for which a statement waits for locks of other processes. */
  readonly busyTimeoutMs: number;
}

/**
 * The dialect of Kysely for `node:sqlite`. It has one connection: Kysely runs its queries and transactions one after the
 * other. Destroying the Kysely instance closes the database.
 */
export class NodeSqliteDialect implements Dialect {
  readonly #driver: NodeSqliteDriver;

  constructor(database: DatabaseSync, options: NodeSqliteOptions) {
    this.#driver = new NodeSqliteDriver(database, options);
  }

  createAdapter(): SqliteAdapter {
    return new SqliteAdapter();
  }

  createDriver(): Driver {
    return this.#driver;
  }

  createIntrospector(db: Kysely<unknown>): SqliteIntrospector {
    return new SqliteIntrospector(db);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new LiteralLimitCompiler();
  }
}

/**
 * Writes limits as literals. SQLite compiles a statement whose limit is a parameter again each time it runs, because the limit
 * can change the plan (`sqlite3ExprIsInteger` and `sqlite3VdbeSetVarmask` in its source): a short query takes eight times as long.
 */
class LiteralLimitCompiler extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    const { limit } = node;
    if (ValueNode.is(limit) && Number.isSafeInteger(limit.value)) this.append(`limit ${String(limit.value)}`);
    else super.visitLimit(node);
  }
}

class NodeSqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: NodeSqliteConnection;

  constructor(database: DatabaseSync, options: NodeSqliteOptions) {
    this.#database = database;
    this.#connection = new NodeSqliteConnection(database, options);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    // A deferred transaction that reads before it writes fails without waiting if another process has written meanwhile.
    await this.#connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  async commitTransaction(): Promise<void> {
    await this.#connection.executeQuery(CompiledQuery.raw('commit'));
  }

  async rollbackTransaction(): Promise<void> {
    // Some errors, such as a full disk, have already ended the transaction (https://sqlite.org/lang_transaction.html).
    if (this.#database.isTransaction) await this.#connection.executeQuery(CompiledQuery.raw('rollback'));
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
  }
}

interface Prepared {
  readonly statement: StatementSync;
  readonly hasRows: boolean;
}

/** Maximum prepared statements. Lists of values of many lengths make many statements. */
const MAX_PREPARED = 200;

/** Statements that are kept. */
const REPEATED = /^(?:select|insert|update|delete|with|begin|commit|rollback)\b/i;

class NodeSqliteConnection implements DatabaseConnection {
  readonly #prepared = new LRUCache<string, Prepared>({ max: MAX_PREPARED });
  readonly #database: DatabaseSync;
  readonly #busyTimeoutMs: number;

  constructor(database: DatabaseSync, { busyTimeoutMs }: NodeSqliteOptions) {
    this.#database = database;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return retryWhenBusy(this.#database, this.#busyTimeoutMs, () => this.#execute(query));
  }

  /** Not supported, because an open cursor would block all other queries of the process. Read in pages instead. */
  streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('The SQLite database does not stream queries.');
  }

  #execute<Row>({ sql, parameters }: CompiledQuery): QueryResult<Row> {
    const { statement, hasRows } = this.#prepare(sql);
    const values = parameters as readonly SQLInputValue[];
    if (hasRows) return { rows: statement.all(...values) as Row[] };
    const { changes } = statement.run(...values);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  /** Keeps prepared statements: preparing one takes three times as long as running it. */
  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    const prepared = { statement, hasRows: statement.columns().length > 0 };
    // Pragmas and changes of the schema run once.
    if (REPEATED.test(sql)) this.#prepared.set(sql, prepared);
    return prepared;
  }
}
