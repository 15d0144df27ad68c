import assert from 'node:assert/strict';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { isComplete, plantTree, treeOf } from '../faults/trees.ts';
import { assertSuccess, jsonOf, postJson, send } from '../http/client.ts';
import { temporaryFilesOf } from './temporary-files.ts';

const ASYNC = { prefer: 'respond-async' };

const copyTo = (destination: string) => ({ source: 'many', destination, is_folder: true });

/** More files than are usually copied in the time that it takes to kill a process. */
const TREE = treeOf(400);

interface JobState {
  readonly status: string;
  readonly attempts: number;
}

const jobAt = async (port: number, location: string) => (jsonOf(await send(port, location)) as { job: JobState }).job;

const openDatabase = (root: string) => new DatabaseSync(join(root, '.holdall/holdall.sqlite'), { timeout: 10_000 });

/** Ends the lease of the job that runs. Returns when it would have expired, in the milliseconds of `Date.now`. */
function expireLease(root: string): number {
  using database = openDatabase(root);
  const row = database.prepare("select lease_expires_at from jobs where status = 'running'").get();
  database.exec("update jobs set lease_expires_at = created_at where status = 'running'");
  return Number(row?.['lease_expires_at']);
}

describe('Jobs of the service', () => {
  it('complete after the process was killed, when the service is started again', async (t) => {
    const root = await temporaryFolder(t);
    await plantTree(join(root, 'many'), TREE);
    let attempts = 0;
    // On a busy machine, the copy may end before this process has killed the other one.
    const { location, destination } = await until('a job was killed', async () => {
      const name = `copy ${++attempts}`;
      const { port, kill } = await startHoldall(t, { root });
      const response = await postJson(port, '/copy', copyTo(name), ASYNC);
      assert.equal(response.status, 202);
      await until('some files are copied, or all', async () => {
        const { files } = await temporaryFilesOf(root);
        return files.length > 100 || (await readdir(root)).includes(name);
      });
      await kill();
      const isCopied = (await readdir(root)).includes(name);
      return isCopied ? undefined : { location: String(response.headers.location), destination: name };
    });
    assert.ok(expireLease(root) > 0, 'It had a lease.');
    const { port } = await startInProcess(t, { root });
    await until('the job has ended', async () => (await jobAt(port, location)).status === 'succeeded');
    assert.equal((await jobAt(port, location)).attempts, 2);
    assert.ok(await isComplete(join(root, destination), TREE));
  });

  it('are operations of their request while the database is unavailable', async (t) => {
    const STATE_DIR = join(await temporaryFolder(t), 'state');
    await writeFile(STATE_DIR, 'a file where the folder should be');
    const SIGNING_KEY = 'a-key-of-the-tests-with-32-bytes!!';
    const { port, root } = await startInProcess(t, { settings: { STATE_DIR, SIGNING_KEY } });
    await mkdir(join(root, 'many'));
    assertSuccess(await postJson(port, '/copy', copyTo('copy'), ASYNC), { message: 'Item copied successfully' });
    const jobs = await send(port, '/-/jobs');
    assert.deepEqual([jobs.status, jobs.headers['retry-after']], [503, '5']);
    assert.equal((jsonOf(jobs) as { code: string }).code, 'database-unavailable');
    await rm(STATE_DIR);
  });
});
