import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Connection, Engine } from '../database/engine.ts';
import { migrate, newerDatabase, readVersion } from '../database/migrate.ts';
import { MIGRATIONS } from '../database/migrations/history.ts';
import { quoted } from '../model/error.ts';
import { EXIT_CODES } from '../system.ts';
import { CommandFailed, defineCommand, JSON_OPTION, type JsonOptions, toJson, UsageError } from './command.ts';
import { readEngine, withFaults } from './open-database.ts';

/** `holdall database migrate`: applies pending migrations. */
export const DATABASE_MIGRATE = defineCommand<JsonOptions>({
  name: 'database migrate',
  summary: 'Bring the database to the version of this program',
  details:
    "The service does this at its start. Run the command before an upgrade of several replicas to see whether it succeeds. Afterwards, older versions can't use the database.",
  options: [JSON_OPTION],
  examples: { 'holdall database migrate': 'Migrate the database of DATABASE_URL, or in STATE_DIR' },
  async run({ options, print, ...context }) {
    const { engine } = await readEngine(context);
    const { from, to, applied } = await withFaults(engine, async () => {
      await using connection = await engine.connect();
      return await migrate(engine, connection, MIGRATIONS);
    });
    if (options.json) print(toJson({ engine: engine.name, place: engine.place, from, to, applied }));
    else if (applied.length === 0) print(`The database ${engine.place} already has version ${to}.\n`);
    else print(`Migrated the database ${engine.place} from version ${from} to ${to}.\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall database backup`: writes a copy of a SQLite database. */
export const DATABASE_BACKUP = defineCommand<JsonOptions>({
  name: 'database backup',
  arguments: { '<file>': 'New file for the copy' },
  summary: 'Write a consistent copy of the database',
  details:
    'Works while the service runs. Only for SQLite: back up PostgreSQL with pg_dump. Files are not part of the database.',
  options: [JSON_OPTION],
  examples: { 'holdall database backup /backup/holdall.sqlite': 'Copy the database in STATE_DIR' },
  async run({ args: [file = ''], options, print, ...context }) {
    if (existsSync(file)) throw new UsageError(`The file ${quoted(file)} already exists. Name a new file.`);
    const { engine } = await readEngine(context);
    const { backUp } = engine;
    if (!backUp) {
      throw new CommandFailed(
        `The database is on the PostgreSQL server ${engine.place}. Back it up with pg_dump: see docs/how-to/backup.md.`,
      );
    }
    await withFaults(engine, () => backUp.call(engine, file));
    const { size } = await stat(file);
    print(options.json ? toJson({ file, size }) : `Copied the database ${engine.place} to ${file} (${size} bytes).\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall database check`: verifies the database without changing it. */
export const DATABASE_CHECK = defineCommand<JsonOptions>({
  name: 'database check',
  summary: 'Check the version and the integrity of the database',
  details: 'Works while the service runs, and changes nothing.',
  options: [JSON_OPTION],
  examples: { 'holdall database check': 'Check the database of DATABASE_URL, or in STATE_DIR' },
  async run({ options, print, explain, ...context }) {
    const { engine } = await readEngine(context);
    const { version, problems } = await withFaults(engine, () => examine(engine));
    const latest = MIGRATIONS.length;
    if (options.json) {
      print(toJson({ engine: engine.name, place: engine.place, version, latest, problems }));
    } else if (problems.length > 0) {
      explain(`holdall: The database ${engine.place} is damaged:\n${problems.map((each) => `  ${each}\n`).join('')}`);
    } else if (version === null) {
      print(`The database ${engine.place} does not exist yet. The service creates it at its start.\n`);
    } else {
      print(`The database ${engine.place} has version ${version} of ${latest} and no damage.\n`);
    }
    return problems.length > 0 ? EXIT_CODES.failed : EXIT_CODES.ok;
  },
});

/** Returns the version of a database and descriptions of its damage. The version is null if it does not exist. */
async function examine(engine: Engine): Promise<{ version: number | null; problems: readonly string[] }> {
  if (!(await engine.exists())) return { version: null, problems: [] };
  await using connection: Connection = await engine.connect({ isReadOnly: true });
  const version = await readVersion(engine, connection.db);
  if (version > MIGRATIONS.length) throw newerDatabase(engine, version, MIGRATIONS.length);
  return { version, problems: await connection.findDamage() };
}
