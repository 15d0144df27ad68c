import assert from 'node:assert/strict';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { MIGRATIONS } from '../../src/database/migrations/history.ts';
import { type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { jsonOf, plant, send } from '../http/client.ts';
import { untilAllServe } from './serving.ts';

const SIGNING_KEY = 'a-key-of-the-tests-with-32-bytes!!';

type Service = Pick<Holdall, 'port' | 'log'>;

const stateOf = async ({ port }: Service) => {
  const response = await send(port, '/-/health/ready');
  assert.equal(response.status, 200);
  return (jsonOf(response) as { database?: string }).database;
};

const linesAbout = ({ log }: Service, text: string) => log.filter(({ msg }) => String(msg).startsWith(text));

// An unreachable PostgreSQL server: tests/dav/outage.test.ts.
describe('The service and its SQLite database', () => {
  it('serves files if STATE_DIR is unusable, with one log line of all workers, and creates the database when it is usable', async (t) => {
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
    assert.equal((await stat(join(STATE_DIR, 'holdall.sqlite'))).mode & 0o777, 0o600);
  });

  it('serves files, and keeps what is deleted, after it is rolled back without its database', async (t) => {
    const STATE_DIR = await temporaryFolder(t);
    const newer = await startInProcess(t, { settings: { STATE_DIR, SIGNING_KEY } });
    await plant(newer.port, { 'a.txt': 'first', 'b.txt': 'deleted' });
    await newer.stop();
    using database = new DatabaseSync(join(STATE_DIR, 'holdall.sqlite'));
    database.exec(
      `insert into holdall_migrations (version, name, applied_at) values (${MIGRATIONS.length + 1}, 'later', 0)`,
    );

    const { port, log } = await startInProcess(t, { root: newer.root, settings: { STATE_DIR, SIGNING_KEY } });
    assert.deepEqual(
      log.filter(({ msg }) => msg === 'Database unavailable; only file operations work').map(({ fault }) => fault),
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
    const upload = await send(port, '/-/uploads/1', { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } });
    assert.equal(upload.status, 423, 'clients of tus begin a new upload after any other status');
    await plant(port, { 'a.txt': 'second' });
    assert.equal((await send(port, '/delete/b.txt', { method: 'DELETE' })).status, 200);
    const kept = [
      ...(jsonOf(await send(port, '/-/trash'))['entries'] as { path: string }[]).map(({ path }) => path),
      ...(jsonOf(await send(port, '/-/versions/a.txt'))['versions'] as { size: number }[]).map(({ size }) => size),
    ];
    assert.deepEqual(kept, ['b.txt', 'first'.length]);
  });
});
