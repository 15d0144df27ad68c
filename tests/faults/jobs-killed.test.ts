import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
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

it('Jobs whose process is killed after their work leave new content at the same place alone', async (t) => {
  const first = await startHoldall(t);
  const { root } = first;
  for (const { name } of SCENARIOS) {
    await mkdir(join(root, name));
    await writeFile(join(root, name, 'file'), OLD);
  }
  using database = new DatabaseSync(join(root, '.holdall/holdall.sqlite'), { timeout: 10_000 });
  // The work of the jobs is done, but not that it is.
  database.exec(
    "create trigger hold before update on jobs when new.status = 'succeeded' begin select raise(abort, 'held'); end",
  );
  const locations = await Promise.all(
    SCENARIOS.map(async ({ submit }) => {
      const { status, headers } = await submit(first.port);
      assert.equal(status, 202);
      return String(headers.location);
    }),
  );
  await until('the work is done', () =>
    SCENARIOS.every(({ name, destination }) => existsSync(join(root, destination ?? name)) === Boolean(destination)),
  );
  for (const { name } of SCENARIOS) await upload(first.port, `${name}/file`, NEW);
  await first.kill();

  database.exec("drop trigger hold; update jobs set lease_expires_at = created_at where status = 'running'");
  const second = await startHoldall(t, { root });
  const statuses = await Promise.all(locations.map((location) => statusOf(second, location)));
  for (const [index, { name, destination, fails = false }] of SCENARIOS.entries()) {
    assert.equal(await readFile(join(root, name, 'file'), 'utf8'), NEW, name);
    assert.equal(statuses[index], fails ? 'failed' : 'succeeded', name);
    if (destination) assert.equal(await readFile(join(root, destination, 'file'), 'utf8'), OLD, name);
  }
  const trash = await readdir(join(root, '.holdall/trash'));
  assert.equal(trash.filter((entry) => !entry.endsWith('.json')).length, 1);
});

/** Returns the status of a job that has ended. */
function statusOf({ port }: Holdall, location: string): Promise<string> {
  return until('the job has ended', async () => {
    const { job } = jsonOf(await send(port, location)) as { job: { status: string; finishedAt?: string } };
    return job.finishedAt === undefined ? undefined : job.status;
  });
}
