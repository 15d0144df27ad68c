import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
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
  storedText,
  testFile,
  tray,
  trayShows,
  uploadFiles,
  uploadFolder,
  uploadRow,
} from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

/** Unit tests and tests/http use all names. */
const NAMES = isFullForm ? HOSTILE_NAMES : HOSTILE_NAMES.filter((_, index) => index % 4 === 1);

const view = (page: Page) => page.locator('[data-region="list"]');

/** Returns whether a row is within the visible part of the list. */
function isVisible(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const list = element.closest('[data-scroller]')?.getBoundingClientRect();
  return list !== undefined && top >= list.top && bottom <= list.bottom;
}

describe('Uploading files', () => {
  it('stores each file byte for byte, scrolls to the first one, and explains rejected names and sizes', async (t) => {
    const files = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`box/${100 + at}.txt`, '']));
    const { site, page } = await openSite(t, {
      folder: 'box/',
      files,
      settings: { MAX_UPLOAD_SIZE: '30000' },
      visit: { expectedErrors: [/status of 400/] },
    });
    await uploadFiles(page, [testFile('999.txt', ''), testFile('150b.txt', '')]);
    await trayShows(page, '2 files uploaded');
    await becomes(() => row(page, 'box/150b.txt').evaluate(isVisible), true);
    // Nothing is selected, so the toolbar keeps the actions of the folder.
    assert.equal(await page.locator('[aria-selected="true"]').count(), 0);
    await uploadRow(page, '999.txt').hover();
    await page.getByRole('navigation').getByRole('link', { name: 'Files', exact: true }).click();
    await row(page, 'box/').waitFor();
    await uploadRow(page, '999.txt').getByRole('button', { name: 'in folder' }).click();
    await becomes(() => row(page, 'box/999.txt').getAttribute('aria-selected'), 'true');
    await becomes(() => row(page, 'box/999.txt').evaluate(isVisible), true);
    await page.keyboard.press('Escape');
    await page.getByText('1 selected').waitFor({ state: 'detached' });

    const bytes = Buffer.from(Array.from({ length: 30_000 }, (_, index) => (index * 31 + (index >> 8)) & 255));
    const large = Array.from({ length: 60 }, (_, at) => testFile(`large ${at}.bin`, Buffer.alloc(30_001)));
    await uploadFiles(page, [
      testFile('a.bin', bytes),
      testFile('empty.txt', ''),
      testFile('bell\u0007.txt', 'rings'),
      ...NAMES.map((name) => testFile(name, `this is ${name}`)),
      ...large,
    ]);
    const stored = ['a.bin', 'empty.txt', ...NAMES].map((name) => `box/${name}`);
    await trayShows(page, `${stored.length} files uploaded`);
    await trayShows(page, '61 failed');
    // The page sends no file above the limit.
    await becomes(() => site.log().filter(({ route }) => route === '/upload').length, 2 + stored.length + 1);
    const added = (await site.paths()).filter(
      (path) => !(path in files) && path !== 'box/999.txt' && path !== 'box/150b.txt',
    );
    assert.deepEqual(added, stored.toSorted());
    assert.ok(bytes.equals(await site.read('box/a.bin')));
    assert.equal((await site.read('box/empty.txt')).length, 0);
    for (const name of NAMES) assert.equal(await storedText(site, `box/${name}`), `this is ${name}`);
    await page.getByRole('searchbox').fill('a.bin');
    await row(page, 'box/a.bin').waitFor();
    await uploadRow(page, 'bell').getByText('This name or address isn’t valid.').waitFor();
    assert.ok((await tray(page).getByRole('listitem').count()) < 40, 'The tray renders visible rows only.');
    await assertAccessible(page, t, { state: 'The tray with what was uploaded' });
    await tray(page).getByText('This file is larger than the upload limit of \u206830 kB\u2069.').first().waitFor();
  });

  it('keeps the structure of folders, names a pasted image by the time, and completes before its folder is deleted', async (t) => {
    const { site, page } = await openSite(t, { files: { 'in/old.txt': 'old', 'inbox/': '', 'x.txt': 'x' } });
    const local = await localFolder(t, {
      'trip/a.txt': 'a',
      'trip/day 1/raw/c.txt': 'c',
      'box/deep/er/x.txt': 'x',
      'box/empty/inside/': '',
      'single.txt': 's',
      'letter.txt': 'Dear',
    });
    await uploadFolder(page, join(local, 'trip'));
    await trayShows(page, '2 files uploaded');
    assert.deepEqual(await site.paths(), ['in/old.txt', 'trip/a.txt', 'trip/day 1/raw/c.txt', 'x.txt']);
    assert.equal(await storedText(site, 'trip/day 1/raw/c.txt'), 'c');
    await row(page, 'trip/').waitFor();

    await dropPaths(page, view(page), [join(local, 'box'), join(local, 'single.txt')]);
    await row(page, 'single.txt').waitFor();
    // The tray can still show the result of the first two files.
    await until('both files are stored', async () => (await site.paths()).includes('box/deep/er/x.txt'));
    await trayShows(page, '2 files uploaded');
    assert.equal(await storedText(site, 'box/deep/er/x.txt'), 'x');
    assert.equal(await storedText(site, 'single.txt'), 's');
    assert.ok(await site.exists('box/empty/inside/'));

    await dropPaths(page, row(page, 'inbox/'), [join(local, 'letter.txt')]);
    await trayShows(page, '1 file uploaded');
    assert.equal(await storedText(site, 'inbox/letter.txt'), 'Dear');

    await pasteFile(page, testFile('pasted.txt', 'Dear'));
    await until('the text is stored', () => site.exists('pasted.txt'));
    const drawn = await photo(1, { width: 40, height: 30, format: 'png' });
    await pasteFile(page, { name: 'image.png', mimeType: 'image/png', buffer: drawn });
    const picture = await until('the picture is stored', async () =>
      (await site.paths()).find((path) => path.startsWith('Pasted image')),
    );
    assert.ok(drawn.equals(await site.read(picture)));
    assert.match(picture, /^Pasted image \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png$/);

    const held = Promise.withResolvers<void>();
    await page.route('**/upload', (route) => held.promise.then(() => route.continue()));
    const fresh = await localFolder(t, { 'new.txt': 'new' });
    await dropPaths(page, row(page, 'in/'), [join(fresh, 'new.txt')]);
    await trayShows(page, 'Uploading');
    await row(page, 'in/').click();
    await page.keyboard.press('Delete');
    const question = page.getByRole('dialog');
    await question.getByRole('button', { name: 'Delete' }).click();
    await question.waitFor({ state: 'detached' });
    held.resolve();
    await trayShows(page, '1 file uploaded');
    await until('the folder is deleted', async () => !(await site.exists('in/')));
    await becomes(() => row(page, 'in/').count(), 0);
  });
});
