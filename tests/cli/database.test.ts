import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { MIGRATIONS } from '../../src/database/migrations/history.ts';
import { runCli } from '../../testing/cli.ts';
import { POSTGRES_PASSWORD, type SharedPostgres, sharePostgres } from '../../testing/servers/postgres.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['postgres'];

const LATEST = MIGRATIONS.length;

describe('holdall database', () => {
  let folder: string;
  let server: SharedPostgres;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdall-cli-database-'));
    server = await sharePostgres();
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  let count = 0;
  const newState = () => join(folder, String(++count));
  const run = (STATE_DIR: string, ...args: string[]) => runCli(['database', ...args], { environment: { STATE_DIR } });
  const runOnServer = (DATABASE_URL: string, ...args: string[]) =>
    runCli(['database', ...args], { environment: { DATABASE_URL } });

  it('check reports a SQLite database that does not exist, and creates nothing', async () => {
    const state = newState();
    const file = join(state, 'holdall.sqlite');
    assert.deepEqual(await run(state, 'check'), {
      code: 0,
      stdout: `The database ${file} does not exist yet. The service creates it at its start.\n`,
      stderr: '',
    });
    const { stdout } = await run(state, 'check', '--json');
    assert.deepEqual(JSON.parse(stdout), {
      engine: 'sqlite',
      place: file,
      version: null,
      latest: LATEST,
      problems: [],
    });
    assert.equal(existsSync(state), false);
  });

  it('uses the hidden folder of the disk without STATE_DIR', async () => {
    const environment = { DISK_ROOT: join(folder, 'files') };
    const { stdout } = await runCli(['database', 'check'], { environment });
    assert.ok(stdout.includes(join(folder, 'files/.holdall/holdall.sqlite')));
  });

  it('migrate creates the database, and has nothing to do afterwards', async () => {
    const state = newState();
    const { code, stdout } = await run(state, 'migrate', '--json');
    const names = MIGRATIONS.map(({ name }) => name);
    const place = join(state, 'holdall.sqlite');
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { engine: 'sqlite', place, from: 0, to: LATEST, applied: names });
    assert.equal((await run(state, 'migrate')).stdout, `The database ${place} already has version ${LATEST}.\n`);
    assert.equal(
      (await run(state, 'check')).stdout,
      `The database ${place} has version ${LATEST} of ${LATEST} and no damage.\n`,
    );
  });

  it('backup writes a database that check accepts, and replaces no file', async () => {
    const [state, restored] = [newState(), newState()];
    await run(state, 'migrate');
    await mkdir(restored);
    const file = join(restored, 'holdall.sqlite');
    const { code, stdout } = await run(state, 'backup', file, '--json');
    assert.equal(code, 0);
    assert.equal((JSON.parse(stdout) as { file: string }).file, file);
    assert.equal((await run(restored, 'check')).code, 0);
    assert.deepEqual(await run(state, 'backup', file), {
      code: 2,
      stdout: '',
      stderr: `holdall: The file "${file}" already exists. Name a new file. See "holdall database backup --help".\n`,
    });
  });

  it('check returns 1 for a damaged database', async () => {
    const state = newState();
    await run(state, 'migrate');
    const file = join(state, 'holdall.sqlite');
    using database = new DatabaseSync(file);
    database.exec('create table parents (id integer primary key)');
    database.exec('create table children (parent integer references parents (id))');
    database.exec('pragma foreign_keys = off; insert into children values (1)');
    const { code, stderr, stdout } = await run(state, 'check');
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^holdall: The database .* is damaged:\n {2}A row of children refers to a missing row of parents\.\n$/,
    );
  });

  it('returns 1 for a file that is no database, and for one of a newer version', async () => {
    const state = newState();
    await mkdir(state);
    const file = join(state, 'holdall.sqlite');
    await writeFile(file, 'text'.repeat(1000));
    for (const command of ['check', 'migrate']) {
      const { code, stderr } = await run(state, command);
      assert.equal(code, 1);
      assert.equal(
        stderr,
        `holdall: The database ${file} is not a SQLite database. Restore a backup, or move the file away.\n`,
      );
    }
    await rm(file);
    await run(state, 'migrate');
    using database = new DatabaseSync(file);
    database.exec(
      'create table if not exists holdall_migrations (version integer primary key, name text, applied_at integer)',
    );
    database.exec("insert into holdall_migrations values (999, 'from the future', 0)");
    for (const command of ['check', 'migrate']) {
      const { code, stderr } = await run(state, command);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^holdall: The database .* has version 999, but this version of Holdall supports only versions up to \d+\./,
      );
    }
  });

  it('check and migrate work on PostgreSQL, and backup names pg_dump', async () => {
    const url = await server.createDatabase();
    const { stdout } = await runOnServer(url, 'migrate', '--json');
    assert.partialDeepStrictEqual(JSON.parse(stdout), { engine: 'postgres', from: 0, to: LATEST });
    assert.equal((await runOnServer(url, 'check')).code, 0);
    const backup = await runOnServer(url, 'backup', join(folder, 'never'));
    assert.equal(backup.code, 1);
    assert.match(backup.stderr, /^holdall: The database is on the PostgreSQL server .*pg_dump/);
    assert.ok(!backup.stderr.includes(POSTGRES_PASSWORD));
  });

  it('returns 69 for a server that is down, and 78 for a wrong password', async () => {
    const url = await server.createDatabase();
    assert.equal((await runOnServer(url.replace(/:\d+\//, ':1/'), 'check')).code, 69);
    const refused = await runOnServer(url.replace(POSTGRES_PASSWORD, 'another-secret'), 'check');
    assert.equal(refused.code, 78);
    assert.ok(!refused.stderr.includes('another-secret'));
  });
});
