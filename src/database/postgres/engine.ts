import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely';
import { Client, type ClientConfig, Pool, types } from 'pg';
import { type Connection, type ConnectOptions, DatabaseFault, type Engine, type SqlDialect } from '../engine.ts';
import { CHANGES_TOPIC } from '../tables/changes.ts';
import type { Tables } from '../tables/tables.ts';
import { appendChanges } from './append-changes.ts';
import { postgresFaultOf } from './errors.ts';

/** Connections of one process. The default limit of a server, 100, then suffices for some twenty processes. */
const MAX_CONNECTIONS = 4;

const CONNECT_TIMEOUT_MS = 3000;

/** Milliseconds that a query can take on the server, and to get a lock. */
const STATEMENT_TIMEOUT_MS = 10_000;
const LOCK_TIMEOUT_MS = 5000;

/** Milliseconds that the client waits for a response: longer than the server, except if the network is down. */
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2000;

/** Milliseconds that all migrations together can take, including the wait for another process that migrates. */
const MIGRATION_TIMEOUT_MS = 10 * 60_000;

/** The oldest supported version. */
const MIN_SERVER_VERSION = 130_000;

/** The key of the advisory lock for migrations: "hold" in ASCII. */
const MIGRATION_LOCK = 0x686f6c64;

/** The channel of LISTEN and NOTIFY. */
const CHANNEL = 'holdall';

/** A database on a PostgreSQL server, for processes on several machines. */
export class PostgresEngine implements Engine {
  readonly name = 'postgres';
  readonly place: string;
  readonly dialect: SqlDialect = {
    now: sql<number>`cast(extract(epoch from statement_timestamp()) * 1000 as bigint)`,
    inByteOrder: (column) => sql<string>`${sql.ref(column)} collate "C"`,
    keyType: 'bigint',
    bytesType: 'bytea',
    skipLocked: (query) => query.forUpdate().skipLocked(),
    async hasTable(db, name) {
      const { rows } = await sql<{ found: boolean }>`select to_regclass(${name}) is not null as found`.execute(db);
      return rows[0]?.found === true;
    },
  };
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
    this.place = placeOf(url);
  }

  async connect({ onLost = () => {}, onNotification, isReadOnly }: ConnectOptions = {}): Promise<Connection> {
    await using opening = new AsyncDisposableStack();
    const { place } = this;
    const pool = new Pool({
      ...this.#clientConfig(),
      ...(isReadOnly && { options: '-c default_transaction_read_only=on' }),
      max: MAX_CONNECTIONS,
      idleTimeoutMillis: 30_000,
    });
    opening.defer(() => pool.end());
    let isLost = false;
    const lose = (error: unknown) => {
      if (!isLost) onLost(error);
      isLost = true;
    };
    pool.on('error', lose);
    // The pool does not listen to a connection in use. Between two queries of a transaction, its loss would be an uncaught
    // error.
    pool.on('connect', (client) => client.on('error', lose));
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
    await requireUsableServer(db, place);
    if (onNotification) {
      const listener = new Client(this.#clientConfig());
      // Without a listener, a lost connection would be an uncaught error.
      listener.on('error', lose);
      opening.defer(() => listener.end());
      await listener.connect();
      listener.on('end', () =>
        lose(new DatabaseFault('unreachable', `The PostgreSQL server ${place} closed a connection.`)),
      );
      listener.on('notification', ({ payload = '' }) => onNotification(payload));
      await listener.query(`listen ${CHANNEL}`);
    }
    const resources = opening.move();
    return {
      db,
      async check() {
        if (isLost) throw new DatabaseFault('unreachable', `The PostgreSQL server ${place} closed a connection.`);
        await sql`select 1`.execute(db);
      },
      migrateLocked: (work) => this.#migrateLocked(work),
      // The server has its own checks: checksums, and pg_amcheck.
      findDamage: async () => [],
      appendChanges: (changes) => appendChanges(db, changes, notification(CHANGES_TOPIC)),
      notify: async (topic) => void (await sql`select ${notification(topic)}`.execute(db)),
      async [Symbol.asyncDispose]() {
        isLost = true;
        await resources.disposeAsync();
      },
    };
  }

  faultOf(error: unknown): DatabaseFault | undefined {
    return postgresFaultOf(error, this.place);
  }

  async exists(): Promise<boolean> {
    return true;
  }

  async #migrateLocked<Result>(work: (transaction: Transaction<unknown>) => Promise<Result>): Promise<Result> {
    const timeouts = {
      statement_timeout: MIGRATION_TIMEOUT_MS,
      lock_timeout: MIGRATION_TIMEOUT_MS,
      query_timeout: MIGRATION_TIMEOUT_MS,
      idle_in_transaction_session_timeout: MIGRATION_TIMEOUT_MS,
    };
    const pool = new Pool({ ...this.#clientConfig(), ...timeouts, max: 1 });
    pool.on('error', () => {});
    // The next query fails.
    pool.on('connect', (client) => client.on('error', () => {}));
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
    try {
      return await db.transaction().execute(async (transaction) => {
        // Ends with the transaction, also if this process is killed.
        await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction);
        return work(transaction);
      });
    } finally {
      await db.destroy();
    }
  }

  #clientConfig(): ClientConfig {
    return {
      connectionString: this.#url,
      application_name: 'holdall',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      lock_timeout: LOCK_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      idle_in_transaction_session_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
      types: { getTypeParser },
    };
  }
}

const notification = (topic: string) => sql`pg_notify(${CHANNEL}, ${topic})`;

/** Reads 64-bit integers as numbers: Holdall stores only times, sizes and counts below 2^53. */
const getTypeParser: typeof types.getTypeParser = (...args) =>
  args[0] === types.builtins.INT8 ? Number : types.getTypeParser(...args);

async function requireUsableServer(db: Kysely<Tables>, place: string): Promise<void> {
  const { rows } = await sql<{ version: string; standby: boolean }>`
    select current_setting('server_version_num') as version, pg_is_in_recovery() as standby`.execute(db);
  const [{ version, standby } = { version: '0', standby: false }] = rows;
  if (standby) {
    throw new DatabaseFault(
      'read-only',
      `The PostgreSQL server ${place} is a standby. Set DATABASE_URL to the primary.`,
    );
  }
  if (Number(version) >= MIN_SERVER_VERSION) return;
  const found = Math.floor(Number(version) / 10_000);
  const required = MIN_SERVER_VERSION / 10_000;
  const message = `The PostgreSQL server ${place} has version ${found}. Holdall requires version ${required} or later.`;
  throw new DatabaseFault('misconfigured', message);
}

/** Returns the host and the name of the database, without user, password and parameters. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host || 'localhost'}${pathname}`;
}
