import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, it } from 'node:test';
import { parseFile, ROOT } from '../../src/model/path.ts';
import { atEnd } from '../../testing/holdall.ts';
import { createSqlite } from '../../testing/migrated-database.ts';
import { until } from '../../testing/until.ts';
import { testWebhooks } from './contract.ts';
import { openTables, startDelivering } from './delivering.ts';
import { startReceiver } from './receiver.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-webhooks-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let count = 0;
testWebhooks('SQLite', () => createSqlite(join(folder, String(++count))));

it('The webhooks of a restored database send a change again with the same ID', async (t) => {
  const receiver = await startReceiver();
  atEnd(t, () => receiver.stop());
  const [stateFolder, restored] = ['state', 'restored'].map((name) => join(folder, name));
  assert.ok(stateFolder && restored);
  const first = await openTables({ url: undefined, stateFolder });
  await first.webhooks.create({ url: receiver.url, folder: ROOT, types: undefined, description: undefined }, undefined);
  await first.changeLog.append([{ type: 'file.deleted', path: parseFile('a') }]);
  await mkdir(restored);
  {
    using database = new DatabaseSync(join(stateFolder, 'holdall.sqlite'));
    database.exec(`vacuum into '${join(restored, 'holdall.sqlite')}'`);
  }
  const endFirst = startDelivering(first);
  await until('the message has arrived', () => receiver.received.length === 1);
  await endFirst();
  await first.database.close();

  const second = await openTables({ url: undefined, stateFolder: restored });
  atEnd(t, () => second.database.close());
  atEnd(t, startDelivering(second));
  await until('the message has arrived again', () => receiver.received.length === 2);
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 1);
});
