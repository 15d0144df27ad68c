import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type QueryExecutorProvider, sql } from 'kysely';
import { Database, type DatabaseOptions } from '../../src/database/database.ts';
import type { DatabaseFault } from '../../src/database/engine.ts';
import { migrate, readVersion } from '../../src/database/migrate.ts';
import { MIGRATIONS } from '../../src/database/migrations/history.ts';
import type { Migration } from '../../src/database/migrations/migration.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';
import { isStoreError } from '../../src/model/error.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';

/** A history of three versions. The rows that a version contains must survive the next ones. */
export const HISTORY: readonly Migration[] = [
  {
    name: 'create notes',
    async up(db) {
      await db.schema
        .createTable('notes')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .execute();
      await sql`insert into notes (id) values (1)`.execute(db);
    },
  },
  {
    name: 'add texts',
    up: (db) => db.schema.alterTable('notes').addColumn('text', 'text').execute(),
  },
  {
    name: 'fill texts',
    async up(db) {
      await sql`update notes set text = 'kept' where id = 1`.execute(db);
    },
  },
];

/** The tests that every engine passes. `create` returns the location of a new, empty database. */
export function testDatabase(name: string, create: () => Promise<DatabaseLocation>): void {
  describe(`The database on ${name}`, { concurrency: CONCURRENT_TESTS }, () => {
    const start = async (t: TestContext, location: DatabaseLocation, options: DatabaseOptions = {}) => {
      const database = new Database(await openEngine(location), options);
      atEnd(t, () => database.close());
      await database.start();
      return database;
    };
    /** Migrates outside of a service. */
    const migrateTo = async (location: DatabaseLocation, migrations: readonly Migration[]) => {
      const engine = await openEngine(location);
      await using connection = await engine.connect();
      return await migrate(engine, connection, migrations);
    };
    const versionOf = async (location: DatabaseLocation) => {
      const engine = await openEngine(location);
      await using connection = await engine.connect();
      return await readVersion(engine, connection.db);
    };

    for (const from of HISTORY.keys()) {
      it(`migrates from version ${from}, and keeps the rows`, async (t) => {
        const location = await create();
        await migrateTo(location, HISTORY.slice(0, from));
        const migrated = await migrateTo(location, HISTORY);
        const applied = HISTORY.slice(from).map((migration) => migration.name);
        assert.deepEqual(migrated, { from, to: HISTORY.length, applied });
        assert.deepEqual(await migrateTo(location, HISTORY), { from: 3, to: 3, applied: [] });
        const database = await start(t, location, { migrations: HISTORY });
        assert.deepEqual(await database.run(readNotes), [{ id: 1, text: 'kept' }]);
      });
    }

    it('applies every released migration, one after the other', async () => {
      const location = await create();
      for (const count of MIGRATIONS.keys()) {
        const { applied } = await migrateTo(location, MIGRATIONS.slice(0, count + 1));
        assert.equal(applied.length, 1);
      }
      assert.equal(await versionOf(location), MIGRATIONS.length);
    });

    it('has one time in all parts of a statement', async (t) => {
      const database = await start(t, await create(), { migrations: HISTORY });
      const { rows } = await database.run((db) =>
        sql<{ times: number }>`
          with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < 100000)
          select count(distinct ${database.dialect.now} + 0 * number) as times from numbers`.execute(db),
      );
      assert.equal(Number(rows[0]?.times), 1);
    });

    it('applies each migration once if several processes start at the same time', async () => {
      const location = await create();
      const runs = await Promise.all(Array.from({ length: 6 }, () => migrateTo(location, HISTORY)));
      const applied = runs.flatMap((run) => run.applied);
      assert.deepEqual(
        applied,
        HISTORY.map((migration) => migration.name),
      );
    });

    it('is unchanged after a migration that fails', async () => {
      const location = await create();
      const failing: Migration = {
        name: 'fail halfway',
        async up(db) {
          await db.schema.createTable('half').addColumn('id', 'integer').execute();
          await sql`insert into missing values (1)`.execute(db);
        },
      };
      await migrateTo(location, HISTORY.slice(0, 1));
      await assert.rejects(
        migrateTo(location, [...HISTORY, failing]),
        /^DatabaseFault: The migration "fail halfway" of the database .* failed: .*missing.* The database was not changed\.$/,
      );
      assert.equal(await versionOf(location), 1);
      assert.equal((await migrateTo(location, HISTORY)).from, 1);
    });

    it('is unchanged after a migration that was killed halfway', async () => {
      const location = await create();
      const child = spawn(process.execPath, [MIGRATING_PROCESS, JSON.stringify(location)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(child.stdout, 'data');
      child.kill('SIGKILL');
      await once(child, 'close');
      assert.equal(await versionOf(location), 0);
      assert.equal((await migrateTo(location, HISTORY)).applied.length, 3);
    });

    it('is not used if a newer version of Holdall has migrated it', async (t) => {
      const location = await create();
      await migrateTo(location, HISTORY);
      const states: (DatabaseFault | undefined)[] = [];
      const database = await start(t, location, {
        migrations: HISTORY.slice(0, 2),
        onChange: (fault) => states.push(fault),
      });
      assert.equal(database.isAvailable, false);
      assert.deepEqual(
        states.map((fault) => [fault?.kind, fault?.message.replace(database.engine.place, 'PLACE')]),
        [
          [
            'newer',
            'The database PLACE has version 3, but this version of Holdall supports only versions up to 2. Install the newer Holdall again, or restore a backup of the database.',
          ],
        ],
      );
      await assertUnavailable(database);
    });

    it('rolls back a transaction that fails, and passes on its error', async (t) => {
      const database = await start(t, await create(), { migrations: HISTORY });
      const failure = new Error('a reason of its own');
      const work = database.transaction(async (transaction) => {
        await sql`insert into notes (id) values (2)`.execute(transaction);
        throw failure;
      });
      await assert.rejects(work, failure);
      await assert.rejects(
        database.run((db) => sql`insert into notes (id) values (1)`.execute(db)),
        (error) => !isStoreError(error),
      );
      assert.equal(database.isAvailable, true);
      assert.deepEqual(await database.run(readNotes), [{ id: 1, text: 'kept' }]);
    });

    it('waits for the transactions of other processes', async (t) => {
      const location = await create();
      const [one, other] = [
        await start(t, location, { migrations: HISTORY }),
        await start(t, location, { migrations: HISTORY }),
      ];
      const add = (database: Database) =>
        database.transaction(async (transaction) => {
          const found = await sql<{
            text: string;
          }>`update notes set text = text || '+' where id = 1 returning text`.execute(transaction);
          await new Promise(setImmediate);
          return found.rows[0]?.text.length;
        });
      const lengths = await Promise.all([one, other, one, other, one, other].map(add));
      assert.deepEqual(new Set(lengths), new Set([5, 6, 7, 8, 9, 10]));
    });

    it('has a clock in milliseconds, and reads large numbers as numbers', async (t) => {
      const database = await start(t, await create(), { migrations: HISTORY });
      const { rows } = await database.run((db) =>
        sql<{ now: number }>`select ${database.dialect.now} as now`.execute(db),
      );
      const now = rows[0]?.now;
      assert.ok(typeof now === 'number' && Math.abs(now - Date.now()) < 60_000, String(now));
    });

    it('finds no damage', async () => {
      const location = await create();
      await migrateTo(location, HISTORY);
      const engine = await openEngine(location);
      await using connection = await engine.connect({ isReadOnly: true });
      assert.deepEqual(await connection.findDamage(), []);
      await assert.rejects(addNote(connection.db, 'never'), (error) => engine.faultOf(error)?.kind === 'read-only');
    });

    it('returns 503 for every query after it is closed', async (t) => {
      const database = await start(t, await create(), { migrations: HISTORY });
      await database.close();
      await assertUnavailable(database);
    });
  });
}

const MIGRATING_PROCESS = fileURLToPath(new URL('./migrating-process.ts', import.meta.url));

export async function readNotes(db: QueryExecutorProvider): Promise<unknown[]> {
  return (await sql`select id, text from notes order by id`.execute(db)).rows.map((row) => ({ ...(row as object) }));
}

export async function addNote(db: QueryExecutorProvider, text: string): Promise<void> {
  await sql`insert into notes (id, text) select max(id) + 1, ${text} from notes`.execute(db);
}

/** Asserts that queries fail with the error of an unavailable database. */
export async function assertUnavailable(database: Database): Promise<void> {
  await assert.rejects(
    database.run((db) => sql`select 1`.execute(db)),
    (error) => isStoreError(error, 'unavailable') && error.code === 'database-unavailable' && error.retryAfter === 5,
  );
}

/** Waits until queries succeed again. */
export async function untilAvailable(database: Database): Promise<void> {
  await until('the database is available', () => database.isAvailable);
  await database.run((db) => sql`select 1`.execute(db));
}
