import type { Kysely, Transaction } from 'kysely';
import type { ChangeRecord } from '../model/change.ts';
import { StoreError } from '../model/error.ts';
import { type Appended, type Connection, DatabaseFault, type Engine, type SqlDialect } from './engine.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations/history.ts';
import type { Migration } from './migrations/migration.ts';
import { CHANGES_TOPIC } from './tables/changes.ts';
import type { Tables } from './tables/tables.ts';

/** Milliseconds between two checks of a connection that is idle. */
const CHECK_INTERVAL_MS = 5000;

/** Milliseconds until an unavailable database is tried again: doubled up to the maximum. */
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 5000;

/** Seconds after which clients should send a request again. */
const RETRY_AFTER_SECONDS = 5;

export interface DatabaseOptions {
  readonly migrations?: readonly Migration[];
  /** Called at the start with the first state, and then at each change. The fault is undefined while it is available. */
  readonly onChange?: (fault: DatabaseFault | undefined) => void;
  /** Sends topics to the other processes of this machine, for an engine without messages of its own. */
  readonly broadcast?: Broadcast;
}

/** Messages between the processes of one machine. */
export interface Broadcast {
  /** Sends a topic to all other processes. */
  send(topic: string): void;
  /** Calls `listener` for each topic that another process sends. Returns a function that ends it. */
  listen(listener: (topic: string) => void): () => void;
}

/**
 * The database of one process: what a store of files can't hold. It can be temporarily unavailable, which must not
 * affect plain file operations. It reconnects by itself, and then runs the migrations that are pending.
 */
export class Database {
  readonly engine: Engine;
  readonly #migrations: readonly Migration[];
  readonly #onChange: DatabaseOptions['onChange'];
  readonly #broadcast: Broadcast | undefined;
  readonly #listeners = new Set<(topic: string) => void>();
  readonly #endBroadcast: (() => void) | undefined;
  #connection: Connection | undefined;
  #fault: DatabaseFault | undefined;
  #retryMs = MIN_RETRY_MS;
  #timer: NodeJS.Timeout | undefined;
  #connecting: Promise<void> | undefined;
  #isClosed = false;

  constructor(engine: Engine, { migrations = MIGRATIONS, onChange, broadcast }: DatabaseOptions = {}) {
    this.engine = engine;
    this.#migrations = migrations;
    this.#onChange = onChange;
    this.#broadcast = broadcast;
    this.#endBroadcast = broadcast?.listen((topic) => this.#dispatch(topic));
  }

  get dialect(): SqlDialect {
    return this.engine.dialect;
  }

  get isAvailable(): boolean {
    return this.#connection !== undefined;
  }

  /** Connects and runs pending migrations. Resolves after the first attempt, also if it failed. */
  async start(): Promise<void> {
    await this.#connect({ isFirst: true });
  }

  /**
   * Runs queries. Throws a `StoreError` with the code `database-unavailable` if the database can't be used. `work` must
   * do nothing else that can fail with a system error.
   */
  run<Result>(work: (db: Kysely<Tables>) => Promise<Result>): Promise<Result> {
    return this.#use(({ db }) => work(db));
  }

  /**
   * Runs queries in one transaction, as `run` does. Use only `transaction` in `work`: on SQLite, `run` would wait for
   * the end of the transaction.
   */
  transaction<Result>(work: (transaction: Transaction<Tables>) => Promise<Result>): Promise<Result> {
    return this.run((db) => db.transaction().execute(work));
  }

