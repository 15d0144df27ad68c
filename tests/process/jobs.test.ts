import assert from 'node:assert/strict';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
import { assertSuccess, jsonOf, postJson, send } from '../http/client.ts';
import { untilStaged } from './temporary-files.ts';

const ASYNC = { prefer: 'respond-async' };
const COPY = { source: 'many', destination: 'copy', is_folder: true };

/** More files than are copied in the time that it takes to kill a process. */
const FILES = 2000;

async function folderOfMany(root: string): Promise<void> {
  await mkdir(join(root, 'many'));
  for (let index = 0; index < FILES; index++) await writeFile(join(root, 'many', `${index}`), `content of ${index}`);
}

const jobAt = async ({ port }: Holdall, location: string) =>
  (jsonOf(await send(port, location)) as { job: { status: string; attempts: number } }).job;

const openDatabase = (root: string) => new DatabaseSync(join(root, '.holdall/holdall.sqlite'));

/** Returns when the lease of the running job expires, in the milliseconds of `Date.now`. */
function expiryOfLease(root: string): number {
  using database = openDatabase(root);
  return Number(
    database.prepare("select lease_expires_at from jobs where status = 'running'").get()?.['lease_expires_at'],
  );
}

function expireLease(root: string): void {
  using database = openDatabase(root);
  database.exec("update jobs set lease_expires_at = created_at where status = 'running'");
}

const WORKERS = isFullForm ? '2' : '1';

describe('Jobs of the service', { concurrency: true }, () => {
  it('complete after all processes were killed, when the service is started again', async (t) => {
    const root = await temporaryFolder(t);
    await folderOfMany(root);
    const first = await startHoldall(t, { root, settings: { WORKERS } });
    const response = await postJson(first.port, '/copy', COPY, ASYNC);
    assert.equal(response.status, 202);
    const location = String(response.headers.location);
    await untilStaged(root, 1, 100);
    await first.kill();
    assert.deepEqual((await readdir(root)).includes('copy'), false);
    assert.ok(expiryOfLease(root) > Date.now());
    // Only the full form waits for 15 seconds, as long as the lease of the killed process is valid.
    if (!isFullForm) expireLease(root);
    const second = await startHoldall(t, { root, settings: { WORKERS } });
    await until('the job has ended', async () => (await jobAt(second, location)).status === 'succeeded');
    assert.equal((await jobAt(second, location)).attempts, 2);
    assert.equal((await readdir(join(root, 'copy'))).length, FILES);
  });

  it('are operations of their request while the database is unavailable', async (t) => {
    const STATE_DIR = join(await temporaryFolder(t), 'state');
    await writeFile(STATE_DIR, 'a file where the folder should be');
    const SIGNING_KEY = 'a-key-of-the-tests-with-32-bytes!!';
    const holdall = await startHoldall(t, { settings: { STATE_DIR, SIGNING_KEY } });
    await mkdir(join(holdall.root, 'many'));
    assertSuccess(await postJson(holdall.port, '/copy', COPY, ASYNC), { message: 'Item copied successfully' });
    const jobs = await send(holdall.port, '/-/jobs');
    assert.deepEqual([jobs.status, jobs.headers['retry-after']], [503, '5']);
    assert.equal((jsonOf(jobs) as { code: string }).code, 'database-unavailable');
    await rm(STATE_DIR);
  });
});
