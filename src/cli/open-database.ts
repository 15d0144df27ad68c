import { readConfig } from '../config/config.ts';
import type { Config } from '../config/settings.ts';
import { Database } from '../database/database.ts';
import type { DatabaseFault, Engine } from '../database/engine.ts';
import { newerDatabase, readVersion } from '../database/migrate.ts';
import { MIGRATIONS } from '../database/migrations/history.ts';
import { openEngine } from '../database/open.ts';
import { isStoreError } from '../model/error.ts';
import { backendOf } from '../stores/registry.ts';
import { EXIT_CODES } from '../system.ts';
import { type CommandContext, CommandFailed } from './command.ts';

/** Returns the settings, and the engine of the configured database. */
export async function readEngine({
  loadEnvironment,
}: Pick<CommandContext, 'loadEnvironment'>): Promise<{ readonly config: Config; readonly engine: Engine }> {
  const config = readConfig((await loadEnvironment()).variables);
  return {
    config,
    engine: await openEngine({ url: config.DATABASE_URL, stateFolder: backendOf(config).stateFolder(config) }),
  };
}

/** Runs `work`, and throws its faults as errors for the user. */
export async function withFaults<Result>(engine: Engine, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const fault = engine.faultOf(error);
    if (fault) throw failureOf(fault);
    throw error;
  }
}

/**
 * Opens the database of the service for `work`, and closes it afterwards. Throws expected failures as errors for the user.
 * Creates and migrates nothing, because an older service that still runs could then no longer use the database.
 */
export async function withDatabase<Result>(
  engine: Engine,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  await withFaults(engine, () => requireLatestVersion(engine));
  let found: DatabaseFault | undefined;
  const database = new Database(engine, {
    onChange(fault) {
      found = fault;
    },
  });
  try {
    await database.start();
    if (found) throw failureOf(found);
    return await work(database);
  } catch (error) {
    if (!isStoreError(error)) throw error;
    throw found ? failureOf(found) : new CommandFailed(error.message);
  } finally {
    await database.close();
  }
}

async function requireLatestVersion(engine: Engine): Promise<void> {
  const advice = 'Start the service, or run "holdall database migrate".';
  if (!(await engine.exists())) throw new CommandFailed(`The database ${engine.place} does not exist yet. ${advice}`);
  await using connection = await engine.connect({ isReadOnly: true });
  const version = await readVersion(engine, connection.db);
  const latest = MIGRATIONS.length;
  if (version > latest) throw newerDatabase(engine, version, latest);
  if (version === latest) return;
  throw new CommandFailed(`The database ${engine.place} has version ${version}, not ${latest}. ${advice}`);
}

function failureOf({ kind, message }: DatabaseFault): CommandFailed {
  return new CommandFailed(message, { code: exitCodeOf(kind) });
}

function exitCodeOf(kind: DatabaseFault['kind']): number {
  if (kind === 'misconfigured') return EXIT_CODES.configuration;
  return kind === 'unreachable' || kind === 'busy' || kind === 'full' ? EXIT_CODES.unavailable : EXIT_CODES.failed;
}
