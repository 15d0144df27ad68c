import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { createUrls } from '../../web/src/platform/service/urls.ts';
import { shownName } from '../../web/src/platform/text/names.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { boxOf, button, choose, row, shownNames, waitForFocus } from './elements.ts';
import { DESKTOP } from './open-site.ts';
import { FOLDER_FILES, HOSTILE_NAMES } from './samples.ts';
import { type Site, startSite } from './site.ts';

export const needs: readonly Need[] = ['browser'];

/** Folders with the names of routes. */
const ROUTES = ['file', 'thumb', '-', 'delete', 'delete_folder', 'rename', 'rename_folder'];

const isShown = (page: Page, path: string) => row(page, path).waitFor();
const scroller = (page: Page) => page.locator('.folder-view [data-scroller]');

test('A folder is sorted, filtered and shown in the chosen columns, opens by any name and link, and says why it is empty', async (t) => {
  const files = {
    ...FOLDER_FILES,
    ...Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`deep/er/${index}.txt`, ''])),
    'deep/er/inner/last.txt': '',
  };
  const site = await startSite(t, { store: 'disk', files });
  const listing: unknown = await (await fetch(`${site.url}?limit=3`)).json();
  assert.ok(typeof listing === 'object' && listing !== null && 'cursor' in listing);
  const requests = () => site.log().filter(({ route }) => route === '/').length;
  await becomes(requests, 1);
  const page = await openPage(t, { ...DESKTOP, url: site.url, expectedErrors: [/404.*missing/] });
  const names = ['album', 'deep', 'Music', 'Änderung.md', 'file 1.txt', 'file 2.txt', 'file 10.txt', 'zebra.bin'];
  await becomes(() => shownNames(page), names);
  // The page has the listing.
  await becomes(requests, 2);

  const width = await resizesColumns(page);
  const descending = ['album', 'deep', 'Music', 'zebra.bin', 'file 10.txt', 'file 1.txt', 'file 2.txt', 'Änderung.md'];
  await page.getByRole('button', { name: 'Size' }).click();
  await becomes(() => shownNames(page), descending);
  // This caches a listing in the browser.
  const listed = page.waitForResponse((response) => response.url().includes('prefix='));
  await page.keyboard.press('Alt+r');
  await (await listed).finished();
  await page.goto(`${site.url}file/file%201.txt`);
  await site.place({ 'added.txt': 'new' });
  await page.goBack();
  await isShown(page, 'added.txt');

  await page.goto(`${site.url}?cursor=${String(listing.cursor)}`);
  await becomes(() => shownNames(page), descending.toSpliced(5, 0, 'added.txt'));
  await becomes(() => page.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort'), 'descending');
  await resetsColumns(page, width);

  await page.goto(`${site.url}deep/er/`);
  await restoresScrollPosition(page, site);
  await page.goto(`${site.url}Music/missing/`);
  await page.getByText('This folder doesn’t exist.').waitFor();
  await explainsEmptyLists(page);

  await site.place(
    Object.fromEntries([
      ...HOSTILE_NAMES.map((name) => [`hostile/${name}/${name}.txt`, 'x'] as const),
      ...ROUTES.map((name) => [`${name}/${name}.txt`, 'x'] as const),
    ]),
  );
  await opensHostileNames(page);
  for (const name of [...ROUTES, ...HOSTILE_NAMES.map((each) => `hostile/${each}`)]) await embedsListing(site, name);
});

const header = (page: Page, name: string) => page.getByRole('columnheader', { name });
const widthOfSize = (page: Page) => async () => (await boxOf(header(page, 'Size'))).width;
const resizerOf = (page: Page) => page.getByRole('separator', { name: 'Width of the column “\u2068Size\u2069”' });

/** Returns the default width of the changed column. */
async function resizesColumns(page: Page): Promise<number> {
  await resizerOf(page).focus();
  const before = await widthOfSize(page)();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await becomes(widthOfSize(page), before + 32);
  // The name column ends near the next one.
  const [name, size] = [await boxOf(header(page, 'Name')), await boxOf(header(page, 'Size'))];
  assert.ok(size.x - name.x - name.width < 24);
  await button(page, 'Columns').click();
  await page.getByRole('menuitemcheckbox', { name: 'Type', checked: true }).click();
  await header(page, 'Type').waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  return before;
}

