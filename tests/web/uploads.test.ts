import assert from 'node:assert/strict';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { button, row } from './elements.ts';
import { openSite, PARTS_AND_TRASH } from './open-site.ts';
import { HOSTILE_NAMES, photo } from './samples.ts';
import {
  dropPaths,
  localFolder,
  openFileChooser,
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

const view = (page: Page) => page.locator('[data-region="list"]');

/** Returns whether a row is within the visible part of the list. */
function isVisible(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const list = element.closest('[data-scroller]')?.getBoundingClientRect();
  return list !== undefined && top >= list.top && bottom <= list.bottom;
}

/** Creates files that are larger than the limit. Returns their paths. */
async function largeFiles(t: TestContext, count: number): Promise<string[]> {
  const folder = await temporaryFolder(t);
  const paths = Array.from({ length: count }, (_, at) => join(folder, `large ${at}.bin`));
  for (const path of paths) {
    await writeFile(path, '');
    await truncate(path, 2_000_001);
  }
  return paths;
}

// The tray closes a few seconds after all uploads succeeded. So tests wait for its text directly after they start uploads.

it('Files are uploaded byte for byte, by button, drop and paste, and rejected names and sizes explained', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`box/${100 + at}.txt`, '']));
  const { site, page } = await openSite(t, {
    folder: 'box/',
    files: { ...files, 'in/old.txt': 'old', 'inbox/': '' },
    settings: PARTS_AND_TRASH,
    visit: { expectedErrors: [/status of 400/] },
  });
  // The list scrolls to the first uploaded file. Nothing is selected, so the toolbar keeps the actions of the folder.
  await uploadFiles(page, [testFile('999.txt', ''), testFile('150b.txt', '')]);
  await trayShows(page, '2 files uploaded');
  // The tray stays open below the pointer.
  await uploadRow(page, '999.txt').hover();
  await becomes(() => row(page, 'box/150b.txt').evaluate(isVisible), true);
  assert.equal(await page.locator('[aria-selected="true"]').count(), 0);
  await page.keyboard.press('Alt+ArrowUp');
  await row(page, 'box/').waitFor();
  await uploadRow(page, '999.txt').getByRole('button', { name: 'in folder' }).click();
  await becomes(() => row(page, 'box/999.txt').getAttribute('aria-selected'), 'true');
  await becomes(() => row(page, 'box/999.txt').evaluate(isVisible), true);
  await page.keyboard.press('Escape');
  await page.getByText('1 selected').waitFor({ state: 'detached' });

  const bytes = Buffer.from(Array.from({ length: 30_000 }, (_, index) => (index * 31 + (index >> 8)) & 255));
  await uploadFiles(page, [
    testFile('a.bin', bytes),
    testFile('empty.txt', ''),
    testFile('bell\u0007.txt', 'rings'),
    ...HOSTILE_NAMES.map((name) => testFile(name, `this is ${name}`)),
  ]);
  const stored = ['a.bin', 'empty.txt', ...HOSTILE_NAMES].map((name) => `box/${name}`);
  await trayShows(page, `${stored.length} files uploaded`);
  await trayShows(page, '1 failed');
  // The page sends no file above the limit. The tray renders visible rows only.
  await (await openFileChooser(page, () => button(page, 'Upload').click())).setFiles(await largeFiles(t, 60));
  await trayShows(page, '61 failed');
  await becomes(() => site.log().filter(({ route }) => route === '/upload').length, 2 + stored.length + 1);
  const added = (await site.paths()).filter((path) => path.startsWith('box/') && !(path in files));
  assert.deepEqual(added, [...stored, 'box/999.txt', 'box/150b.txt'].toSorted());
  assert.ok(bytes.equals(await site.read('box/a.bin')));
  assert.equal((await site.read('box/empty.txt')).length, 0);
  for (const name of HOSTILE_NAMES) assert.equal(await storedText(site, `box/${name}`), `this is ${name}`);
  await page.getByRole('searchbox').fill('a.bin');
  await row(page, 'box/a.bin').waitFor();
  await uploadRow(page, 'bell').getByText('This name or address isn’t valid.').waitFor();
  assert.ok((await tray(page).getByRole('listitem').count()) < 40, 'The tray renders visible rows only.');
  await assertAccessible(page, t, { state: 'The tray with what was uploaded' });
  await tray(page).getByText('This file is larger than the upload limit of \u20682 MB\u2069.').first().waitFor();
  await tray(page).getByRole('button', { name: 'Close' }).click();

  // Folders keep their structure.
  await page.getByRole('navigation').getByRole('link', { name: 'Files', exact: true }).click();
  await row(page, 'in/').waitFor();
  const local = await localFolder(t, {
    'trip/a.txt': 'a',
    'trip/day 1/raw/c.txt': 'c',
    'more/deep/er/x.txt': 'x',
    'more/empty/inside/': '',
    'one.txt': '1',
    'two.txt': '2',
    'letter.txt': 'Dear',
  });
  await uploadFolder(page, join(local, 'trip'));
  await trayShows(page, '2 files uploaded');
  assert.equal(await storedText(site, 'trip/a.txt'), 'a');
  assert.equal(await storedText(site, 'trip/day 1/raw/c.txt'), 'c');
  await row(page, 'trip/').waitFor();
  await dropPaths(
    page,
    view(page),
    ['more', 'one.txt', 'two.txt'].map((name) => join(local, name)),
  );
  await trayShows(page, '3 files uploaded');
  await row(page, 'one.txt').waitFor();
  assert.equal(await storedText(site, 'more/deep/er/x.txt'), 'x');
  assert.equal(await storedText(site, 'two.txt'), '2');
  assert.ok(await site.exists('more/empty/inside/'));
  await dropPaths(page, row(page, 'inbox/'), [join(local, 'letter.txt')]);
  await trayShows(page, '1 file uploaded');
  assert.equal(await storedText(site, 'inbox/letter.txt'), 'Dear');

  // A pasted image is named by the time.
  await pasteFile(page, testFile('pasted.txt', 'Dear'));
  await until('the text is stored', () => site.exists('pasted.txt'));
  const drawn = await photo(1, { width: 40, height: 30, format: 'png' });
  await pasteFile(page, { name: 'image.png', mimeType: 'image/png', buffer: drawn });
  const picture = await until('the picture is stored', async () =>
    (await site.paths()).find((path) => path.startsWith('Pasted image')),
  );
  assert.ok(drawn.equals(await site.read(picture)));
  assert.match(picture, /^Pasted image \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png$/);

  // An upload completes before its folder is deleted.
  const held = Promise.withResolvers<void>();
  await page.route('**/upload', (route) => held.promise.then(() => route.continue()));
  await dropPaths(page, row(page, 'in/'), [join(local, 'one.txt')]);
  await trayShows(page, 'Uploading');
  await row(page, 'in/').click();
  await page.keyboard.press('Delete');
  held.resolve();
  await trayShows(page, '1 file uploaded');
  await until('the folder is deleted', async () => !(await site.exists('in/')));
  await becomes(() => row(page, 'in/').count(), 0);
});
