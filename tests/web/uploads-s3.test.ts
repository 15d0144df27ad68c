import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import { localFolder, picked, trayTells, uploadFiles, uploadFolder } from './uploading.ts';

export const needs: readonly Need[] = ['browser', 'bucket'];

it('Uploads to a bucket keep bytes, folders and what is there already', async (t) => {
  const { site, page } = await openSite(t, { store: 's3', files: { 'a.bin': 'old' } });
  const bytes = Buffer.from(Array.from({ length: 7_000_000 }, (_, index) => (index * 31 + (index >> 8)) & 255));
  await uploadFiles(page, [picked('a.bin', bytes), picked('b.txt', 'b')]);
  await page.getByRole('dialog').getByRole('button', { name: 'Keep both' }).click();
  await trayTells(page, '2 files uploaded');
  assert.ok(bytes.equals(await site.read('a (2).bin')));
  assert.equal((await site.read('a.bin')).toString(), 'old');

  const local = await localFolder(t, { 'trip/day 1/c.txt': 'c', 'trip/d.txt': 'd' });
  await uploadFolder(page, join(local, 'trip'));
  await trayTells(page, '2 files uploaded');
  assert.deepEqual(await site.paths(), ['a (2).bin', 'a.bin', 'b.txt', 'trip/d.txt', 'trip/day 1/c.txt']);
  await row(page, 'trip/').waitFor();
});
