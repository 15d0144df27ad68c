import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { jsonOf, plant, send, treeOf } from '../http/client.ts';

const remove = async (port: number, path: string) => {
  const response = await send(port, path, { method: 'DELETE' });
  assert.equal(response.status, 200, response.body.toString());
};

const pathsInTrash = async (port: number) => {
  const { entries } = jsonOf(await send(port, '/-/trash')) as { entries: { path: string }[] };
  return entries.map(({ path }) => path);
};

const versionsOf = async (port: number, path: string) =>
  (jsonOf(await send(port, `/-/versions/${path}`)) as { versions: object[] }).versions;

describe('Trash and versions of the service', () => {
  it('keep deleted and replaced files with the default settings, and remove what exceeds a size', async (t) => {
    const first = await startInProcess(t);
    const { root } = first;
    await plant(first.port, { 'f/a': 'old', b: '1' });
    await plant(first.port, { 'f/a': 'new' });
    await remove(first.port, '/delete/b');
    await remove(first.port, '/delete_folder/f');
    assert.deepEqual(await treeOf(first.port), {});
    assert.deepEqual([await pathsInTrash(first.port), (await versionsOf(first.port, 'f/a')).length], [['f/', 'b'], 1]);
    await first.stop();

    // Another state has another database, whose job runs at once.
    const settings = { STATE_DIR: await temporaryFolder(t), TRASH_SIZE: '3', VERSIONS_SIZE: '2' };
    const { port, log } = await startInProcess(t, { root, settings });
    const line = await until('the job has ended', () => log.find(({ msg }) => msg === 'Trash and versions expired'));
    assert.deepEqual([line['trashed'], line['versions']], [1, 1]);
    assert.deepEqual([await pathsInTrash(port), await versionsOf(port, 'f/a')], [['f/'], []]);
  });

  it('keep nothing with TRASH_DAYS=0 and VERSIONS_DAYS=0', async (t) => {
    const { port, root } = await startInProcess(t, { settings: { TRASH_DAYS: '0', VERSIONS_DAYS: '0' } });
    await plant(port, { a: 'old', b: '1' });
    await plant(port, { a: 'new' });
    await remove(port, '/delete/a');
    await remove(port, '/delete/b');
    assert.deepEqual([await pathsInTrash(port), await versionsOf(port, 'a')], [[], []]);
    const own = await readdir(join(root, '.holdall'));
    assert.ok(!own.includes('trash') && !own.includes('versions'), own.join());
  });
});
