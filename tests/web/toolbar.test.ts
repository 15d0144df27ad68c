import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { parseArchive } from '../zip/parse-archive.ts';
import { becomes } from './becomes.ts';
import { downloaded } from './downloaded.ts';
import {
  boxOf,
  button,
  choose,
  focusedName,
  messages,
  row,
  shownNames,
  toolbar,
  waitForElementFocus,
} from './elements.ts';
import { refuse } from './intercept.ts';
import { FILES, openSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

const MORE_FILES = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`zz ${index}.txt`, '']));

test('The toolbar is one tab stop that follows the selection and downloads it, and menus are usable by keyboard', async (t) => {
  const { page } = await openSite(t, { files: { ...FILES, ...MORE_FILES }, visit: { expectedErrors: [/413/] } });
  await operatesMenus(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.keyboard.press('Escape');
  await isOneTabStop(page);
  await downloadsSelection(page);
  await fitsButtons(page);
});

async function isOneTabStop(page: Page): Promise<void> {
  await becomes(() => toolbar(page).locator('[tabindex="0"]').count(), 1);
  await button(toolbar(page), 'New folder').focus();
  for (const [key, name] of [
    ['ArrowRight', 'Upload'],
    ['ArrowRight', 'More upload options'],
    ['End', 'More'],
    ['ArrowRight', 'New folder'],
    ['ArrowLeft', 'More'],
    ['Home', 'New folder'],
  ] as const) {
    await page.keyboard.press(key);
    await becomes(async () => [key, await focusedName(page)], [key, name]);
  }
  await page.keyboard.press('Tab');
  await becomes(() => toolbar(page).evaluate((element) => element.contains(document.activeElement)), false);
  await page.keyboard.press('Shift+Tab');
  await becomes(() => focusedName(page), 'New folder');

  const before = await boxOf(row(page, 'one.txt'));
  await page.getByText('14 items', { exact: true }).waitFor();
  await page.keyboard.press('ControlOrMeta+a');
  await page.getByText('14 selected', { exact: true }).first().waitFor();
  assert.deepEqual(await boxOf(row(page, 'one.txt')), before);
  await page.keyboard.press('Escape');
  await button(toolbar(page), 'New folder').waitFor();
}

async function downloadsSelection(page: Page): Promise<void> {
  await row(page, 'Docs/').click();
  const folder = await downloaded(page, () => button(toolbar(page), 'Download').click());
  assert.equal(folder.name, 'Docs.zip');
  assert.ok(parseArchive(folder.bytes).every(({ name }) => name.startsWith('Docs/')));
  await page.getByText('Preparing your ZIP file…').first().waitFor();
  await row(page, 'one.txt').click({ modifiers: ['Control'] });
  const both = await downloaded(page, () => page.keyboard.press('Alt+Shift+KeyD'));
  assert.equal(both.name, 'files.zip');
  const archived = parseArchive(both.bytes).map(({ name }) => name);
  assert.ok(archived.includes('one.txt') && archived.some((name) => name.startsWith('Docs/')), archived.join());
  await row(page, 'one.txt').click();
  assert.equal((await downloaded(page, () => button(toolbar(page), 'Download').click())).name, 'one.txt');
  assert.equal(await row(page, 'one.txt').count(), 1);

  await page.route('**/-/zip', (route) => refuse(route, 'zip-too-large', 'Too many.'));
  await row(page, 'Docs/').click();
  await button(toolbar(page), 'Download').click();
  await messages(page).getByText('Couldn’t download').waitFor();
  await messages(page).getByText('There are too many files for one ZIP file.').waitFor();
  await becomes(() => page.locator('iframe').count(), 2);
}

/** Buttons that do not fit are in a menu. */
async function fitsButtons(page: Page): Promise<void> {
  await row(page, 'one.txt').click();
  await button(toolbar(page), 'Copy link').waitFor();
  await page.setViewportSize({ width: 700, height: 800 });
  await button(toolbar(page), 'Copy link').waitFor({ state: 'hidden' });
  await button(toolbar(page), 'Delete').waitFor();
  await button(toolbar(page), 'More').click();
  await page.getByRole('menuitem', { name: 'Copy link' }).waitFor();
  assert.equal(await page.getByRole('menuitem', { name: 'Delete' }).count(), 0);
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });

  await page.setViewportSize({ width: 1440, height: 900 });
  await button(page, 'Grid').click();
  await choose(page, 'Sorted by \u2068Name\u2069, ascending', 'Descending');
  await button(page, 'Sorted by \u2068Name\u2069, descending').waitFor();
  await until('the last file is first', async () => {
    const names = await shownNames(page);
    return names.indexOf('two.txt') < names.indexOf('one.txt');
  });
}

/** Menus return the focus to their button, and open inside the window. */
async function operatesMenus(page: Page): Promise<void> {
  const opener = button(page, 'Settings');
  await opener.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('menu').waitFor();
  await becomes(() => focusedName(page), 'Use device setting');
  for (const [key, name] of [
    ['ArrowUp', 'Keyboard shortcuts'],
    ['ArrowDown', 'Use device setting'],
    ['End', 'Keyboard shortcuts'],
    ['Home', 'Use device setting'],
    ['c', 'Comfortable'],
    ['c', 'Compact'],
  ] as const) {
    await page.keyboard.press(key);
    await becomes(async () => [key, await focusedName(page)], [key, name]);
  }
  await page.keyboard.press('Escape');
  await waitForElementFocus(opener);
  await page.getByRole('menu').waitFor({ state: 'detached' });

  await page.keyboard.press('ArrowDown');
  await page.getByRole('menuitemradio', { name: 'Dark' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme="dark"]').waitFor();
  await waitForElementFocus(opener);

  await page.keyboard.press('Enter');
  await page.getByRole('menu').waitFor();
  await page.keyboard.press('Tab');
  await page.getByRole('menu').waitFor({ state: 'detached' });

  const [width, height] = [800, 760];
  await page.setViewportSize({ width, height });
  // Waits until the row no longer moves.
  await row(page, 'zz 8.txt').hover();
  const last = await boxOf(row(page, 'zz 8.txt'));
  await page.mouse.click(width - 60, last.y + 10, { button: 'right' });
  const menu = await boxOf(page.getByRole('menu'));
  // Only the space above the point and to its left is large enough.
  assert.ok(menu.x + menu.width <= width - 60 && menu.x >= 0, JSON.stringify(menu));
  assert.ok(menu.y + menu.height <= last.y + 10 && menu.y >= 0, JSON.stringify(menu));

  const first = await boxOf(row(page, 'Docs/'));
  await page.mouse.click(200, first.y + 10, { button: 'right' });
  await until('the menu is at the second click', async () => {
    const { x, y } = await boxOf(page.getByRole('menu'));
    return x === 200 && Math.abs(y - first.y - 10) < 1;
  });
  await becomes(() => row(page, 'Docs/').getAttribute('aria-selected'), 'true');
  await page.mouse.click(100, 10);
  await page.getByRole('menu').waitFor({ state: 'detached' });
}
