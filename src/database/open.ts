import { join } from 'node:path';
import type { Engine } from './engine.ts';

/** Name of the SQLite database in the state folder. */
const FILE_NAME = 'holdall.sqlite';

/** Where the database is. */
export interface DatabaseLocation {
  /** URL of a PostgreSQL server. Undefined for a SQLite file. */
  readonly url: string | undefined;
  /** The folder of the SQLite file. */
  readonly stateFolder: string;
}

/** Returns the engine of a database. Connects to nothing yet, and loads only the modules of that engine. */
export async function openEngine({ url, stateFolder }: DatabaseLocation): Promise<Engine> {
  if (url !== undefined) {
    const { PostgresEngine } = await import('./postgres/engine.ts');
    return new PostgresEngine(url);
  }
  const { SqliteEngine } = await import('./sqlite/engine.ts');
  return new SqliteEngine(join(stateFolder, FILE_NAME));
}
