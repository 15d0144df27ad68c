import { sql } from 'kysely';
import { migrate } from '../../src/database/migrate.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';

/* Migrates the database in its argument, prints a line in the middle of the migration, and never ends by itself. */

const location: DatabaseLocation = JSON.parse(process.argv[2] ?? '');
const engine = await openEngine(location);
await using connection = await engine.connect();
await migrate(engine, connection, [
  {
    name: 'never end',
    async up(db) {
      await db.schema.createTable('notes').addColumn('id', 'integer').execute();
      await sql`insert into notes (id) values (1)`.execute(db);
      process.stdout.write('In the middle.\n');
      await new Promise((resolve) => setInterval(resolve, 2 ** 30).ref());
    },
  },
]);
