import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessibleInBothSchemes } from './axe.ts';
import { becomes } from './becomes.ts';
import { backgroundLightness, boxOf, button, choose, renameByKeyboard, row, waitForTitle } from './elements.ts';
import { refuse } from './intercept.ts';
import { DEEP_FOLDER, FILES, openSite, visitSite } from './open-site.ts';
import type { Site } from './site.ts';
import { assertIsolatedStyles } from './styles.ts';

export const needs: readonly Need[] = ['browser'];

test('The page has links to all parent folders, and the theme, density and language that the user chose', async (t) => {
  const { page, site } = await openSite(t, {
    files: FILES,
    folder: DEEP_FOLDER,
    visit: { expectedErrors: [/507.*\/delete\//] },
  });
  await linksToParentFolders(page, site);
  await assertAccessibleInBothSchemes(page, t, { state: 'a folder' });
  await assertIsolatedStyles(page);
  await page.getByRole('link', { name: 'Files' }).click();
  await waitForTitle(page, 'Files');
  await remembersAppearance(page);
  await speaksArabic(page);
  await speaksChinese(page);
});

async function linksToParentFolders(page: Page, site: Site): Promise<void> {
  const path = page.getByRole('navigation', { name: 'Folder path' });
  await becomes(() => path.getByRole('link').allTextContents(), ['Files', ...DEEP_FOLDER.split('/').slice(0, -1)]);
  await becomes(() => page.title(), 'Westfjords – Holdall');

  // A Ctrl-click opens a folder in another tab.
  const opening = page.context().waitForEvent('page');
  await page.getByRole('link', { name: 'Photos' }).click({ modifiers: ['ControlOrMeta'] });
  const tab = await opening;
  await becomes(() => tab.url(), `${site.url}Photos/`);
  await tab.close();
  await waitForTitle(page, 'Westfjords');

  await path.getByRole('link', { name: 'Summer holidays' }).click();
  await waitForTitle(page, 'Summer holidays');
  await becomes(() => page.url(), new URL(encodeURI('Photos/2026/Summer holidays/'), site.url).href);
  await path.getByRole('link', { name: 'Files' }).click();
  await waitForTitle(page, 'Files');
  await becomes(() => page.title(), 'Holdall');
  await page.goBack();
  await waitForTitle(page, 'Summer holidays');
  await page.goBack();
  await waitForTitle(page, 'Westfjords');
}

/** The chosen theme, density and language apply, also after a reload. */
async function remembersAppearance(page: Page): Promise<void> {
  await row(page, 'one.txt').waitFor();
  const light = await backgroundLightness(page);
  await choose(page, 'Settings', 'Dark');
  await page.locator('html[data-theme="dark"]').waitFor();
  const dark = await backgroundLightness(page);
  assert.ok(dark < light, `${dark} is darker than ${light}`);
  const canvas = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const themeColors = () =>
    page.locator('meta[name="theme-color"]').evaluateAll((all) => all.map((meta) => meta.getAttribute('content')));
  const matchesPage = async () => (await themeColors()).join() === `${await canvas()},${await canvas()}`;
  await until('the colours of the browser, for both themes of the device, match the page', matchesPage);

  const { height } = await boxOf(row(page, 'one.txt'));
  await choose(page, 'Settings', 'Compact');
  await until('rows are lower', async () => (await boxOf(row(page, 'one.txt'))).height < height);

  await choose(page, 'Settings', '简体中文');
  await page.locator('html[lang="zh-Hans"]').waitFor();
  await button(page, '新建文件夹').waitFor();
  await waitForTitle(page, '文件');

  await page.reload();
  await button(page, '新建文件夹').waitFor();
  await page.locator('html[data-theme="dark"][dir="ltr"]').waitFor();
  await becomes(() => backgroundLightness(page), dark);
  assert.ok((await boxOf(row(page, 'one.txt'))).height < height);

  await choose(page, '设置', '跟随浏览器');
  await button(page, 'New folder').waitFor();
  await becomes(() => page.locator('html').getAttribute('lang'), 'en');
  await choose(page, 'Settings', 'Use device setting');
  await page.locator('html:not([data-theme])').waitFor();
  await becomes(() => backgroundLightness(page), light);
  await page.emulateMedia({ colorScheme: 'dark' });
  await becomes(() => backgroundLightness(page), dark);
  await until('the theme color of the browser is dark', matchesPage);
  await page.emulateMedia({ colorScheme: 'light' });
}

async function speaksArabic(page: Page): Promise<void> {
  await choose(page, 'Settings', 'العربية');
  await page.locator('html[lang="ar"][dir="rtl"]').waitFor();
  await waitForTitle(page, 'الملفات');
  await row(page, 'one.txt').click();
  await renameByKeyboard(page, 'renamed');
  await row(page, 'renamed.txt').waitFor();
  const notifications = page.getByRole('region', { name: 'الإشعارات' });
  await notifications.getByText('تمت إعادة تسمية «\u2068one.txt\u2069» إلى «\u2068renamed.txt\u2069»').waitFor();
  await page.route('**/delete/**', (route) => refuse(route, 'store-full', 'The disk is full.'));
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'حذف الملف' }).click();
  await notifications.getByText('وحدة التخزين ممتلئة.').first().waitFor();
}

async function speaksChinese(page: Page): Promise<void> {
  await choose(page, 'الإعدادات', '简体中文');
  await page.locator('html[lang="zh-Hans"][dir="ltr"]').waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: '键盘快捷键' }).getByText('跳转到名称').waitFor();
}

test('An unreachable service is reported above the list, and in a folder that is not loaded, until it is reachable again', async (t) => {
  const { page, site } = await visitSite(t, {
    files: FILES,
    path: '-/session',
    visit: { expectedErrors: [/ERR_(CONNECTION_(REFUSED|RESET)|EMPTY_RESPONSE|FAILED)/] },
  });
  // The code that announces problems loads after the page, together with the code that follows changes.
  const following = page.waitForRequest('**/-/changes?*');
  await page.goto(site.url);
  await following;
  await page.locator('html[data-listing="complete"]').waitFor();
  await site.stop();
  await row(page, 'Photos/').dblclick();
  await page.getByRole('alert').getByText('Can’t reach the server.').waitFor();
  await site.restart();
  await row(page, 'Photos/2026/').waitFor();

  const listings = '**/?prefix=*';
  await page.route(listings, (route) => route.abort());
  await page.keyboard.press('Alt+r');
  const banner = page.locator('.problem-banner');
  await banner.getByText('This page might be out of date.').waitFor();
  await row(page, 'Photos/2026/').waitFor();
  await page.getByRole('status').getByText('Can’t reach the server.').waitFor();
  await site.place({ 'Photos/new.txt': 'new' });
  await page.unroute(listings);
  await banner.waitFor({ state: 'detached' });
  await row(page, 'Photos/new.txt').waitFor();
});
