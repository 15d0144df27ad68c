// Lists that are longer or taller than the window: 3,000 files, rows that together are taller than the tallest element of Chromium, and
// the error of a name at the edges of the window. The folder takes as long as a journey. The selection is proven in tests/web.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { entryName } from '../../testing/many-files.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import { openPage } from '../web/browser.ts';
import { boxOf, contents, row, shownNames, waitForFocus } from '../web/elements.ts';
import { DESKTOP } from '../web/open-site.ts';
import { fillFolder, type Site, startSite } from '../web/site.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`Music/names/${100 + index}.txt`, '']));
const MANY = 'Music/many/';

const scroller = (page: Page) => page.locator('.folder-view [data-scroller]');

test('A folder of 3,000 files is sorted, selected and scrolled to every row, and a wrong name is explained beside it', async (t) => {
  const site = await startSite(t, { store: 'disk', files: FILES });
  await fillFolder(site, MANY, 3_000);
  const page = await openPage(t, { ...DESKTOP, url: `${site.url}Music/names/` });
  await placesErrorOfName(page);
  await waitsForFile(page, site);
  await selectsManyFiles(page);
  await scrollsTallRows(page);
});

const assertNear = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 1, `${actual}`);

/** The field that renames an entry has its error below the name, or above it at the lower edge of the window. */
async function placesErrorOfName(page: Page): Promise<void> {
  const rename = async (path: string) => {
    await row(page, path).click();
    await page.keyboard.press('F2');
    const field = row(page, path).getByRole('textbox');
    await field.fill('a/b');
    await page.locator('.name-problem').waitFor();
    return [await boxOf(field), await boxOf(page.locator('.name-problem'))] as const;
  };
  const [firstField, firstError] = await rename('Music/names/100.txt');
  assertNear(firstError.x, firstField.x);
  assertNear(firstError.y, firstField.y + firstField.height + 4);
  await page.keyboard.press('Escape');

  await page.keyboard.press('End');
  const [lastField, lastError] = await rename('Music/names/139.txt');
  assertNear(lastError.y + lastError.height, lastField.y - 4);
  await page.keyboard.press('Escape');

  await page.evaluate(() => {
    document.documentElement.dir = 'rtl';
  });
  const [field, error] = await rename('Music/names/139.txt');
  assertNear(error.x + error.width, field.x + field.width);
  await page.keyboard.press('Escape');
}

const many = (position: number) => `${MANY}${entryName(position)}`;

/** The preview of a file waits for the part of the listing that has it. */
async function waitsForFile(page: Page, site: Site): Promise<void> {
  const held = Promise.withResolvers<void>();
  await page.route('**/?prefix=*cursor=*', async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto(`${site.url}${MANY}?preview=${entryName(3_000)}`);
  const viewer = page.getByRole('dialog', { name: entryName(3_000) });
  await viewer.getByText('Loading…').waitFor();
  held.resolve();
  await viewer.getByText('3,000 of 3,000').filter({ visible: true }).waitFor();
  await contents(page).waitFor();
  await page.keyboard.press('Escape');
  await viewer.waitFor({ state: 'detached' });
  await waitForFocus(page, many(3_000));
}

/** The folder is sorted completely, and has few rows in the document. */
async function selectsManyFiles(page: Page): Promise<void> {
  await page.locator('html[data-listing="complete"]').waitFor();
  assert.ok((await page.locator('[data-path]').count()) < 200);
  await becomes(() => page.getByRole('grid').getAttribute('aria-rowcount'), '3001');
  const last = await shownNames(page);
  assert.deepEqual(
    last.slice(-20),
    Array.from({ length: 20 }, (_, index) => entryName(2_981 + index)),
  );
  await page.keyboard.press('Home');
  await page.getByText('1 selected').first().waitFor();
  await page.keyboard.press('Shift+End');
  await waitForFocus(page, many(3_000));
  await page.getByText('3,000 selected').first().waitFor();
  assert.ok((await page.locator('[data-path]').count()) < 200);
  await page.keyboard.press('Home');
  await page.getByText('1 selected').first().waitFor();
}

/** The list scrolls to every row if the rows are taller than the tallest element of a browser. */
async function scrollsTallRows(page: Page): Promise<void> {
  // 19,200,000 pixels, without a header.
  await page.evaluate(() => document.documentElement.style.setProperty('--row', '400rem'));
  await page.setViewportSize({ width: 600, height: 800 });
  const file = (position: number) => row(page, many(position));
  await until('the rows are tall', async () => (await boxOf(file(1))).height === 6400);
  await file(1).focus();
  await page.keyboard.press('End');
  await file(3_000).and(page.locator(':focus')).waitFor();
  /** Returns the distance in pixels of a row from the upper edge of the list. */
  const startOf = async (position: number) => {
    const list = await boxOf(scroller(page));
    return Math.round((await boxOf(file(position))).y - list.y);
  };
  await becomes(() => startOf(3_000), 0);
  await page.keyboard.press('ArrowUp');
  await file(2_999).and(page.locator(':focus')).waitFor();
  await becomes(() => startOf(2_999), 0);
  await page.mouse.move(300, 400);
  await page.mouse.wheel(0, 300);
  await becomes(() => startOf(2_999), -300);

  await scroller(page).evaluate((element) => {
    element.scrollTop = (element.scrollHeight - element.clientHeight) / 2;
  });
  await until('the middle is visible', async () => Math.abs(await startOf(1_500)) <= 6_400);
  await page.keyboard.press('Home');
  await file(1).and(page.locator(':focus')).waitFor();
  await page.mouse.wheel(0, 500);
  await becomes(() => startOf(1), -500);
  await page.mouse.wheel(0, -500);
  await becomes(() => scroller(page).evaluate((element) => element.scrollTop), 0);
}
