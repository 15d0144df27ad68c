// Only it reads the change log of two replicas behind nginx while they restart under load: tests/changes has several processes.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { until } from '../../testing/until.ts';
import { describeContent, type ReplayedEntry, ReplayedFiles, sortEntries } from '../changes/replayed-files.ts';
import { send, upload } from '../http/client.ts';
import { ChangeFollower, type FeedChange } from '../replicas/change-follower.ts';
import { STOPPED_UNTOLD } from '../replicas/faults.ts';
import { PORT } from '../replicas/replicas.ts';
import { openDatabaseStage } from '../replicas/shared-stages.ts';
import { causeFault, settle, startTrialLoad, untilServed } from '../replicas/trial.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['nginx', 'postgres'];

/** Reads the whole change log, page by page. */
async function readLog(port: number): Promise<FeedChange[]> {
  const changes: FeedChange[] = [];
  for (let since = 'oldest', hasMore = true; hasMore; ) {
    const { body } = await send(port, `/-/changes?since=${since}&limit=500`);
    const page: { changes: FeedChange[]; cursor: string; hasMore: boolean } = JSON.parse(String(body));
    changes.push(...page.changes);
    ({ cursor: since, hasMore } = page);
  }
  return changes;
}

/** Lists everything below a folder. */
async function listAll(port: number, folder = ''): Promise<ReplayedEntry[]> {
  const { body } = await send(port, `/?prefix=${encodeURIComponent(folder)}`);
  const { entries }: { entries: { type: string; path: string; size: number; etag: string }[] } = JSON.parse(
    String(body),
  );
  const found = entries.map(async ({ type, path, size, etag }): Promise<ReplayedEntry[]> => {
    return type === 'folder' ? [[path, ''], ...(await listAll(port, path))] : [[path, describeContent(size, etag)]];
  });
  return sortEntries((await Promise.all(found)).flat());
}

it('Two replicas on PostgreSQL, behind nginx, have one change log', async (t) => {
  const stage = await openDatabaseStage(t);
  const addresses = stage.replicas.map(({ address }) => ({ host: address.replace(`:${PORT}`, ''), port: PORT }));
  const followers = await Promise.all(
    [...addresses, { host: '127.0.0.1', port: stage.port }].map((address) => ChangeFollower.start(t, address)),
  );
  const untilAllHave = async (path: string) => {
    await until(`all streams have ${path}`, () =>
      followers.every(({ changes }) => changes.some((change) => change.path === path)),
    );
  };

  // The replicas don't poll.
  await t.test('in which a change through one appears in all, by messages between them', async () => {
    for (let round = 0; round < 3; round++) {
      await upload(stage.port, `${round}.txt`, 'text');
      await untilAllHave(`${round}.txt`);
    }
  });

  await t.test('which misses and repeats nothing while they restart', async () => {
    const load = startTrialLoad(stage, { clientsOfRole: 1, rest: 200 });
    try {
      await untilServed(load);
      await causeFault(stage, load, STOPPED_UNTOLD, 0);
    } finally {
      await settle(stage, load);
    }
    await upload(stage.port, 'last.txt', 'text');
    await untilAllHave('last.txt');
    const log = await readLog(stage.port);
    assert.ok(log.length > 10, `Only ${log.length} changes`);
    for (const { changes, connections } of followers) {
      assert.deepEqual(changes, log);
      assert.ok(connections > 1, 'It reconnected.');
    }
  });

  await t.test('whose replay results in the listing', async () => {
    const replayed = new ReplayedFiles();
    for (const change of await readLog(stage.port)) replayed.apply(change);
    assert.deepEqual(replayed.entries(), await listAll(stage.port));
  });
});
