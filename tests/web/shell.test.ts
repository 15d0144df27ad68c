import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../process/until.ts';
import { assertAccessible } from './axe.ts';
import { openPage, type Visit } from './browser.ts';
import { startSite } from './site.ts';

/** Whoever looks in the usual way. */
const DESKTOP = { width: 'desktop', theme: 'light', language: 'en' } as const satisfies Partial<Visit>;
const PHONE = { ...DESKTOP, width: 'phone' } as const;

const DEEP = 'Photos/2026/Summer holidays/Iceland/Westfjords/';
const FILES = { 'one.txt': '1', 'two.txt': '2', 'three.txt': '3', 'Docs/': '', [`${DEEP}bird.txt`]: 'cheep' };

async function openFiles(t: TestContext, visit: Partial<Visit> = {}, folder = '') {
  const site = await startSite(t, { store: 'disk', files: FILES });
  const page = await openPage(t, { ...DESKTOP, ...visit, url: new URL(encodeURI(folder), site.url).href });
  await page.locator('html[data-listing="complete"]').waitFor();
  return { site, page };
}

const button = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true });
const toolbar = (page: Page) => page.getByRole('toolbar');
const row = (page: Page, path: string) => page.locator(`[data-path="${path}"]`);
const title = (page: Page) => page.getByRole('heading', { level: 1 });
const isTitled = (page: Page, name: string) => title(page).getByText(name, { exact: true }).waitFor();

async function choose(page: Page, menu: string, item: string): Promise<void> {
  await button(page, menu).click();
  await page.getByRole('menu').getByText(item, { exact: true }).click();
  await page.getByRole('menu').waitFor({ state: 'detached' });
}

/** The words of what has the focus. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: element } = document;
    return element?.getAttribute('aria-label') ?? element?.querySelector('.name')?.textContent ?? element?.textContent;
  });

/** Whether it has the focus; which it gets in the moment after the keys. */
const isFocused = (locator: Locator) =>
  until('it has the focus', () => locator.evaluate((element) => element === document.activeElement));

const background = (page: Page) =>
  page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor.match(/[\d.]+/)?.[0]);

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox();
  assert.ok(box);
  return box;
}

/** Fails where the page is wider than the window, or a button of it lies outside. */
async function assertNothingOutside(page: Page): Promise<void> {
  const { scrolls, outside } = await page.evaluate(() => ({
    scrolls: document.documentElement.scrollWidth > window.innerWidth,
    outside: [...document.querySelectorAll('button, a, input')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .filter((element) => {
        const { left, right } = element.getBoundingClientRect();
        return left < -0.5 || right > window.innerWidth + 0.5;
      })
      .map((element) => element.outerHTML.slice(0, 200)),
  }));
  assert.deepEqual({ scrolls, outside }, { scrolls: false, outside: [] });
}

describe('The look of the page', () => {
  it('has the theme that is chosen, also after a reload', async (t) => {
    const { page } = await openFiles(t);
    const light = Number(await background(page));
    await choose(page, 'Appearance', 'Dark');
    await page.locator('html[data-theme="dark"]').waitFor();
    const dark = Number(await background(page));
    assert.ok(dark < light, `${dark} is darker than ${light}`);
    const colour = page.locator('meta[name="theme-color"]');
    const canvas = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(await colour.getAttribute('content'), await canvas());

    await page.reload();
    await page.locator('html[data-theme="dark"]').waitFor();
    assert.equal(Number(await background(page)), dark);

    await choose(page, 'Appearance', 'As the system');
    await page.locator('html:not([data-theme])').waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(Number(await background(page)), dark);
    await until(
      'the bars of the browser are dark',
      async () => (await colour.getAttribute('content')) === (await canvas()),
    );
  });

  it('has rows as high as is chosen', async (t) => {
    const { page } = await openFiles(t);
    const before = (await boxOf(row(page, 'one.txt'))).height;
    await choose(page, 'Appearance', 'Compact');
    await until('rows are lower', async () => (await boxOf(row(page, 'one.txt'))).height < before);
  });

  it('speaks the language that is chosen, also after a reload', async (t) => {
    const { page } = await openFiles(t);
    await choose(page, 'Appearance', '简体中文');
    await page.locator('html[lang="zh-Hans"]').waitFor();
    await button(page, '新建文件夹').waitFor();
    await isTitled(page, '文件');
    await page.reload();
    await button(page, '新建文件夹').waitFor();
    await choose(page, '外观', '跟随浏览器');
    await button(page, 'New folder').waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
  });

  it('speaks the language of the browser', async (t) => {
    const { page } = await openFiles(t, { language: 'zh-CN' });
    await button(page, '新建文件夹').waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'zh-Hans');
  });
});