  /**
   * Adds changes to the change log, and notifies the listeners of all processes. Returns the position of the last one.
   * Throws as `run` does.
   */
  async appendChanges(changes: readonly ChangeRecord[]): Promise<Appended> {
    return this.#use(async (connection) => {
      const appended = await connection.appendChanges(changes);
      // With `notify`, the transaction has sent the message, to this process as well.
      if (connection.notify) return appended;
      this.#dispatch(CHANGES_TOPIC);
      this.#broadcast?.send(CHANGES_TOPIC);
      return appended;
    });
  }

  /**
   * Notifies the listeners of all processes that use this database. A message can get lost, so that listeners must also
   * poll.
   */
  async notify(topic: string): Promise<void> {
    this.#dispatch(topic);
    const { notify } = this.#connection ?? {};
    if (notify) await this.run(() => notify(topic)).catch(() => {});
    else this.#broadcast?.send(topic);
  }

  /** Calls `listener` for each notification of any process. Returns a function that ends it. */
  listen(listener: (topic: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Closes the connection. Later calls throw `database-unavailable`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#endBroadcast?.();
    this.#listeners.clear();
    await this.#connecting;
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.[Symbol.asyncDispose]();
  }

  async #use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    const connection = this.#connection;
    if (!connection) throw unavailable(this.#fault);
    try {
      return await work(connection);
    } catch (error) {
      const fault = this.engine.faultOf(error);
      if (fault?.isOutage) this.#lose(connection, fault);
      // A query that was running when the connection was closed fails with any error.
      if (fault || this.#connection !== connection) throw unavailable(fault ?? this.#fault);
      throw error;
    }
  }

  #dispatch(topic: string): void {
    for (const listener of this.#listeners) listener(topic);
  }

  #connect({ isFirst = false } = {}): Promise<void> {
    this.#connecting = this.#tryToConnect(isFirst).finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #tryToConnect(isFirst: boolean): Promise<void> {
    let connection: Connection | undefined;
    try {
      connection = await this.engine.connect({
        // Until it is in use, `check` reports the loss.
        onLost: (error) => connection && this.#lose(connection, this.#toFault(error)),
        onNotification: (topic) => this.#dispatch(topic),
      });
      await migrate(this.engine, connection, this.#migrations);
    } catch (error) {
      if (connection) await closeQuietly(connection);
      const { kind, message } = this.#toFault(error);
      // Without a connection, every query fails, also for a reason that fails only some of them otherwise.
      this.#report(new DatabaseFault(kind, message, { cause: error }), isFirst);
      this.#schedule(() => this.#connect(), this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
      return;
    }
    if (this.#isClosed) return closeQuietly(connection);
    this.#connection = connection;
    this.#retryMs = MIN_RETRY_MS;
    this.#report(undefined, isFirst);
    this.#scheduleCheck();
  }

  #scheduleCheck(): void {
    this.#schedule(() => this.#check(), CHECK_INTERVAL_MS);
  }

  async #check(): Promise<void> {
    const connection = this.#connection;
    if (!connection) return;
    try {
      await connection.check();
    } catch (error) {
      const fault = this.#toFault(error);
      if (fault.isOutage) return this.#lose(connection, fault);
    }
    if (this.#connection === connection) this.#scheduleCheck();
  }

  /** Closes a connection that is no longer usable, and opens another one later. */
  #lose(connection: Connection, fault: DatabaseFault): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#report(fault);
    this.#schedule(() => this.#connect(), this.#retryMs);
    // Not awaited: a server that is gone might never confirm the end of its connections.
    void closeQuietly(connection);
  }

  #toFault(error: unknown): DatabaseFault {
    const fault = this.engine.faultOf(error);
    if (fault) return fault;
    const reason = error instanceof Error ? error.message : String(error);
    return new DatabaseFault('failed', `The database ${this.engine.place} failed: ${reason}`, { cause: error });
  }

  /** Reports a change of the state. Another fault of a database that is already unavailable is also a change. */
  #report(fault: DatabaseFault | undefined, isFirst = false): void {
    const isChange = fault?.message !== this.#fault?.message;
    this.#fault = fault;
    if (isFirst || isChange) this.#onChange?.(fault);
  }

  #schedule(work: () => Promise<void>, milliseconds: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void work(), milliseconds).unref();
  }
}

/** Closes a connection that might be broken. */
async function closeQuietly(connection: Connection): Promise<void> {
  try {
    await connection[Symbol.asyncDispose]();
  } catch {
    // The reason why it is closed is already reported.
  }
}

/** Returns the error for clients. Its message has no details: they are for the operator, in the log. */
function unavailable(fault: DatabaseFault | undefined): StoreError {
  if (fault?.kind === 'full') {
    const full =
      'The disk with the database of the service (STATE_DIR) is full, so this function does not work at the moment. Files are not affected. Free space on it.';
    return new StoreError('state-full', full, { cause: fault, retryAfter: RETRY_AFTER_SECONDS });
  }
  const message =
    'The database of the service is unavailable, so this function does not work at the moment. Files are not affected. Try again in a few seconds.';
  return new StoreError('database-unavailable', message, { cause: fault, retryAfter: RETRY_AFTER_SECONDS });
}
