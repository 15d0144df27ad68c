import assert from 'node:assert/strict';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { MIGRATIONS } from '../../src/database/migrations/history.ts';
import { type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { POSTGRES_PASSWORD, startPostgres, type TestPostgres } from '../../testing/servers/postgres.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import { jsonOf, plant, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { untilAllServe } from './serving.ts';

export const needs: readonly Need[] = ['postgres'];

const SIGNING_KEY = 'a-key-of-the-tests-with-32-bytes!!';

const stateOf = async ({ port }: Holdall) => {
  const response = await send(port, '/-/health/ready');
  assert.equal(response.status, 200);
  return (jsonOf(response) as { database?: string }).database;
};

const linesAbout = ({ log }: Holdall, text: string) => log.filter(({ msg }) => String(msg).startsWith(text));

describe('The service and its SQLite database', { concurrency: true }, () => {
  it('creates the database in the hidden folder of the disk, once for all workers', async (t) => {
    const holdall = await startHoldall(t, { settings: { WORKERS: isFullForm ? '3' : '2' } });
    await untilAllServe(holdall);
    assert.equal(await stateOf(holdall), 'available');
    assert.equal((await stat(join(holdall.root, '.holdall/holdall.sqlite'))).mode & 0o777, 0o600);
    assert.deepEqual(linesAbout(holdall, 'Database'), []);
    assert.equal((await send(holdall.port, '/file/.holdall/holdall.sqlite')).status, 404);
  });

  it('serves files if STATE_DIR is unusable, with one log line, and uses it when it is usable', async (t) => {
    const STATE_DIR = join(await temporaryFolder(t), 'state');
    await writeFile(STATE_DIR, 'a file where the folder should be');
    const holdall = await startHoldall(t, { settings: { STATE_DIR, SIGNING_KEY, WORKERS: '2' } });
    await untilAllServe(holdall);
    const lines = linesAbout(holdall, 'Database');
    assert.equal(lines.length, 1);
    assert.partialDeepStrictEqual(lines[0], {
      level: 'error',
      msg: 'Database unavailable; only file operations work',
      engine: 'sqlite',
      reason: `The database ${STATE_DIR}/holdall.sqlite can't be opened for writing (ENOTDIR). Set STATE_DIR to a folder that the service can write to.`,
    });
    assert.equal(await stateOf(holdall), 'unavailable');
    await plant(holdall.port, { 'a.txt': 'content' });
    assert.equal((await send(holdall.port, '/file/a.txt')).body.toString(), 'content');
    await rm(STATE_DIR);
    await mkdir(STATE_DIR);
    await until('the database is available', async () => (await stateOf(holdall)) === 'available');
    assert.ok(linesAbout(holdall, 'Database available again').length >= 1);
  });

  it('serves files, and keeps what is deleted, after it is rolled back without its database', async (t) => {
    const STATE_DIR = await temporaryFolder(t);
    const newer = await startHoldall(t, { settings: { STATE_DIR, SIGNING_KEY } });
    await plant(newer.port, { 'a.txt': 'first', 'b.txt': 'deleted' });
    newer.signal('SIGTERM');
    await newer.ended;
    using database = new DatabaseSync(join(STATE_DIR, 'holdall.sqlite'));
    database.exec(
      `insert into holdall_migrations (version, name, applied_at) values (${MIGRATIONS.length + 1}, 'later', 0)`,
    );

    const { port, ...holdall } = await startHoldall(t, { root: newer.root, settings: { STATE_DIR, SIGNING_KEY } });
    assert.deepEqual(
      holdall.log
        .filter(({ msg }) => msg === 'Database unavailable; only file operations work')
        .map(({ fault }) => fault),
      ['newer'],
    );
    assert.partialDeepStrictEqual(jsonOf(await send(port, '/-/health/ready')), {
      success: true,
      database: 'unavailable',
    });
    for (const path of ['/-/links', '/-/changes', '/-/jobs/1', '/-/locks', '/-/webhooks']) {
      const refused = await send(port, path);
      assert.deepEqual([path, refused.status, jsonOf(refused)['code']], [path, 503, 'database-unavailable']);
    }
    await plant(port, { 'a.txt': 'second' });
    assert.equal((await send(port, '/delete/b.txt', { method: 'DELETE' })).status, 200);
    const kept = [
      ...(jsonOf(await send(port, '/-/trash'))['entries'] as { path: string }[]).map(({ path }) => path),
      ...(jsonOf(await send(port, '/-/versions/a.txt'))['versions'] as { size: number }[]).map(({ size }) => size),
    ];
    assert.deepEqual(kept, ['b.txt', 'first'.length]);
  });
});

describe('The service and its PostgreSQL database', () => {
  let server: TestPostgres;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());

  it('serves files while the server is killed, and reconnects after its restart', async (t) => {
    const settings = { DATABASE_URL: await server.createDatabase(), METRICS_TOKEN: 'a-token-of-the-tests' };
    const holdall = await startHoldall(t, { settings });
    assert.equal(await stateOf(holdall), 'available');
    await server.kill();
    await until('the loss is found', async () => (await stateOf(holdall)) === 'unavailable');
    await plant(holdall.port, { 'a.txt': 'content' });
    assert.match(await metricsOf(holdall), /^holdall_database_unavailable\{worker="1"\} 1$/m);
    await server.restart();
    await until('the database is available', async () => (await stateOf(holdall)) === 'available');
    assert.match(await metricsOf(holdall), /^holdall_database_unavailable\{worker="1"\} 0$/m);
    assert.equal(linesAbout(holdall, 'Database available again').length, 1);
    assert.ok(!holdall.printed().includes(POSTGRES_PASSWORD));
  });

  // tests/database migrates one database in several processes.
  it('migrates once when several services start at the same time', IN_FULL_FORM_ONLY, async (t) => {
    const DATABASE_URL = await server.createDatabase();
    const settings = { DATABASE_URL, WORKERS: '2' };
    const services = await Promise.all([1, 2, 3].map(() => startHoldall(t, { settings })));
    for (const service of services) {
      await untilAllServe(service);
      assert.equal(await stateOf(service), 'available');
      assert.deepEqual(linesAbout(service, 'Database'), []);
    }
  });
});

async function metricsOf({ port }: Holdall): Promise<string> {
  const response = await send(port, '/-/metrics', { headers: { authorization: 'Bearer a-token-of-the-tests' } });
  return response.body.toString();
}
