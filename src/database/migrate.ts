import { type Kysely, type QueryExecutorProvider, sql } from 'kysely';
import { type Connection, DatabaseFault, type Engine } from './engine.ts';
import type { Migration } from './migrations/migration.ts';
import type { MigrationsTable } from './tables/migrations.ts';

/** What a migration run has done. */
export interface Migrated {
  /** The version before. 0 is an empty database. */
  readonly from: number;
  readonly to: number;
  /** The names of the applied migrations. */
  readonly applied: readonly string[];
}

/**
 * Brings a database to the latest version of `migrations`, in one transaction. Processes that start at the same time
 * wait for each other, and each migration is applied once. Throws `DatabaseFault` if the database is newer, or if a
 * migration fails; the database then remains as it was.
 */
export async function migrate(
  engine: Engine,
  connection: Connection,
  migrations: readonly Migration[],
): Promise<Migrated> {
  const present = await readVersion(engine, connection.db);
  if (present === migrations.length) return { from: present, to: present, applied: [] };
  return connection.migrateLocked(async (transaction) => {
    const from = await readVersion(engine, transaction);
    if (from > migrations.length) throw newerDatabase(engine, from, migrations.length);
    if (from === 0) await createTable(engine, transaction);
    const pending = migrations.slice(from);
    for (const [index, migration] of pending.entries()) {
      await apply(engine, transaction, migration);
      const version = from + index + 1;
      await sql`insert into holdall_migrations (version, name, applied_at)
        values (${version}, ${migration.name}, ${Date.now()})`.execute(transaction);
    }
    return { from, to: migrations.length, applied: pending.map(({ name }) => name) };
  });
}

/** Returns the version of a database: the number of applied migrations. */
export async function readVersion({ dialect }: Engine, db: QueryExecutorProvider): Promise<number> {
  if (!(await dialect.hasTable(db, TABLE))) return 0;
  const { rows } = await sql<Pick<MigrationsTable, 'version'>>`
    select coalesce(max(version), 0) as version from holdall_migrations`.execute(db);
  return rows[0]?.version ?? 0;
}

/** Returns the fault of a database that a newer version of Holdall has migrated. */
export function newerDatabase({ place }: Engine, version: number, latest: number): DatabaseFault {
  const message = `The database ${place} has version ${version}, but this version of Holdall supports only versions up to ${latest}. Install the newer Holdall again, or restore a backup of the database.`;
  return new DatabaseFault('newer', message);
}

const TABLE = 'holdall_migrations';

async function createTable({ dialect }: Engine, db: Kysely<unknown>): Promise<void> {
  if (await dialect.hasTable(db, TABLE)) return;
  await db.schema
    .createTable(TABLE)
    .addColumn('version', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .execute();
}

async function apply(engine: Engine, db: Kysely<unknown>, { name, up }: Migration): Promise<void> {
  try {
    await up(db, engine.dialect);
  } catch (error) {
    const fault = engine.faultOf(error);
    if (fault) throw fault;
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The migration "${name}" of the database ${engine.place} failed: ${reason}. The database was not changed.`;
    throw new DatabaseFault('failed', message, { cause: error });
  }
}
