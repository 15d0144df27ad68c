import assert from 'node:assert/strict';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { jsonOf, postJson, send, upload } from '../http/client.ts';

/** A job that acts on the folder of its name, and what remains of its old content. */
interface Scenario {
  readonly name: string;
  /** Makes the changes before the job. */
  readonly prepare?: (port: number) => Promise<unknown>;
  readonly submit: (port: number) => ReturnType<typeof send>;
  /** Where its old content is afterwards; undefined if it is deleted. */
  readonly destination: string | undefined;
  /** Whether the job fails, because it can't tell its copy from other content when the source has changed. */
  readonly fails?: boolean;
}

const ASYNC = { prefer: 'respond-async' };

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'permanent',
    submit: (port) => send(port, '/delete_folder/permanent?permanent=true', { method: 'DELETE', headers: ASYNC }),
    destination: undefined,
  },
  {
    name: 'trashed',
    submit: (port) => send(port, '/delete_folder/trashed', { method: 'DELETE', headers: ASYNC }),
    destination: undefined,
  },
  {
    name: 'moved',
    submit: (port) => postJson(port, '/move', { source: 'moved', destination: 'moved to', is_folder: true }, ASYNC),
    destination: 'moved to',
  },
  {
    name: 'renamed',
    submit: (port) => postJson(port, '/rename_folder/renamed', { newName: 'renamed to' }, ASYNC),
    destination: 'renamed to',
  },
  {
    name: 'copied',
    submit: (port) => postJson(port, '/copy', { source: 'copied', destination: 'copied to', is_folder: true }, ASYNC),
    destination: 'copied to',
    fails: true,
  },
  {
    name: 'restored',
    prepare: (port) => send(port, '/delete_folder/restored', { method: 'DELETE' }),
    async submit(port) {
      const item = (await trashOf(port)).find(({ path }) => path === 'restored/');
      return postJson(port, `/-/trash/${item?.id}/restore`, { to: 'restored to/' }, ASYNC);
    },
    destination: 'restored to',
  },
];

const OLD = 'old content';
const NEW = 'new content of another client';

/** How the first service ends, and when. */
interface Strike {
  readonly title: string;
  /** The status that jobs don't get before the strike: their work is done, or has not begun. */
  readonly held: 'succeeded' | 'running';
  /** Whether it is a process that is killed. Otherwise, it stops. */
  readonly isKilled: boolean;
}

const STRIKES: readonly Strike[] = [
  { title: 'Jobs whose process is killed after their work', held: 'succeeded', isKilled: true },
  { title: 'Jobs whose service is stopped after their work', held: 'succeeded', isKilled: false },
  { title: 'Jobs of a restored database that have ended', held: 'running', isKilled: false },
];

// On a branch: tests/long/repeated-jobs.test.ts.
describe('On a disk', () => {
  for (const { title, held, isKilled } of STRIKES) {
    it(`${title} leave new content at the same place alone`, async (t) => {
      const root = await temporaryFolder(t);
      const state = join(root, '.holdall');
      await mkdir(state);
      const start = { root, settings: { SHUTDOWN_TIMEOUT: '1' } };
      const first = isKilled ? await startHoldall(t, start) : await startInProcess(t, start);
      const { port } = first;
      await Promise.all(SCENARIOS.map(({ name }) => upload(port, `${name}/file`, OLD)));
      for (const { prepare } of SCENARIOS) await prepare?.(port);
      const path = join(state, 'holdall.sqlite');
      const hold = `create trigger hold before update on jobs when new.status = '${held}' begin select raise(abort, 'held'); end`;
      execute(path, hold);
      const locations = await Promise.all(
        SCENARIOS.map(async ({ submit }) => {
          const { status, headers } = await submit(port);
          assert.equal(status, 202);
          return String(headers.location);
        }),
      );
      const isRestored = held === 'running';
      const backup = join(state, 'backup.sqlite');
      if (isRestored) execute(path, `vacuum into '${backup}'; drop trigger hold`);
      for (const { name, destination } of SCENARIOS) {
        const expected = destination === undefined ? undefined : OLD;
        const file = `${destination ?? name}/file`;
        await until('the work is done', async () => (await contentOf(port, file)) === expected);
      }
      if (isRestored) await Promise.all(locations.map((location) => statusOf(port, location)));
      for (const { name } of SCENARIOS) await upload(port, `${name}/file`, NEW);
      await ('kill' in first ? first.kill() : first.stop());

      if (isRestored) {
        for (const end of ['-wal', '-shm']) await rm(path + end, { force: true });
        await rename(backup, path);
      }
      execute(path, "drop trigger hold; update jobs set lease_expires_at = created_at where status = 'running'");
      const second = await startInProcess(t, { root });
      const statuses = await Promise.all(locations.map((location) => statusOf(second.port, location)));
      for (const [at, { name, destination, fails = false }] of SCENARIOS.entries()) {
        assert.equal(await contentOf(second.port, `${name}/file`), NEW, name);
        assert.equal(statuses[at], fails || isRestored ? 'failed' : 'succeeded', name);
        if (destination) assert.equal(await contentOf(second.port, `${destination}/file`), OLD, name);
      }
      const trash = await trashOf(second.port);
      assert.deepEqual(
        trash.map((item) => item.path),
        ['trashed/'],
      );
    });
  }
});

/** Returns the content of a file; undefined if it does not exist. */
async function contentOf(port: number, path: string): Promise<string | undefined> {
  const { status, body } = await send(port, `/file/${encodeURI(path)}`);
  return status === 404 ? undefined : body.toString();
}

async function trashOf(port: number) {
  return (jsonOf(await send(port, '/-/trash')) as { entries: { id: string; path: string }[] }).entries;
}

/** Runs statements in the database of a service. */
function execute(path: string, statements: string): void {
  using database = new DatabaseSync(path, { timeout: 10_000 });
  database.exec(statements);
}

/** Returns the status of a job that has ended. */
function statusOf(port: number, location: string): Promise<string> {
  return until('the job has ended', async () => {
    const { job } = jsonOf(await send(port, location)) as { job: { status: string; finishedAt?: string } };
    return job.finishedAt === undefined ? undefined : job.status;
  });
}