describe('The path', () => {
  it('names the folders down to the one that is shown, and leads to them, back and forward', async (t) => {
    const { page, site } = await openFiles(t, {}, DEEP);
    const path = page.getByRole('navigation', { name: 'Folder path' });
    assert.deepEqual(await path.getByRole('link').allTextContents(), ['Files', ...DEEP.split('/').slice(0, -1)]);
    assert.equal(await page.title(), 'Westfjords – Holdall');

    await path.getByRole('link', { name: 'Summer holidays' }).click();
    await isTitled(page, 'Summer holidays');
    assert.equal(page.url(), new URL(encodeURI('Photos/2026/Summer holidays/'), site.url).href);
    await path.getByRole('link', { name: 'Files' }).click();
    await isTitled(page, 'Files');
    assert.equal(await page.title(), 'Holdall');
    await page.goBack();
    await isTitled(page, 'Summer holidays');
    await page.goBack();
    await isTitled(page, 'Westfjords');
    await page.goForward();
    await isTitled(page, 'Summer holidays');
  });

  it('opens a folder in another tab by a Ctrl-click', async (t) => {
    const { page, site } = await openFiles(t, {}, DEEP);
    const opening = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Photos' }).click({ modifiers: ['ControlOrMeta'] });
    const tab = await opening;
    await isTitled(tab, 'Photos');
    assert.equal(tab.url(), `${site.url}Photos/`);
    await isTitled(page, 'Westfjords');
  });

  it('puts the folders that it has no room for into a menu', async (t) => {
    const { page } = await openFiles(t, PHONE, DEEP);
    await button(page, 'Folders above').tap();
    const items = page.getByRole('menuitem');
    assert.deepEqual((await items.allTextContents()).slice(-3), ['2026', 'Summer holidays', 'Iceland']);
    await page.getByRole('menuitem', { name: '2026' }).tap();
    await isTitled(page, '2026');
    await page.setViewportSize({ width: 1400, height: 800 });
    await page.getByRole('link', { name: 'Photos' }).waitFor();
    assert.equal(await button(page, 'Folders above').count(), 0);
  });
});

describe('The filter', () => {
  it('narrows what is shown, is read out, and is left by the keyboard', async (t) => {
    const { page } = await openFiles(t);
    await page.keyboard.press('/');
    await page.keyboard.type('T');
    await row(page, 'one.txt').waitFor();
    await page.keyboard.type('hree');
    await row(page, 'one.txt').waitFor({ state: 'detached' });
    await page.getByRole('status').getByText('1 of 5 items').waitFor();
    await page.keyboard.press('ArrowDown');
    await isFocused(row(page, 'three.txt'));
    await page.getByRole('searchbox').focus();
    await page.keyboard.press('Escape');
    await row(page, 'one.txt').waitFor();
    assert.equal(await page.getByRole('searchbox').inputValue(), '');
  });

  it('is an icon on a phone, until it is in use', async (t) => {
    const { page } = await openFiles(t, PHONE);
    const field = page.getByRole('searchbox');
    assert.ok((await boxOf(field)).width <= 44);
    await field.tap();
    await until('it is a field', async () => (await boxOf(field)).width > 150);
    await page.keyboard.type('one');
    await row(page, 'two.txt').waitFor({ state: 'detached' });
    await row(page, 'one.txt').focus();
    assert.ok((await boxOf(field)).width > 150, 'It stays one while it filters.');
    await button(page, 'Clear the filter').tap();
    await row(page, 'two.txt').waitFor();
  });
});

