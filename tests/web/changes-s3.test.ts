import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { renameByKeyboard, row } from './elements.ts';
import { startSite } from './site.ts';
import { localFolder, testFile, trayShows, uploadFiles, uploadFolder } from './uploading.ts';

export const needs: readonly Need[] = ['browser', 'bucket'];

test('The web UI writes changes and uploads to a bucket byte for byte', IN_FULL_FORM_ONLY, async (t) => {
  const files = { 'a.txt': 'a', 'b.txt': 'b', 'folder/a.txt': 'old a', 'folder/deep/x.txt': 'x' };
  const site = await startSite(t, { store: 's3', files });
  const page = await openPage(t, {
    url: site.url,
    width: 'desktop',
    theme: 'light',
    language: 'en',
    allowedOrigins: site.bucketOrigins,
    // The conflicts, and the request that checks whether a folder has the name.
    expectedErrors: [/409/, /404/, /412/],
  });
  await row(page, 'a.txt').click();

  await page.keyboard.press('Alt+n');
  await page.getByRole('dialog').getByRole('textbox').fill('new & odd? ');
  await page.keyboard.press('Enter');
  await row(page, 'new & odd? /').waitFor();
  await until('the folder is stored', () => site.exists('new & odd? /'));

  await row(page, 'folder/').click();
  await renameByKeyboard(page, 'renamed');
  await until('the old name is gone', async () => !(await site.exists('folder/')));
  await until('the folder has its new name', () => site.exists('renamed/deep/x.txt'));

  await row(page, 'a.txt').click();
  await row(page, 'b.txt').click({ modifiers: ['Control'] });
  await page.keyboard.press('Alt+Shift+m');
  await page.getByRole('option', { name: 'renamed' }).click();
  await page.getByRole('button', { name: 'Move here' }).click();
  await page.getByRole('button', { name: 'Keep both' }).click();
  await until(
    'both files are moved',
    async () => (await site.exists('renamed/a (2).txt')) && site.exists('renamed/b.txt'),
  );
  assert.equal((await site.read('renamed/a.txt')).toString(), 'old a');
  const moved = page.getByRole('listitem').filter({ hasText: '2 items moved' });
  await moved.getByRole('button', { name: 'Undo' }).click();
  await row(page, 'a.txt').waitFor();
  await until(
    'both files are moved back',
    async () => !(await site.exists('renamed/a (2).txt')) && !(await site.exists('renamed/b.txt')),
  );
  assert.ok((await site.exists('a.txt')) && (await site.exists('b.txt')));

  await row(page, 'renamed/').click();
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Delete folder' }).click();
  await until('the folder is gone', async () => !(await site.exists('renamed/')));
  await becomes(() => site.paths(), ['a.txt', 'b.txt']);

  const bytes = Buffer.from(Array.from({ length: 7_000_000 }, (_, index) => (index * 31 + (index >> 8)) & 255));
  await uploadFiles(page, [testFile('a.txt', bytes), testFile('c.txt', 'c')]);
  await page.getByRole('dialog').getByRole('button', { name: 'Keep both' }).click();
  await trayShows(page, '2 files uploaded');
  assert.ok(bytes.equals(await site.read('a (2).txt')));
  assert.equal((await site.read('a.txt')).toString(), 'a');

  const local = await localFolder(t, { 'trip/day 1/c.txt': 'c', 'trip/d.txt': 'd' });
  await uploadFolder(page, join(local, 'trip'));
  await trayShows(page, '2 files uploaded');
  assert.deepEqual(await site.paths(), ['a (2).txt', 'a.txt', 'b.txt', 'c.txt', 'trip/d.txt', 'trip/day 1/c.txt']);
  await row(page, 'trip/').waitFor();

  // A text that another program replaced in the bucket is merged, and saved under another name.
  await site.place({ 'b.txt': 'one\ntwo\nthree\n' });
  await row(page, 'b.txt').click();
  await page.keyboard.press('Alt+Shift+e');
  const editor = page.getByRole('dialog', { name: 'b.txt' });
  await editor.getByText('three').waitFor();
  await page.waitForFunction(
    () => document.activeElement?.shadowRoot?.activeElement?.getAttribute('role') === 'textbox',
  );
  await page.keyboard.type('my ');
  await site.place({ 'b.txt': 'one\ntwo\nTHREE\n' });
  await page.keyboard.press('Control+s');
  const question = page.getByRole('dialog', { name: /was changed while you edited it/ });
  await question.getByRole('button', { name: 'Merge' }).click();
  await editor.getByText('Both versions were merged').waitFor();
  await site.place({ 'b.txt': 'third' });
  await page.keyboard.press('Control+s');
  await question.getByRole('button', { name: 'Save as copy' }).click();
  await page
    .getByRole('dialog', { name: 'b (2).txt' })
    .getByRole('status')
    .getByText('Saved', { exact: true })
    .waitFor();
  assert.equal((await site.read('b.txt')).toString(), 'third');
  assert.equal((await site.read('b (2).txt')).toString(), 'my one\ntwo\nTHREE\n');
});
