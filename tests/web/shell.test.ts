import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import { representatives } from '../representatives.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible, assertAccessibleInBothSchemes } from './axe.ts';
import { becomes } from './becomes.ts';
import {
  backgroundLightness,
  boxOf,
  button,
  choose,
  focusedName,
  renameByKeyboard,
  row,
  title,
  toolbar,
  waitForNoOverflow,
  waitForTitle,
} from './elements.ts';
import { refuse } from './intercept.ts';
import { DEEP_FOLDER, FILES, openSite, PHONE, visitSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

describe('The appearance settings', () => {
  it('apply the chosen theme, density and language, also after a reload', async (t) => {
    const { page } = await openSite(t, { files: FILES });
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
    await page.locator('html[data-theme="dark"]').waitFor();
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
  });
});

describe('The breadcrumb', () => {
  it('links to all parent folders, and is mirrored in right-to-left languages', async (t) => {
    const { page, site } = await openSite(t, { files: FILES, folder: DEEP_FOLDER });
    const path = page.getByRole('navigation', { name: 'Folder path' });
    await becomes(() => path.getByRole('link').allTextContents(), ['Files', ...DEEP_FOLDER.split('/').slice(0, -1)]);
    await becomes(() => page.title(), 'Westfjords – Holdall');

    // A Ctrl-click opens a folder in another tab.
    const opening = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Photos' }).click({ modifiers: ['ControlOrMeta'] });
    const tab = await opening;
    await waitForTitle(tab, 'Photos');
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

    await assertAccessibleInBothSchemes(page, t, { state: 'a folder', isAlwaysDark: true });
    // `assertAccessible` waits for animations, except endless ones.
    await page.evaluate(() => {
      const list = document.querySelector('.folder-view');
      list?.animate([{ opacity: 0.2 }, { opacity: 1 }], 500);
      list?.animate([{ scale: 1 }, { scale: 1 }], { duration: 500, iterations: Infinity });
    });
    await page.keyboard.press('?');
    const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await shortcuts.waitFor();
    await assertAccessibleInBothSchemes(page, t, { state: 'the shortcuts' });
    await page.keyboard.press('Escape');
    await shortcuts.waitFor({ state: 'detached' });

    // On a tablet and on a phone in landscape mode, the top bar has space for the folder name.
    for (const [, size] of representatives(
      {
        tablet: { width: 820, height: 1180 },
        'large phone': { width: 740, height: 360 },
        'small phone': { width: 667, height: 375 },
      },
      'small phone',
    )) {
      await page.setViewportSize(size);
      await until(`the whole name is visible at ${size.width} pixels`, () =>
        title(page)
          .locator('a')
          .evaluate((link) => link.clientWidth > 0 && link.scrollWidth <= link.clientWidth),
      );
    }
    await page.getByRole('searchbox').fill('bird');
    await waitForNoOverflow(page);
    await page.getByRole('searchbox').fill('');
    await page.goForward();
    await waitForTitle(page, 'Summer holidays');
    await page.setViewportSize({ width: 1440, height: 900 });

    await page.evaluate(() => {
      document.documentElement.dir = 'rtl';
    });
    const root = await boxOf(page.getByRole('link', { name: 'Files' }));
    assert.ok(root.x > (await boxOf(title(page))).x);
    await waitForNoOverflow(page);

    await button(toolbar(page), 'New folder').focus();
    await page.keyboard.press('ArrowLeft');
    await becomes(() => focusedName(page), 'Upload');
    await button(page, 'Settings').click();
    const menu = await boxOf(page.getByRole('menu'));
    assert.ok(menu.x >= 0, JSON.stringify(menu));
  });
});

describe('The page on a phone', () => {
  it('has its toolbar at the lower edge, menus as sheets and a collapsed filter, and fits into 320 pixels', async (t) => {
    const photos = { 'Photos/2026/one.txt': '1', 'Photos/2026/two.txt': '2' };
    const { page } = await openSite(t, {
      files: { ...FILES, ...photos },
      visit: { ...PHONE, reducedMotion: true },
      folder: DEEP_FOLDER,
    });
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

    await button(page, 'Parent folders').tap();
    const items = page.getByRole('menuitem');
    await becomes(async () => (await items.allTextContents()).slice(-3), ['2026', 'Summer holidays', 'Iceland']);
    await page.getByRole('menuitem', { name: '2026' }).tap();
    await waitForTitle(page, '2026');

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

    await page.setViewportSize({ width: 320, height: 568 });
    await waitForNoOverflow(page);
    await row(page, 'Photos/2026/one.txt').focus();
    await page.keyboard.press('ControlOrMeta+a');
    await button(toolbar(page), 'Delete').waitFor();
    await waitForNoOverflow(page);
    if (isFullForm) await assertAccessible(page, t, { state: 'a selection' });
    await button(page, 'Settings').tap();
    await page.getByRole('menu').waitFor();
    await waitForNoOverflow(page);
    await assertAccessibleInBothSchemes(page, t, { state: 'an open menu' });
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });

    await page.setViewportSize({ width: 1400, height: 800 });
    await page.getByRole('link', { name: 'Photos' }).waitFor();
    await button(page, 'Parent folders').waitFor({ state: 'detached' });
  });
});

