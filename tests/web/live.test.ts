import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { boxOf, enterFolder, row, selectedPaths, waitForTitle } from './elements.ts';
import { DESKTOP, openSite } from './open-site.ts';
import { photo } from './samples.ts';
import type { Site } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const MANY = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`many/${1000 + index}.txt`, String(index)]));

/** Sends a request as another client. */
async function post(site: Site, path: string, body: object | FormData): Promise<void> {
  const isForm = body instanceof FormData;
  const response = await fetch(new URL(path, site.url), {
    method: 'POST',
    body: isForm ? body : JSON.stringify(body),
    headers: isForm ? {} : { 'content-type': 'application/json' },
  });
  assert.equal(response.status, 200, await response.text());
}

async function upload(
  site: Site,
  folder: string,
  name: string,
  content: string | Uint8Array<ArrayBuffer>,
): Promise<void> {
  const form = new FormData();
  form.set('prefix', folder);
  form.set('overwrite', 'true');
  form.set('file', new File([content], name));
  await post(site, 'upload', form);
}

const rowCount = (page: Page) => page.getByRole('grid').getAttribute('aria-rowcount');

/** Waits until the page follows the changes. */
const follows = (page: Page) => page.waitForResponse((response) => response.url().includes('/-/changes?'));

test('A page shows at once what other clients change, in its place, while it is visible', async (t) => {
  const files = { ...MANY, 'pictures/a.png': await image(40) };
  const { site, page } = await openSite(t, { files, folder: 'many/', visit: { expectedErrors: [/404/] } });
  const other = await openPage(t, { ...DESKTOP, url: `${site.url}many/` });
  await keepsPlace(site, page, other);
  await followsRenamedFolder(site, page, other);
  await enterFolder(page, 'pictures');
  await followsOpenFile(site, page);
  await catchesUp(site, page);
});

const image = async (side: number) => new Uint8Array(await photo(1, { width: side, height: side, format: 'png' }));

/** The list keeps its scroll position, its selection and the name field. */
async function keepsPlace(site: Site, page: Page, other: Page): Promise<void> {
  await row(page, 'many/1000.txt').click();
  await page.locator('.folder-view [data-scroller]').evaluate((element) => {
    element.scrollTop = 4_001;
  });
  await row(page, 'many/1104.txt').click();
  const { y } = await boxOf(row(page, 'many/1104.txt'));
  const isInPlace = (path: string) => assertPlace(page, path, y);

  await row(other, 'many/1001.txt').click();
  await other.keyboard.press('Delete');
  await other.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await becomes(() => rowCount(page), '200');
  await isInPlace('many/1104.txt');
  await upload(site, 'many/', '0.txt', 'new');
  for (const each of [page, other]) await becomes(() => rowCount(each), '201');
  await isInPlace('many/1104.txt');

  await page.keyboard.press('F2');
  const field = page.getByRole('textbox', { name: 'New name' });
  await field.fill('typed.txt');
  await post(site, 'rename/many/1104.txt', { newName: '1104b.txt' });
  await row(page, 'many/1104b.txt').waitFor();
  assert.equal(await field.inputValue(), 'typed.txt');
  await page.keyboard.press('Escape');
  await isInPlace('many/1104b.txt');
}

/** Fails if the row of an entry is not at this position, or is not the only selected one. */
async function assertPlace(page: Page, path: string, y: number): Promise<void> {
  assert.equal((await boxOf(row(page, path))).y, y);
  assert.deepEqual(await selectedPaths(page), [path]);
}

async function followsRenamedFolder(site: Site, page: Page, other: Page): Promise<void> {
  await other.close();
  const { y } = await boxOf(row(page, 'many/1104b.txt'));
  await post(site, 'rename_folder/many', { newName: 'renamed' });
  await waitForTitle(page, 'renamed');
  await becomes(() => page.url(), `${site.url}renamed/`);
  await assertPlace(page, 'renamed/1104b.txt', y);
  await post(site, 'move', { source: 'renamed', destination: 'in/renamed', is_folder: true });
  await becomes(() => page.url(), `${site.url}in/renamed/`);
  await fetch(`${site.url}delete_folder/in/renamed`, { method: 'DELETE' });
  await page.getByText('doesn’t exist').first().waitFor();
}

/** The preview shows the new content of its file, also under its new name. */
async function followsOpenFile(site: Site, page: Page): Promise<void> {
  await row(page, 'pictures/a.png').dblclick();
  const shown = page.locator('.stage .picture');
  const width = () => shown.evaluate((element) => (element as HTMLImageElement).naturalWidth);
  await becomes(width, 40);
  await upload(site, 'pictures/', 'a.png', await image(60));
  await becomes(width, 60);
  await post(site, 'rename/pictures/a.png', { newName: 'c.png' });
  await page.getByRole('dialog', { name: 'c.png' }).waitFor();
  await becomes(width, 60);
  await becomes(() => new URL(page.url()).search, '?preview=c.png');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** A hidden page does not follow the changes, and catches up when it is visible again. */
async function catchesUp(site: Site, page: Page): Promise<void> {
  const setHidden = (isHidden: boolean) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { configurable: true, value });
      document.dispatchEvent(new Event('visibilitychange'));
    }, isHidden);
  const streams = () => site.log().filter(({ route }) => route === '/-/changes').length;
  await upload(site, 'pictures/', 'b.txt', 'b');
  await row(page, 'pictures/b.txt').waitFor();
  const before = streams();
  await setHidden(true);
  await becomes(streams, before + 1);
  await upload(site, 'pictures/', 'c.txt', 'c');
  const following = follows(page);
  await setHidden(false);
  await following;
  await row(page, 'pictures/c.txt').waitFor();
}
