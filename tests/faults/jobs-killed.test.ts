import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { type Holdall, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { jsonOf, postJson, send, upload } from '../http/client.ts';

/** A job that acts on the folder of its name, and what remains of its old content. */
interface Scenario {
  readonly name: string;
  readonly submit: (port: number) => ReturnType<typeof send>;
  /** Where its old content is afterwards; undefined if it is deleted permanently. */
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
];

const OLD = 'old content';
const NEW = 'new content of another client';

/** How the first process ends, and when. */
interface Strike {
  readonly title: string;
  /** The status that jobs don't get before the strike: their work is done, or has not begun. */
  readonly held: 'succeeded' | 'running';
  readonly strike: (first: Holdall) => Promise<unknown>;
}

const STRIKES: readonly Strike[] = [
  { title: 'Jobs whose process is killed after their work', held: 'succeeded', strike: (first) => first.kill() },
  {
    title: 'Jobs whose process is stopped after their work',
    held: 'succeeded',
    strike(first) {
      first.signal('SIGTERM');
      return first.ended;
    },
  },
  { title: 'Jobs of a restored database that have ended', held: 'running', strike: (first) => first.kill() },
];

for (const { title, held, strike } of STRIKES) {
  it(`${title} leave new content at the same place alone`, async (t) => {
    const first = await startHoldall(t, { settings: { SHUTDOWN_TIMEOUT: '1' } });
    const { root, port } = first;
    for (const { name } of SCENARIOS) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, 'file'), OLD);
    }
    const path = join(root, '.holdall/holdall.sqlite');
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
    const backup = join(root, '.holdall/backup.sqlite');
    if (isRestored) execute(path, `vacuum into '${backup}'; drop trigger hold`);
    await until('the work is done', () =>
      SCENARIOS.every(({ name, destination }) => existsSync(join(root, destination ?? name)) === Boolean(destination)),
    );
    if (isRestored) await Promise.all(locations.map((location) => statusOf(first, location)));
    for (const { name } of SCENARIOS) await upload(port, `${name}/file`, NEW);
    await strike(first);

    if (isRestored) {
      for (const end of ['-wal', '-shm']) await rm(path + end, { force: true });
      await rename(backup, path);
    }
    execute(path, "drop trigger hold; update jobs set lease_expires_at = created_at where status = 'running'");
    const second = await startHoldall(t, { root });
    const statuses = await Promise.all(locations.map((location) => statusOf(second, location)));
    for (const [index, { name, destination, fails = false }] of SCENARIOS.entries()) {
      assert.equal(await readFile(join(root, name, 'file'), 'utf8'), NEW, name);
      assert.equal(statuses[index], fails || isRestored ? 'failed' : 'succeeded', name);
      if (destination) assert.equal(await readFile(join(root, destination, 'file'), 'utf8'), OLD, name);
    }
    const trash = await readdir(join(root, '.holdall/trash'));
    assert.equal(trash.filter((entry) => !entry.endsWith('.json')).length, 1);
  });
}

/** Runs statements in the database of a service. */
function execute(path: string, statements: string): void {
  using database = new DatabaseSync(path, { timeout: 10_000 });
  database.exec(statements);
}

/** Returns the status of a job that has ended. */
function statusOf({ port }: Holdall, location: string): Promise<string> {
  return until('the job has ended', async () => {
    const { job } = jsonOf(await send(port, location)) as { job: { status: string; finishedAt?: string } };
    return job.finishedAt === undefined ? undefined : job.status;
  });
}
