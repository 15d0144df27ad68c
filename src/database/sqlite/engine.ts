import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { rename, rm, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely, sql, type Transaction } from 'kysely';
import type { ChangeRecord } from '../../model/change.ts';
import { isDiskFull, systemErrorCode } from '../../model/error.ts';
import { makeFolder } from '../../system.ts';
import {
  type Appended,
  type Connection,
  type ConnectOptions,
  DatabaseFault,
  type Engine,
  type SqlDialect,
} from '../engine.ts';
import type { Tables } from '../tables/tables.ts';
import { SqliteChangeWriter } from './change-writer.ts';
import { NodeSqliteDialect } from './dialect.ts';
import { sqliteFaultOf } from './errors.ts';

/** Milliseconds for which a statement waits for other processes. Their transactions take milliseconds. */
const BUSY_TIMEOUT_MS = 5000;

/** Milliseconds for which SQLite itself waits. It blocks the process, so it only bridges the shortest locks. */
const BLOCKING_TIMEOUT_MS = 5;

/** A database in a file, for the processes of one machine. */
export class SqliteEngine implements Engine {
  readonly name = 'sqlite';
  readonly place: string;
  readonly dialect: SqlDialect = {
    now: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
    // A single statement already excludes all other writers.
    skipLocked: (query) => query,
    inByteOrder: (column) => sql<string>`${sql.ref(column)}`,
    // Only this type makes the key the row ID, so that the table needs no index: https://sqlite.org/rowidtable.html.
    keyType: 'integer',
    bytesType: 'blob',
    async hasTable(db, name) {
      const found = sql`select 1 from sqlite_schema where type = 'table' and name = ${name}`;
      return (await found.execute(db)).rows.length > 0;
    },
  };
  readonly #busyTimeoutMs: number;
  /** The folder of the database when this process first opened it to write. */
  #folder: Place | undefined;

