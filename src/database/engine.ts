import type { Kysely, QueryExecutorProvider, RawBuilder, SelectQueryBuilder, Transaction } from 'kysely';
import type { ChangeRecord } from '../model/change.ts';
import type { Tables } from './tables/tables.ts';

/** The supported database engines. */
export type EngineName = 'sqlite' | 'postgres';

/** Why a database can't be used. */
export type FaultKind =
  /** The server or the file can't be reached. */
  | 'unreachable'
  /** Another program locks the database, or a query took too long. */
  | 'busy'
  | 'corrupt'
  | 'read-only'
  | 'full'
  /** A newer version of Holdall has migrated the database. */
  | 'newer'
  /** The server refuses the user, the database does not exist, or its version is not supported. */
  | 'misconfigured'
  /** A migration failed. */
  | 'failed';

/**
 * The error for a database that can't be used. The message is for the operator: it contains no secrets, but can contain
 * the path of the file. `cause` is the original error.
 */
export class DatabaseFault extends Error {
  override readonly name = 'DatabaseFault';
  readonly kind: FaultKind;
  /** Whether later queries fail for the same reason, so that the connection must be opened again. */
  readonly isOutage: boolean;

  constructor(
    kind: FaultKind,
    message: string,
    { isOutage = true, cause }: { isOutage?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.isOutage = isOutage;
  }
}

/** The last of the changes that a transaction added. The others have the numbers before it, and the same time. */
export interface Appended {
  readonly sequence: number;
  readonly time: number;
  /** The key of cursors, in Base64. */
  readonly key: string;
}

/** An open connection to a database, or a pool of them. */
export interface Connection extends AsyncDisposable {
  readonly db: Kysely<Tables>;
  /** Throws if the connection is lost, or if the database file was replaced. */
  check(): Promise<void>;
  /** Runs the migrations in one transaction, under a lock that all processes of all machines share. */
  migrateLocked<Result>(work: (transaction: Transaction<unknown>) => Promise<Result>): Promise<Result>;
  /** Verifies the stored data. Returns a description of each problem. */
  findDamage(): Promise<readonly string[]>;
  /**
   * Adds changes to the end of the change log, in one transaction. Every upload waits for it, so each engine has its fastest
   * form. On an engine with `notify`, the transaction also sends a message of the topic `changes`. On an engine without a
   * server, a crash of this machine, not of the process, can undo the transaction. `changes` is not empty.
   */
  appendChanges(changes: readonly ChangeRecord[]): Promise<Appended>;
  /** Wakes up the processes that are connected to the same server. Undefined if the engine has no such messages. */
  readonly notify?: (topic: string) => Promise<void>;
}

export interface ConnectOptions {
  /** Called at most once, if the connection is lost while no query runs. */
  readonly onLost?: (error: unknown) => void;
  /** Called for each message of `Connection.notify`, from any process. */
  readonly onNotification?: (topic: string) => void;
  /** Whether to only read. The database must then exist, and other processes can write meanwhile. Default: false */
  readonly isReadOnly?: boolean;
}

/** A database engine, opened for one database. All differences between the engines are behind this interface. */
export interface Engine {
  readonly name: EngineName;
  /** The file or the server, for the operator, without user and password. */
  readonly place: string;
  readonly dialect: SqlDialect;
  /** Opens a connection, and creates a database that does not exist. Throws `DatabaseFault` or an error that `faultOf` knows. */
  connect(options?: ConnectOptions): Promise<Connection>;
  /** Returns the fault that an error of a query stands for; undefined for any other error, such as a violated constraint. */
  faultOf(error: unknown): DatabaseFault | undefined;
  /** Returns whether the database exists. A server's database always exists. */
  exists(): Promise<boolean>;
  /** Writes a consistent copy to a new file. Undefined if the engine has its own tool for backups. */
  readonly backUp?: (file: string) => Promise<void>;
}

/** The differences in SQL between the engines. */
export interface SqlDialect {
  /**
   * The time at which the statement started, in milliseconds since 1970, by the clock of the server. Processes on several
   * machines then agree about the expiry of leases.
   */
  readonly now: RawBuilder<number>;
  /** Locks the selected rows until the end of the statement, and skips rows that other processes have locked. */
  skipLocked<Table extends keyof Tables, Selected>(
    query: SelectQueryBuilder<Tables, Table, Selected>,
  ): SelectQueryBuilder<Tables, Table, Selected>;
  /** A column of text for comparisons and orders by its bytes in UTF-8. */
  inByteOrder(column: string): RawBuilder<string>;
  /** The type of a numeric primary key of 64 bits. */
  readonly keyType: 'bigint' | 'integer';
  /** The type of a column of bytes. */
  readonly bytesType: 'bytea' | 'blob';
  hasTable(db: QueryExecutorProvider, name: string): Promise<boolean>;
}