describe('An unreachable service', () => {
  it('is reported above the list, and in a folder that is not loaded, until it is reachable again', async (t) => {
    const { page, site } = await visitSite(t, {
      files: FILES,
      path: '-/session',
      visit: { expectedErrors: [/ERR_(CONNECTION_(REFUSED|RESET)|EMPTY_RESPONSE)/] },
    });
    // The code that announces problems loads after the page, together with the code that follows changes.
    const following = page.waitForRequest('**/-/changes?*');
    await page.goto(site.url);
    await following;
    await page.locator('html[data-listing="complete"]').waitFor();
    const banner = page.locator('.problem-banner');
    await site.stop();
    await page.keyboard.press('Alt+r');
    await banner.getByText('This page might be out of date.').waitFor();
    await row(page, 'one.txt').waitFor();
    await page.getByRole('status').getByText('Can’t reach the server.').waitFor();
    await site.place({ 'new.txt': 'new' });
    await site.restart();
    await banner.waitFor({ state: 'detached' });
    await row(page, 'new.txt').waitFor();

    await site.stop();
    await row(page, 'Photos/').dblclick();
    await page.getByRole('alert').getByText('Can’t reach the server.').waitFor();
    await site.restart();
    await row(page, 'Photos/2026/').waitFor();
  });
});

describe('The language', () => {
  it('can be changed to Arabic, from right to left, and to Chinese, with all texts', IN_FULL_FORM_ONLY, async (t) => {
    const { page, site } = await openSite(t, { files: FILES, visit: { expectedErrors: [/503.*\/delete\//] } });
    const root = page.locator('html');
    const rename = async () => {
      await row(page, 'one.txt').click();
      await renameByKeyboard(page, 'renamed');
      await row(page, 'renamed.txt').waitFor();
    };
    await choose(page, 'Settings', 'العربية');
    await page.locator('html[lang="ar"][dir="rtl"]').waitFor();
    await waitForTitle(page, 'الملفات');
    await rename();
    await page
      .getByRole('region', { name: 'الإشعارات' })
      .getByText('تمت إعادة تسمية «\u2068one.txt\u2069» إلى «\u2068renamed.txt\u2069»')
      .waitFor();
    await page.route('**/delete/**', (route) => refuse(route, 'store-full', 'The disk is full.'));
    await page.keyboard.press('Delete');
    await page.getByRole('button', { name: 'حذف الملف' }).click();
    await page.getByRole('region', { name: 'الإشعارات' }).getByText('وحدة التخزين ممتلئة.').first().waitFor();
    await assertAccessible(page, t, { state: 'in Arabic' });

    await choose(page, 'الإعدادات', '简体中文');
    await page.locator('html[lang="zh-Hans"][dir="ltr"]').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: '键盘快捷键' }).getByText('跳转到名称').waitFor();
    await page.keyboard.press('Escape');

    await page.goto(site.url);
    await button(page, '新建文件夹').waitFor();
    await becomes(() => root.getAttribute('dir'), 'ltr');
  });

  it(
    'is English if the texts of another one can’t be loaded, and the page says so if none can be loaded',
    IN_FULL_FORM_ONLY,
    async (t) => {
      const { page, site } = await openSite(t, {
        files: FILES,
        visit: { expectedErrors: [/\/(zh-Hans|en)-[\w-]+\.js/], isCacheEmpty: true },
      });
      await choose(page, 'Settings', '简体中文');
      await button(page, '新建文件夹').waitFor();
      await page.route(/\/zh-Hans-[\w-]+\.js$/, (route) => route.abort());
      await page.goto(site.url);
      await button(page, 'New folder').waitFor();
      await page.route(/\/en-[\w-]+\.js$/, (route) => route.abort());
      await page.goto(site.url);
      await page.getByRole('alert').getByText('Couldn’t load this page.').waitFor();
      await page.unrouteAll();
      await page.getByRole('button', { name: 'Reload' }).click();
      await button(page, '新建文件夹').waitFor();
    },
  );
});