  constructor(file: string, { busyTimeoutMs = BUSY_TIMEOUT_MS }: { readonly busyTimeoutMs?: number } = {}) {
    this.place = file;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  async connect({ isReadOnly = false }: ConnectOptions = {}): Promise<Connection> {
    await requireLocalFileSystem(this.place);
    if (!isReadOnly) {
      this.#requireSameFolder();
      createFile(this.place);
    } else if (!existsSync(this.place)) throw missing(this.place);
    const options = { readOnly: isReadOnly, enableForeignKeyConstraints: true, timeout: BLOCKING_TIMEOUT_MS };
    const timeouts = { busyTimeoutMs: this.#busyTimeoutMs };
    const database = new DatabaseSync(this.place, options);
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database, timeouts) });
    const changes = new SqliteChangeWriter(new DatabaseSync(this.place, options), timeouts);
    const connection = new SqliteConnection(this.place, { database, db, changes });
    try {
      if (!isReadOnly) {
        await connection.prepareToWrite();
        this.#folder ??= placeOf(dirname(this.place));
      }
      return connection;
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Throws unless the database is in the same folder as before. A database that is created at the mount point of an unmounted
   * disk would lose its changes when the disk is mounted again.
   */
  #requireSameFolder(): void {
    if (!this.#folder) return;
    const folder = placeOf(dirname(this.place));
    if (isSamePlace(folder, this.#folder)) return;
    // A folder that was replaced on the same disk can have a database from a backup.
    if (folder?.device === this.#folder.device && existsSync(this.place)) return;
    const message = `The folder of the database ${this.place} was removed or replaced. If its disk is not mounted, mount it.`;
    throw new DatabaseFault('unreachable', message);
  }

  faultOf(error: unknown): DatabaseFault | undefined {
    return sqliteFaultOf(error, this.place);
  }

  async exists(): Promise<boolean> {
    return existsSync(this.place);
  }

  async backUp(file: string): Promise<void> {
    await using connection = await this.connect({ isReadOnly: true });
    // Written under another name first, so that an interrupted backup does not look like a complete one.
    const unfinished = `${file}.unfinished`;
    await rm(unfinished, { force: true });
    try {
      createFile(unfinished);
      await sql`vacuum into ${unfinished}`.execute(connection.db);
      await rename(unfinished, file);
    } finally {
      await rm(unfinished, { force: true });
    }
  }
}

class SqliteConnection implements Connection {
  readonly db: Kysely<Tables>;
  readonly #file: string;
  readonly #database: DatabaseSync;
  readonly #changes: SqliteChangeWriter;
  readonly #identity: Place | undefined;

  constructor(
    file: string,
    { database, db, changes }: { database: DatabaseSync; db: Kysely<Tables>; changes: SqliteChangeWriter },
  ) {
    this.#file = file;
    this.#database = database;
    this.db = db;
    this.#changes = changes;
    this.#identity = placeOf(file);
  }

  /** Sets the modes of the connection, and checks that it can write. */
  async prepareToWrite(): Promise<void> {
    // Readers and the writer don't block each other.
    await sql`pragma journal_mode = wal`.execute(this.db);
    // Syncs each commit, because Holdall confirms requests after it. NORMAL could lose confirmed commits in a power failure.
    await sql`pragma synchronous = full`.execute(this.db);
    await this.db.transaction().execute(async () => {});
  }

  async check(): Promise<void> {
    await sql`select 1 from sqlite_schema limit 1`.execute(this.db);
    if (isSamePlace(placeOf(this.#file), this.#identity)) return;
    throw new DatabaseFault('unreachable', `The database ${this.#file} was removed or replaced.`);
  }

  appendChanges(changes: readonly ChangeRecord[]): Promise<Appended> {
    return this.#changes.append(changes);
  }

  migrateLocked<Result>(work: (transaction: Transaction<unknown>) => Promise<Result>): Promise<Result> {
    // The types of the tables describe the database after its migrations.
    const db = this.db as unknown as Kysely<unknown>;
    return db.transaction().execute(work);
  }

  async findDamage(): Promise<readonly string[]> {
    const integrity = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(this.db);
    const damage = integrity.rows.map((row) => row.integrity_check).filter((problem) => problem !== 'ok');
    const keys = await sql<{ table: string; parent: string }>`pragma foreign_key_check`.execute(this.db);
    return [
      ...damage,
      ...keys.rows.map(({ table, parent }) => `A row of ${table} refers to a missing row of ${parent}.`),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#changes.close();
    await this.db.destroy();
    // Kysely closes only a connection that it has used.
    if (this.#database.isOpen) this.#database.close();
  }
}

/** Creates the file and its folder, readable only by their owner. SQLite gives its other files the same permissions. */
function createFile(file: string): void {
  try {
    makeFolder(dirname(file));
    closeSync(openSync(file, 'a', 0o600));
  } catch (error) {
    if (isDiskFull(error)) {
      const full = `The database ${file} can't be created, because the disk is full. Free space on it.`;
      throw new DatabaseFault('full', full, { cause: error });
    }
    const code = systemErrorCode(error);
    const isReadOnly = code === 'EROFS' || code === 'EACCES' || code === 'EPERM';
    const message = `The database ${file} can't be opened for writing (${code ?? String(error)}). Set STATE_DIR to a folder that the service can write to.`;
    throw new DatabaseFault(isReadOnly ? 'read-only' : 'unreachable', message, { cause: error });
  }
}

const missing = (file: string) => new DatabaseFault('unreachable', `The database ${file} does not exist.`);

/** What identifies an existing file or folder. */
interface Place {
  readonly device: bigint;
  readonly inode: bigint;
}

/** Returns the place of a file or folder; undefined if it does not exist. */
function placeOf(path: string): Place | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && { device: stats.dev, inode: stats.ino };
}

const isSamePlace = (left: Place | undefined, right: Place | undefined): boolean =>
  left?.device === right?.device && left?.inode === right?.inode;

/**
 * Network file systems, by their statfs(2) type on Linux (`linux/magic.h`). Processes on several machines don't share
 * the memory that the WAL mode needs, and would damage the file: https://sqlite.org/wal.html.
 */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, // NFS
  0xff534d42, // CIFS
  0xfe534d42, // SMB2
  0x00c36400, // CephFS
  0x5346414f, // AFS
  0x0bd00bd0, // Lustre
  0x01161970, // GFS2
  0x7461636f, // OCFS2
]);

async function requireLocalFileSystem(file: string): Promise<void> {
  if (process.platform !== 'linux') return;
  const type = await typeOfFileSystem(dirname(file));
  if (type === undefined || !NETWORK_FILE_SYSTEMS.has(type)) return;
  const message = `The database ${file} is on a network file system, which can damage it. Set STATE_DIR to a local folder, or DATABASE_URL to a PostgreSQL server.`;
  throw new DatabaseFault('misconfigured', message);
}

/** Returns the type of the file system of a folder, or of its nearest existing parent. */
async function typeOfFileSystem(folder: string): Promise<number | undefined> {
  const found = await statfs(folder).catch(() => undefined);
  if (found) return found.type;
  return dirname(folder) === folder ? undefined : typeOfFileSystem(dirname(folder));
}