describe('A menu', () => {
  it('is used by the keyboard, and gives the focus back', async (t) => {
    const { page } = await openFiles(t);
    const opener = button(page, 'Appearance');
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    assert.equal(await focused(page), 'As the system');
    for (const [key, name] of [
      ['ArrowUp', '简体中文'],
      ['ArrowDown', 'As the system'],
      ['End', '简体中文'],
      ['Home', 'As the system'],
      ['c', 'Comfortable'],
      ['c', 'Compact'],
    ] as const) {
      await page.keyboard.press(key);
      assert.equal(await focused(page), name, key);
    }
    await page.keyboard.press('Escape');
    await isFocused(opener);
    assert.equal(await page.getByRole('menu').count(), 0);

    await page.keyboard.press('ArrowDown');
    await page.getByRole('menuitemradio', { name: 'Dark' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('html[data-theme="dark"]').waitFor();
    await isFocused(opener);

    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('Tab');
    await page.getByRole('menu').waitFor({ state: 'detached' });
  });

  it('stays within the window, beside what was clicked', async (t) => {
    const { page, site } = await openFiles(t);
    await site.place(Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`zz ${index}.txt`, ''])));
    await page.reload();
    const [width, height] = [800, 760];
    await page.setViewportSize({ width, height });
    const last = await boxOf(row(page, 'zz 8.txt'));
    await page.mouse.click(width - 60, last.y + 10, { button: 'right' });
    const menu = await boxOf(page.getByRole('menu'));
    // There is room at the left of the point and above it alone.
    assert.ok(menu.x + menu.width <= width - 60 && menu.x >= 0, JSON.stringify(menu));
    assert.ok(menu.y + menu.height <= last.y + 10 && menu.y >= 0, JSON.stringify(menu));

    const first = await boxOf(row(page, 'Docs/'));
    await page.mouse.click(200, first.y + 10, { button: 'right' });
    await until('it is where the other click was', async () => {
      const { x, y } = await boxOf(page.getByRole('menu'));
      return x === 200 && Math.abs(y - first.y - 10) < 1;
    });
    assert.equal(await row(page, 'Docs/').getAttribute('aria-selected'), 'true');
    await page.mouse.click(100, 10);
    await page.getByRole('menu').waitFor({ state: 'detached' });
  });

  it('is a sheet from below on a phone', async (t) => {
    const { page } = await openFiles(t, { ...PHONE, reducedMotion: true });
    await toolbar(page).getByRole('button', { name: 'More' }).tap();
    const menu = await boxOf(page.getByRole('menu'));
    const { width, height } = page.viewportSize() ?? assert.fail();
    assert.deepEqual([menu.x, menu.width, menu.y + menu.height], [0, width, height]);
    await page.touchscreen.tap(width / 2, 20);
    await page.getByRole('menu').waitFor({ state: 'detached' });
  });
});

describe('The toolbar', () => {
  it('changes with the selection, without moving the list', async (t) => {
    const { page } = await openFiles(t);
    const before = await boxOf(row(page, 'one.txt'));
    await page.getByText('5 items', { exact: true }).waitFor();
    await page.keyboard.press('ControlOrMeta+a');
    await page.getByText('5 selected', { exact: true }).first().waitFor();
    assert.deepEqual(await boxOf(row(page, 'one.txt')), before);
    assert.equal(await button(toolbar(page), 'Rename').count(), 0, 'Five can not be renamed at once.');
    await page.keyboard.press('Escape');
    await button(toolbar(page), 'New folder').waitFor();
  });

  it('is one stop of the Tab key, and the arrows move within it', async (t) => {
    const { page } = await openFiles(t);
    assert.equal(await toolbar(page).locator('[tabindex="0"]').count(), 1);
    await button(toolbar(page), 'New folder').focus();
    for (const [key, name] of [
      ['ArrowRight', 'Upload'],
      ['ArrowRight', 'More ways to upload'],
      ['End', 'More'],
      ['ArrowRight', 'New folder'],
      ['ArrowLeft', 'More'],
      ['Home', 'New folder'],
    ] as const) {
      await page.keyboard.press(key);
      assert.equal(await focused(page), name, key);
    }
    await page.keyboard.press('Tab');
    assert.equal(await toolbar(page).evaluate((element) => element.contains(document.activeElement)), false);
    await page.keyboard.press('Shift+Tab');
    assert.equal(await focused(page), 'New folder');
  });

  it('puts what it has no room for into a menu', async (t) => {
    const { page } = await openFiles(t);
    await row(page, 'one.txt').click();
    await button(toolbar(page), 'Copy link').waitFor();
    await page.setViewportSize({ width: 700, height: 800 });
    await button(toolbar(page), 'Copy link').waitFor({ state: 'hidden' });
    await button(toolbar(page), 'Delete').waitFor();
    await button(toolbar(page), 'More').click();
    await page.getByRole('menuitem', { name: 'Copy link' }).waitFor();
    assert.equal(await page.getByRole('menuitem', { name: 'Delete' }).count(), 0);
  });

  it('lies at the lower edge of a phone, in reach of a thumb', async (t) => {
    const { page } = await openFiles(t, PHONE);
    const { y, height } = await boxOf(toolbar(page));
    assert.equal(y + height, page.viewportSize()?.height);
    for (const tool of await toolbar(page).getByRole('button').all()) {
      const box = await boxOf(tool);
      assert.ok(box.width >= 44 && box.height >= 44, JSON.stringify(box));
    }
  });

  it('sorts the grid', async (t) => {
    const { page } = await openFiles(t);
    await button(page, 'Grid').click();
    await choose(page, 'Sorted by Name, ascending', 'Descending');
    await button(page, 'Sorted by Name, descending').waitFor();
    await until(
      'the last is first',
      async () => (await boxOf(row(page, 'two.txt'))).x < (await boxOf(row(page, 'one.txt'))).x,
    );
  });

  it('has nothing that changes anything where the service is read-only', async (t) => {
    const site = await startSite(t, { store: 'disk', files: FILES, settings: { READ_ONLY: 'true' } });
    const page = await openPage(t, { ...DESKTOP, url: site.url });
    await page.getByText('Read only', { exact: true }).waitFor();
    assert.equal(await button(page, 'New folder').count(), 0);
    await row(page, 'one.txt').click();
    await button(toolbar(page), 'Download').waitFor();
    assert.equal(await button(toolbar(page), 'Delete').count(), 0);
  });
});

