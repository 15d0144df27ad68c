import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Database } from '../src/database/database.ts';
import { type DatabaseLocation, openEngine } from '../src/database/open.ts';

const FILE = 'holdall.sqlite';

/** An SQLite database with all tables, which tests copy: running the migrations takes ten times as long. */
let template: Promise<string> | undefined;

/** Creates a new SQLite database with all tables in a folder, and the folder if it is missing. Returns its location. */
export async function createSqlite(stateFolder: string): Promise<DatabaseLocation> {
  template ??= createTemplate();
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  const file = join(stateFolder, FILE);
  await copyFile(await template, file);
  using database = new DatabaseSync(file);
  database.exec('pragma synchronous = off');
  database.prepare(NEW_FEED.replace('$1', '?')).run(randomBytes(16).toString('base64'));
  return { url: undefined, stateFolder };
}

/** Creates the tables of Holdall in an empty database. */
export async function createTables(location: DatabaseLocation): Promise<void> {
  const database = new Database(await openEngine(location));
  await database.start();
  await database.close();
}

/** Makes a copy another change feed: cursors of one database are not valid in another. */
export const NEW_FEED = 'update change_feed set key = $1';

async function createTemplate(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-template-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await createTables({ url: undefined, stateFolder: folder });
  return join(folder, FILE);
}
