import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import { HOSTILE_NAMES, photo } from './samples.ts';
import {
  dropPaths,
  localFolder,
  pasteFile,
  picked,
  storedText,
  tray,
  trayTells,
  upload,
  uploadFiles,
  uploadFolder,
} from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const view = (page: Page) => page.locator('[data-region="list"]');

/** Whether a row is within the visible part of the list. */
function isInSight(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const list = element.closest('[data-scroller]')?.getBoundingClientRect();
  return list !== undefined && top >= list.top && bottom <= list.bottom;
}

describe('Uploading files', () => {
  it('stores each file byte for byte, and rejects one above the limit', async (t) => {
    const settings = { MAX_UPLOAD_SIZE: '3000000' };
    const { site, page } = await openSite(t, { folder: 'photos/', files: { 'photos/': '' }, settings });
    const bytes = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 31 + (index >> 8)) & 255));
    await uploadFiles(page, [
      picked('a.bin', bytes),
      picked('empty.txt', ''),
      picked('note.md', '# Hi'),
      picked('large.bin', Buffer.alloc(3_000_001)),
    ]);
    await upload(page, 'large.bin').getByText('Larger than the 3 MB that may be uploaded.').waitFor();
    await trayTells(page, '3 files uploaded');
    await becomes(() => site.log().filter(({ route }) => route === '/upload').length, 3);
    assert.equal(await tray(page).getByRole('button', { name: 'Retry' }).count(), 0);
    assert.deepEqual(await site.paths(), ['photos/a.bin', 'photos/empty.txt', 'photos/note.md']);
    assert.ok(bytes.equals(await site.read('photos/a.bin')));
    assert.equal((await site.read('photos/empty.txt')).length, 0);
    for (const path of await site.paths()) await row(page, path).waitFor();
    await upload(page, 'note.md').getByRole('button', { name: 'in folder' }).waitFor();
    await assertAccessible(page, t, { state: 'The tray with what was uploaded' });
  });

  it('scrolls to an uploaded file unless the user does something else, and opens its folder from the tray', async (t) => {
    const files = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`box/${100 + at}.txt`, '']));
    const { page } = await openSite(t, { folder: 'box/', files });
    await uploadFiles(page, [picked('999.txt', ''), picked('150b.txt', '')]);
    await trayTells(page, '2 files uploaded');
    await becomes(() => row(page, 'box/150b.txt').evaluate(isInSight), true);
    // No more than the first is scrolled to, and nothing is selected: the toolbar stays that of the folder.
    assert.equal(await page.locator('[aria-selected="true"]').count(), 0);
    await upload(page, '999.txt').hover();
    await page.getByRole('navigation').getByRole('link', { name: 'Files', exact: true }).click();
    await row(page, 'box/').waitFor();
    await upload(page, '999.txt').getByRole('button', { name: 'in folder' }).click();
    await becomes(() => row(page, 'box/999.txt').getAttribute('aria-selected'), 'true');
    await becomes(() => row(page, 'box/999.txt').evaluate(isInSight), true);

    await page.reload();
    await page.locator('html[data-listing="complete"]').waitFor();
    // The view stays where it is when the user does something else during an upload.
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/upload', async (route) => {
      await released;
      await route.continue();
    });
    await uploadFiles(page, picked('998.txt', ''));
    await upload(page, '998.txt').waitFor();
    await row(page, 'box/103.txt').click();
    release();
    await trayTells(page, '1 file uploaded');
    await becomes(() => page.locator('[aria-selected="true"]').getAttribute('data-path'), 'box/103.txt');
    assert.equal(await page.locator('[data-scroller]').evaluate((element) => element.scrollTop), 0);
  });

  it('keeps the structure of a picked folder', async (t) => {
    const { site, page } = await openSite(t);
    const local = await localFolder(t, { 'trip/a.txt': 'a', 'trip/day 1/b.txt': 'b', 'trip/day 1/raw/c.txt': 'c' });
    await uploadFolder(page, join(local, 'trip'));
    await trayTells(page, '3 files uploaded');
    assert.deepEqual(await site.paths(), ['trip/a.txt', 'trip/day 1/b.txt', 'trip/day 1/raw/c.txt']);
    assert.equal(await storedText(site, 'trip/day 1/raw/c.txt'), 'c');
    await row(page, 'trip/').waitFor();
  });

  it('keeps the structure of dropped folders, and uploads into the folder below the pointer', async (t) => {
    const { site, page } = await openSite(t, { files: { 'inbox/': '', 'x.txt': 'x' } });
    const many = Object.fromEntries(Array.from({ length: 130 }, (_, at) => [`box/many/${at}.txt`, `${at}`]));
    const local = await localFolder(t, {
      ...many,
      'box/deep/er/x.txt': 'x',
      'box/empty/inside/': '',
      'single.txt': 's',
      'letter.txt': 'Dear',
    });
    await dropPaths(page, view(page), [join(local, 'box'), join(local, 'single.txt')]);
    await trayTells(page, '132 files uploaded');
    assert.ok((await tray(page).getByRole('listitem').count()) < 40, 'The tray renders visible rows only.');
    const paths = await site.paths();
    assert.equal(paths.length, 133);
    assert.ok(paths.includes('box/deep/er/x.txt') && paths.includes('single.txt'));
    assert.equal(await storedText(site, 'box/many/129.txt'), '129');
    assert.ok(await site.exists('box/empty/inside/'));
    await dropPaths(page, row(page, 'inbox/'), [join(local, 'letter.txt')]);
    await trayTells(page, '1 file uploaded');
    assert.equal(await storedText(site, 'inbox/letter.txt'), 'Dear');
  });

  it('uploads pasted files, and names a pasted image by the time', async (t) => {
    const { site, page } = await openSite(t);
    await pasteFile(page, picked('letter.txt', 'Dear'));
    await trayTells(page, '1 file uploaded');
    const drawn = await photo(1, { width: 40, height: 30, format: 'png' });
    await pasteFile(page, { name: 'image.png', mimeType: 'image/png', buffer: drawn });
    await until('the picture is stored', async () => (await site.paths()).length === 2);
    const [letter, picture] = (await site.paths()).toReversed();
    assert.equal(letter, 'letter.txt');
    assert.ok(picture && drawn.equals(await site.read(picture)));
    assert.match(picture, /^Pasted image \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png$/);
  });

  it('keeps every hostile name, and shows why the service rejects a name', async (t) => {
    const { site, page } = await openSite(t, { visit: { expectedErrors: [/status of 400/] } });
    const names = [...HOSTILE_NAMES, 'bell\u0007.txt'];
    await uploadFiles(
      page,
      names.map((name) => picked(name, `this is ${name}`)),
    );
    await trayTells(page, `${HOSTILE_NAMES.length} files uploaded`);
    await trayTells(page, '1 failed');
    await upload(page, 'bell').getByText('contains a control character').waitFor();
    assert.deepEqual(await site.paths(), [...HOSTILE_NAMES].toSorted());
    for (const name of HOSTILE_NAMES) assert.equal(await storedText(site, name), `this is ${name}`);
  });
});