describe('The keyboard', () => {
  it('is explained in a dialog, and single keys can be turned off', async (t) => {
    const { page } = await openFiles(t);
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    for (const [name, key] of [
      ['Rename', 'F2'],
      ['Next part of the page', 'F6'],
      ['Select or deselect', 'Space'],
    ] as const) {
      const entry = dialog.locator('dl > div', { has: page.getByText(name, { exact: true }) });
      assert.match((await entry.textContent()) ?? '', new RegExp(key));
    }
    await dialog.getByRole('checkbox').uncheck();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.keyboard.press('F6');
    assert.equal(await dialog.count(), 0);
  });

  it('leads from one part of the page to the next by F6, to messages too, and from them back', async (t) => {
    const { page } = await openFiles(t, { permissions: ['clipboard-write', 'clipboard-read'] });
    await row(page, 'one.txt').click();
    await button(toolbar(page), 'Copy link').click();
    await page.getByRole('region', { name: 'Messages' }).getByText('Link copied').waitFor();
    await page.getByRole('status').getByText('Link copied').waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /\/file\/one\.txt$/);

    await page.keyboard.press('F6');
    await isFocused(row(page, 'one.txt'));
    await page.keyboard.press('F6');
    assert.equal(await focused(page), 'Dismiss');
    await page.keyboard.press('F6');
    assert.equal(await focused(page), 'Files');
    await page.keyboard.press('Shift+F6');
    await page.keyboard.press('Enter');
    await isFocused(row(page, 'one.txt'));
    await page.getByRole('region', { name: 'Messages' }).getByText('Link copied').waitFor({ state: 'detached' });
  });
});

describe('A service that is away', () => {
  it('is said above the list, which stays, until it is there again', async (t) => {
    const { page, site } = await openFiles(t, { expectedErrors: [/ERR_CONNECTION_REFUSED/] });
    const banner = page.locator('.problem-banner');
    await site.stop();
    await page.keyboard.press('Alt+r');
    await banner.getByText('What you see may be out of date.').waitFor();
    await row(page, 'one.txt').waitFor();
    await page.getByRole('status').getByText('can’t be reached').waitFor();
    await site.place({ 'new.txt': 'new' });
    await site.restart();
    await banner.waitFor({ state: 'detached' });
    await row(page, 'new.txt').waitFor();
  });
});

describe('The page from right to left', () => {
  it('is mirrored, and nothing of it is lost', async (t) => {
    const { page } = await openFiles(t, {}, DEEP);
    await page.evaluate(() => {
      document.documentElement.dir = 'rtl';
    });
    const root = await boxOf(page.getByRole('link', { name: 'Files' }));
    assert.ok(root.x > (await boxOf(title(page))).x);
    await assertNothingOutside(page);

    await button(toolbar(page), 'New folder').focus();
    await page.keyboard.press('ArrowLeft');
    assert.equal(await focused(page), 'Upload');
    await button(page, 'Appearance').click();
    const menu = await boxOf(page.getByRole('menu'));
    assert.ok(menu.x >= 0, JSON.stringify(menu));
  });
});

describe('The frame of the page', () => {
  for (const width of ['phone', 'tablet', 'desktop'] as const) {
    for (const theme of ['light', 'dark'] as const) {
      it(`is accessible on a ${width} in the ${theme}`, async (t) => {
        const { page } = await openFiles(t, { width, theme, reducedMotion: true }, DEEP);
        await assertAccessible(page, t, { state: 'a folder' });
        await page.keyboard.press('ControlOrMeta+a');
        await button(toolbar(page), 'Delete').waitFor();
        await assertAccessible(page, t, { state: 'a selection' });
        await button(page, 'Appearance').click();
        await page.getByRole('menu').waitFor();
        await assertAccessible(page, t, { state: 'an open menu' });
        await page.keyboard.press('Escape');
        await page.keyboard.press('?');
        await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
        await assertAccessible(page, t, { state: 'the shortcuts' });
      });
    }
  }

  it('holds at 320 pixels, with nothing to scroll sideways', async (t) => {
    const { page } = await openFiles(t, PHONE, DEEP);
    await page.setViewportSize({ width: 320, height: 568 });
    await assertNothingOutside(page);
    await page.keyboard.press('ControlOrMeta+a');
    await button(toolbar(page), 'Delete').waitFor();
    await assertNothingOutside(page);
    await button(page, 'Appearance').tap();
    await page.getByRole('menu').waitFor();
    await assertNothingOutside(page);
  });
});
