import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { boxOf, button, row, swipe, toolbar, waitForNoOverflow, waitForTitle } from './elements.ts';
import { openSite, PHONE } from './open-site.ts';
import { photo } from './samples.ts';
import type { Site } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'one.txt': '1',
  'Docs/': '',
  'Photos/2026/Summer holidays/Iceland/Westfjords/bird.txt': 'cheep',
  'Photos/2026/one.txt': '1',
  'Photos/2026/two.txt': '2',
};
const DEEP_FOLDER = 'Photos/2026/Summer holidays/Iceland/Westfjords/';

test('A phone has its toolbar at the lower edge, menus and details as sheets, the sidebar as a drawer, and swipes', async (t) => {
  const files = {
    ...FILES,
    'Album/1.jpg': await photo(1),
    'Album/2.jpg': await photo(2),
    'Album/3.jpg': await photo(3),
  };
  const { page, site } = await openSite(t, { files, visit: PHONE, folder: DEEP_FOLDER });
  await hasToolsInReach(page);
  await opensParentFolders(page);
  await collapsesFilter(page);

  await page.setViewportSize({ width: 320, height: 568 });
  await fitsIntoSmallWindow(page);
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await page.setViewportSize({ width: 1400, height: 800 });
  await page.getByRole('link', { name: 'Photos' }).waitFor();
  await button(page, 'Parent folders').waitFor({ state: 'detached' });
  await page.setViewportSize({ width: 360, height: 740 });

  await button(page, 'Sidebar').tap();
  await page.getByRole('treeitem', { name: 'Album' }).waitFor();
  await waitForNoOverflow(page);
  await closesDrawer(page);
  await swipesToFiles(page);
  await button(page, 'Details').click();
  await page.getByRole('dialog', { name: 'Details' }).getByText('\u2068JPEG\u2069 image').waitFor();
  await leavesDetails(page, site);
});

async function hasToolsInReach(page: Page): Promise<void> {
  const { width, height } = page.viewportSize() ?? assert.fail();
  await becomes(async () => {
    const box = await boxOf(toolbar(page));
    return box.y + box.height;
  }, height);
  for (const tool of await toolbar(page).getByRole('button').all()) {
    const box = await boxOf(tool);
    assert.ok(box.width >= 44 && box.height >= 44, JSON.stringify(box));
  }
  await toolbar(page).getByRole('button', { name: 'More' }).tap();
  const menu = page.getByRole('menu');
  await becomes(async () => {
    const box = await boxOf(menu);
    return [box.x, box.width, box.y + box.height];
  }, [0, width, height]);
  await page.touchscreen.tap(width / 2, 20);
  await menu.waitFor({ state: 'detached' });
}

async function opensParentFolders(page: Page): Promise<void> {
  await button(page, 'Parent folders').tap();
  const items = page.getByRole('menuitem');
  await becomes(async () => (await items.allTextContents()).slice(-3), ['2026', 'Summer holidays', 'Iceland']);
  await page.getByRole('menuitem', { name: '2026' }).tap();
  await waitForTitle(page, '2026');
}

async function collapsesFilter(page: Page): Promise<void> {
  const field = page.getByRole('searchbox');
  await until('the filter is an icon', async () => (await boxOf(field)).width <= 44);
  await field.tap();
  await until('the filter is a field', async () => (await boxOf(field)).width > 150);
  await page.keyboard.type('one');
  await row(page, 'Photos/2026/two.txt').waitFor({ state: 'detached' });
  await row(page, 'Photos/2026/one.txt').focus();
  assert.ok((await boxOf(field)).width > 150, 'The field stays open while it filters.');
  await button(page, 'Clear filter').tap();
  await row(page, 'Photos/2026/two.txt').waitFor();
}

/** Leaves the menu of the settings open. */
async function fitsIntoSmallWindow(page: Page): Promise<void> {
  await waitForNoOverflow(page);
  await row(page, 'Photos/2026/one.txt').focus();
  await page.keyboard.press('ControlOrMeta+a');
  await button(toolbar(page), 'Delete').waitFor();
  await waitForNoOverflow(page);
  await button(page, 'Settings').tap();
  await page.getByRole('menu').waitFor();
  await waitForNoOverflow(page);
}

/** The drawer closes by key, and with the choice of a folder. */
async function closesDrawer(page: Page): Promise<void> {
  const drawer = page.getByRole('dialog', { name: 'Sidebar' });
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'detached' });
  await waitForTitle(page, '2026');
  await button(page, 'Sidebar').tap();
  await page.getByRole('treeitem', { name: 'Album' }).tap();
  await drawer.waitFor({ state: 'detached' });
  await waitForTitle(page, 'Album');
}

const viewer = (page: Page, name: string) => page.getByRole('dialog', { name });

async function swipesToFiles(page: Page): Promise<void> {
  await row(page, 'Album/1.jpg').tap();
  await page.getByRole('img', { name: '1.jpg' }).waitFor();
  await swipe(page, [300, 350], [80, 360]);
  await viewer(page, '2.jpg').waitFor();
  await swipe(page, [80, 350], [300, 340]);
  await viewer(page, '1.jpg').waitFor();
}

/** Going back closes the details, and a swipe closes the preview. */
async function leavesDetails(page: Page, site: Site): Promise<void> {
  await page.goBack();
  await viewer(page, 'Details').waitFor({ state: 'detached' });
  await viewer(page, '1.jpg').waitFor();
  await swipe(page, [180, 300], [190, 520]);
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await becomes(() => page.url(), `${site.url}Album/`);
}
