import { randomBytes } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { chown, mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { atEnd, type Owner } from '../at-end.ts';
import { findCommand } from '../debian-packages.js';
import { cleanUpAtExit } from '../exit-cleanup.ts';
import { createTables, NEW_FEED } from '../migrated-database.ts';
import { type OwnedProcess, run, start } from '../processes.ts';
import { until } from '../until.ts';
import { findFreePort } from './free-port.ts';

/** A PostgreSQL server in a temporary folder. It also ends when this process ends. */
export interface TestPostgres {
  /** Creates an empty database and returns its URL, which contains a user and a password. */
  createDatabase(): Promise<string>;
  /** Creates a database with all tables of Holdall, and returns its URL. */
  createMigratedDatabase(): Promise<string>;
  /**
   * Returns the URL of a database with all tables, as new. When its owner has closed its connections and ended, others use it:
   * a copy takes several times as long as emptying it.
   */
  lendDatabase(owner: Owner): Promise<string>;
  /** Runs SQL as the owner of a database, outside of Holdall. Returns the rows. */
  query(url: string, text: string): Promise<Record<string, unknown>[]>;
  /** Kills all of its processes with SIGKILL, like a power failure. */
  kill(): Promise<void>;
  /** Starts it again on the same port, with the same data. */
  restart(): Promise<void>;
  /** Stops it, and removes its data. */
  stop(): Promise<void>;
}

const USER = 'holdall';
export const POSTGRES_PASSWORD = 'a-secret-of-the-tests';

/** Starts a server on a free port of 127.0.0.1. */
export async function startPostgres(): Promise<TestPostgres> {
  assertDeclared('postgres');
  const folder = await mkdtemp(join(await folderForData(), 'holdall-postgres-'));
  const forget = cleanUpAtExit({ kind: 'folder', name: folder });
  const port = await findFreePort();
  const data = join(folder, 'data');
  let server: OwnedProcess | undefined;

  const urlOf = (database: string) => `postgres://${USER}:${POSTGRES_PASSWORD}@127.0.0.1:${port}/${database}`;
  const query = async (url: string, text: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  const createDatabase = async (options = '') => {
    const name = `test_${randomBytes(6).toString('hex')}`;
    await query(urlOf('postgres'), `create database ${name} ${options}`);
    return urlOf(name);
  };
  let template: Promise<string> | undefined;
  /** Returns the options of a copy. Running the migrations takes ten times as long, and by default, a copy twice as long. */
  const copyTemplate = async () => {
    const url = await createDatabase();
    await createTables({ url, stateFolder: '/nowhere' });
    const [{ server_version_num: version } = {}] = await query(url, 'show server_version_num');
    const strategy = Number(version) >= 150_000 ? 'strategy file_copy' : '';
    return `template ${new URL(url).pathname.slice(1)} ${strategy}`;
  };
  const createMigratedDatabase = async () => {
    template ??= copyTemplate();
    const url = await createDatabase(await template);
    await query(url, newFeed());
    return url;
  };
  const createLent = async () => {
    const url = await createMigratedDatabase();
    await query(url, KEEP_INITIAL_ROWS);
    return url;
  };
  const unused: string[] = [];
  const lendDatabase = async (owner: Owner) => {
    const url = unused.pop() ?? (await createLent());
    atEnd(owner, async () => {
      await query(url, `${RESTORE_INITIAL_ROWS}; ${newFeed()}`);
      unused.push(url);
    });
    return url;
  };
  const launch = async () => {
    server = start(asServerUser('postgres', ['-D', data, '-p', String(port), '-k', folder, ...OPTIONS]));
    await untilReady(server, () => query(urlOf('postgres'), 'select 1'));
  };
  const stop = async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
    forget();
  };

  try {
    const password = join(folder, 'password');
    await writeFile(password, POSTGRES_PASSWORD);
    await changeOwner(folder, password);
    const initialize = asServerUser('initdb', ['-D', data, '--pwfile', password, ...INIT_OPTIONS]);
    await run(initialize, AbortSignal.timeout(60_000));
    await launch();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    createDatabase: () => createDatabase(),
    createMigratedDatabase,
    lendDatabase,
    query,
    async kill() {
      if (server) process.kill(-server.pid, 'SIGKILL');
      await server?.ended;
    },
    restart: launch,
    stop,
  };
}

/** A file system in memory on most Linux systems, in which a database of several hundred files is soon created and removed. */
const MEMORY_FOLDER = '/dev/shm';

/** The bytes that all servers of a run may take there. Containers often have only 64 MiB. */
const MIN_FREE_BYTES = 2 * 1024 ** 3;

async function folderForData(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(MEMORY_FOLDER);
    if (bavail * bsize >= MIN_FREE_BYTES) return MEMORY_FOLDER;
  } catch {
    // Other systems have no such folder.
  }
  return tmpdir();
}

