import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import { jsonOf, plant, send, treeOf } from '../http/client.ts';

const remove = async ({ port }: Holdall, path: string) => {
  const response = await send(port, path, { method: 'DELETE' });
  assert.equal(response.status, 200, response.body.toString());
};

const pathsInTrash = async ({ port }: Holdall) => {
  const { entries } = jsonOf(await send(port, '/-/trash')) as { entries: { path: string }[] };
  return entries.map(({ path }) => path);
};

const versionsOf = async ({ port }: Holdall, path: string) =>
  (jsonOf(await send(port, `/-/versions/${path}`)) as { versions: object[] }).versions;

describe('Trash and versions of the service', () => {
  it('keep deleted and replaced files with the default settings, and remove what exceeds a size', async (t) => {
    const root = await temporaryFolder(t);
    const first = await startHoldall(t, { root, settings: { WORKERS: isFullForm ? '2' : '1' } });
    await plant(first.port, { 'f/a': 'old', b: '1' });
    await plant(first.port, { 'f/a': 'new' });
    await remove(first, '/delete/b');
    await remove(first, '/delete_folder/f');
    assert.deepEqual(await treeOf(first.port), {});
    assert.deepEqual([await pathsInTrash(first), (await versionsOf(first, 'f/a')).length], [['f/', 'b'], 1]);
    await first.kill();

    // Another state has another database, whose job runs at once.
    const STATE_DIR = await temporaryFolder(t);
    const settings = { STATE_DIR, WORKERS: '2', TRASH_SIZE: '3', VERSIONS_SIZE: '2' };
    const second = await startHoldall(t, { root, settings });
    const line = await until('the job has ended', () =>
      second.log.find(({ msg }) => msg === 'Trash and versions expired'),
    );
    assert.deepEqual([line['trashed'], line['versions']], [1, 1]);
    assert.deepEqual([await pathsInTrash(second), await versionsOf(second, 'f/a')], [['f/'], []]);
    assert.equal(second.log.filter(({ msg }) => msg === 'Trash and versions expired').length, 1);
  });

  it('keep nothing with TRASH_DAYS=0 and VERSIONS_DAYS=0', IN_FULL_FORM_ONLY, async (t) => {
    const holdall = await startHoldall(t, { settings: { TRASH_DAYS: '0', VERSIONS_DAYS: '0' } });
    await plant(holdall.port, { a: 'old', b: '1' });
    await plant(holdall.port, { a: 'new' });
    await remove(holdall, '/delete/a');
    await remove(holdall, '/delete/b');
    assert.deepEqual([await pathsInTrash(holdall), await versionsOf(holdall, 'a')], [[], []]);
    const own = await readdir(join(holdall.root, '.holdall'));
    assert.ok(!own.includes('trash') && !own.includes('versions'), own.join());
  });
});