/** The chosen columns and widths are those of an earlier page. */
async function resetsColumns(page: Page, before: number): Promise<void> {
  await becomes(widthOfSize(page), before + 32);
  assert.equal(await header(page, 'Type').count(), 0);
  const { x, y, width, height } = await boxOf(resizerOf(page));
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width / 2 + 16, y + height / 2);
  await page.mouse.up();
  await becomes(widthOfSize(page), before + 48);
  await page.mouse.dblclick(x + width / 2 + 16, y + height / 2);
  await becomes(widthOfSize(page), before);
  await choose(page, 'Columns', 'Reset columns');
  await header(page, 'Type').waitFor();
  await header(page, 'Name').getByRole('button').click();
}

/** Going back restores the scroll position and the focus, or closes an open dialog or menu. */
async function restoresScrollPosition(page: Page, site: Site): Promise<void> {
  const position = () => scroller(page).evaluate((element) => element.scrollTop);
  await isShown(page, 'deep/er/inner/');
  await row(page, 'deep/er/inner/').dblclick();
  await isShown(page, 'deep/er/inner/last.txt');
  await becomes(() => page.url(), `${site.url}deep/er/inner/`);
  await page.keyboard.press('Backspace');
  await isShown(page, 'deep/er/inner/');
  await waitForFocus(page, 'deep/er/inner/');

  await page.keyboard.press('End');
  await isShown(page, 'deep/er/299.txt');
  await waitForFocus(page, 'deep/er/299.txt');
  const scrolled = await position();
  assert.ok(scrolled > 1000);
  await page.keyboard.press('Alt+ArrowUp');
  await isShown(page, 'deep/er/');
  await page.goBack();
  await isShown(page, 'deep/er/299.txt');
  await becomes(position, scrolled);
  await waitForFocus(page, 'deep/er/299.txt');

  await page.keyboard.press('Alt+n');
  await page.getByRole('dialog').waitFor();
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await becomes(() => page.url(), `${site.url}deep/er/`);
  await isShown(page, 'deep/er/299.txt');
  await row(page, 'deep/er/299.txt').click({ button: 'right' });
  await page.getByRole('menuitem').first().waitFor();
  await page.goBack();
  await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
  await becomes(() => page.url(), `${site.url}deep/er/`);
  await page.goBack();
  await isShown(page, 'deep/er/inner/last.txt');
}

/** Explains a missing folder, an empty folder and a filter without results. */
async function explainsEmptyLists(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Go to parent folder' }).first().click();
  await isShown(page, 'Music/song.mp3');

  await row(page, 'Music/live/').dblclick();
  await page.getByText('This folder is empty.').waitFor();
  await page.getByRole('main').getByRole('button', { name: 'New folder' }).last().click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  await page.keyboard.press('Alt+ArrowUp');
  await isShown(page, 'Music/song.mp3');
  await page.keyboard.press('Alt+ArrowUp');
  await isShown(page, 'zebra.bin');
  await page.keyboard.press('/');
  await page.keyboard.type('ANDER');
  await becomes(() => shownNames(page), ['Änderung.md']);
  await page.keyboard.press('Escape');
  await becomes(async () => (await shownNames(page)).length, 9);
  await page.keyboard.type('nothing of this name');
  await page.getByText('No results for “\u2068nothing of this name\u2069”').waitFor();
  await page.keyboard.press('Escape');
}

/** Hostile names are shown as text. */
async function opensHostileNames(page: Page): Promise<void> {
  await row(page, 'zebra.bin').click();
  await page.keyboard.press('Alt+r');
  await row(page, 'hostile/').dblclick();
  await becomes(async () => (await shownNames(page)).toSorted(), HOSTILE_NAMES.map(shownName).toSorted());
  for (const path of ['hostile/%2e%2e%2f/', 'file/']) {
    await row(page, path).dblclick();
    const name = path.split('/').at(-2);
    await isShown(page, `${path}${name}.txt`);
    await becomes(() => shownNames(page), [`${name}.txt`]);
    await page.goBack();
    await isShown(page, path);
    if (path !== 'file/') await page.goBack();
  }
}

/** The document of each folder has its listing. */
async function embedsListing(site: Site, folder: string): Promise<void> {
  const html = await fetch(createUrls(new URL(site.url)).page(`${folder}/`), { headers: { accept: 'text/html' } });
  const embedded = /<script [^>]*id="embedded"[^>]*>(?<json>[^<]*)</.exec(await html.text())?.groups?.['json'];
  const parsed = JSON.parse(embedded ?? 'null');
  assert.equal(parsed.folder, `${folder}/`);
  assert.deepEqual(
    parsed.response.entries.map((entry: { path: string }) => entry.path),
    [`${folder}/${folder.replace(/^hostile\//, '')}.txt`],
  );
}