/** A server that other test files also use, and that is therefore not killed. */
export type SharedPostgres = Omit<TestPostgres, 'kill' | 'restart'>;

let shared: { readonly server: Promise<TestPostgres>; users: number } | undefined;

/** Starts a server, or returns the one that other test files of this process use. The last `stop` ends it. */
export async function sharePostgres(): Promise<SharedPostgres> {
  assertDeclared('postgres');
  shared ??= { server: startPostgres(), users: 0 };
  const current = shared;
  current.users += 1;
  const { createDatabase, createMigratedDatabase, lendDatabase, query, stop } = await current.server;
  return {
    createDatabase,
    createMigratedDatabase,
    lendDatabase,
    query,
    async stop() {
      current.users -= 1;
      if (current.users > 0) return;
      shared = undefined;
      await stop();
    },
  };
}

const newFeed = () => NEW_FEED.replace('$1', `'${randomBytes(16).toString('base64')}'`);

/** Copies the rows of all tables to another schema. */
const KEEP_INITIAL_ROWS = `
  create schema initial;
  do $$ declare name text; begin
    for name in select tablename from pg_tables where schemaname = 'public' loop
      execute format('create table initial.%I as table public.%I', name, name);
    end loop;
  end $$`;

/** Gives all tables their initial rows again. Foreign keys are not checked, so that the order does not matter. */
const RESTORE_INITIAL_ROWS = `
  set session_replication_role = replica;
  do $$ declare name text; begin
    for name in select tablename from pg_tables where schemaname = 'public' loop
      execute format('delete from public.%I', name);
      execute format('insert into public.%I overriding system value select * from initial.%I', name, name);
    end loop;
  end $$`;

/** Like most servers: passwords over TCP, and UTF-8. */
const INIT_OPTIONS = ['-U', USER, '--auth', 'scram-sha-256', '--encoding', 'UTF8', '--no-locale', '--no-sync'];

/**
 * Data need not survive a power failure of the machine that runs the tests. Shared memory is in the data folder, which is removed
 * even if the server is killed.
 */
const OPTIONS = [
  'listen_addresses=127.0.0.1',
  'fsync=off',
  'shared_buffers=16MB',
  'dynamic_shared_memory_type=mmap',
].flatMap((setting) => ['-c', setting]);

async function untilReady(server: OwnedProcess, probe: () => Promise<unknown>): Promise<void> {
  let ending: string | undefined;
  const watch = async () => {
    ending = (await server.ended).description;
  };
  void watch();
  await until('PostgreSQL accepts connections', async () => {
    if (ending !== undefined) throw new Error(`PostgreSQL ended: ${ending}\n${server.lastOutput()}`);
    return probe().then(
      () => true,
      () => false,
    );
  });
}

/** Returns whether the programs of a server are installed. */
export function isPostgresInstalled(): boolean {
  return findProgram('initdb') !== undefined && findProgram('postgres') !== undefined;
}

/** Returns the path of a program of the server. Debian has them outside of the search path. */
function findProgram(name: string): string | undefined {
  return findCommand(name) ?? globSync(`/usr/lib/postgresql/*/bin/${name}`).find((path) => existsSync(path));
}

/** PostgreSQL refuses to run as root. The package creates this user. */
const SERVER_USER = 'postgres';

const isRoot = process.getuid?.() === 0;

function asServerUser(name: string, args: readonly string[]) {
  const program = findProgram(name) ?? name;
  if (!isRoot) return { file: program, args };
  const options = ['--reuid', SERVER_USER, '--regid', SERVER_USER, '--clear-groups'];
  return { file: 'setpriv', args: [...options, program, ...args] };
}

async function changeOwner(...paths: readonly string[]): Promise<void> {
  if (!isRoot) return;
  const { stdout } = await run({ file: 'id', args: ['--user', SERVER_USER] }, AbortSignal.timeout(10_000));
  for (const path of paths) await chown(path, Number(stdout), (await stat(path)).gid);
}
