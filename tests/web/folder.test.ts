import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { entryName } from '../../testing/many-files.ts';
import { until } from '../../testing/until.ts';
import { createUrls } from '../../web/src/platform/service/urls.ts';
import { shownName } from '../../web/src/platform/text/names.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import {
  boxOf,
  boxOfText,
  button,
  choose,
  row,
  selectedPaths,
  shownNames,
  typeAhead,
  waitForFocus,
} from './elements.ts';
import { DESKTOP, openSite, visitSite } from './open-site.ts';
import { FOLDER_FILES as FILES, HOSTILE_NAMES, photo } from './samples.ts';
import { fillFolder, startSite } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const isShown = (page: Page, path: string) => row(page, path).waitFor();

/** Returns a point in the empty part of a row, beside its name. */
async function besideName(page: Page, path: string): Promise<{ x: number; y: number }> {
  const box = await boxOf(row(page, path));
  return { x: box.x + box.width * 0.5, y: box.y + box.height / 2 };
}

describe('The folder view', () => {
  it('shows the embedded listing in the stored order, and refreshes it when the user goes back', async (t) => {
    const site = await startSite(t, { store: 'disk', files: FILES });
    const listing: unknown = await (await fetch(`${site.url}?limit=3`)).json();
    assert.ok(typeof listing === 'object' && listing !== null && 'cursor' in listing);
    const requests = () => site.log().filter(({ route }) => route === '/').length;
    await becomes(requests, 1);
    const page = await openPage(t, { ...DESKTOP, url: site.url });
    const names = ['album', 'Music', 'Änderung.md', 'file 1.txt', 'file 2.txt', 'file 10.txt', 'zebra.bin'];
    await becomes(() => shownNames(page), names);
    await becomes(requests, 2);

    const descending = ['album', 'Music', 'zebra.bin', 'file 10.txt', 'file 1.txt', 'file 2.txt', 'Änderung.md'];
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
    await becomes(() => shownNames(page), descending.toSpliced(4, 0, 'added.txt'));
    await becomes(() => page.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort'), 'descending');
  });

  it('opens by a deep link, and restores the scroll position and the focus when the user goes back', async (t) => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`deep/er/${index}.txt`, '']));
    const files = { ...many, 'deep/er/inner/last.txt': '' };
    const { site, page } = await visitSite(t, { files, path: 'deep/er/' });
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
    const scrolled = await page.locator('.folder-view [data-scroller]').evaluate((element) => element.scrollTop);
    assert.ok(scrolled > 1000);
    await page.keyboard.press('Alt+ArrowUp');
    await isShown(page, 'deep/er/');
    await page.goBack();
    await isShown(page, 'deep/er/299.txt');
    await becomes(
      () => page.locator('.folder-view [data-scroller]').evaluate((element) => element.scrollTop),
      scrolled,
    );
    await waitForFocus(page, 'deep/er/299.txt');

    // Going back closes an open dialog or menu instead.
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
  });

  it('shows hostile names as text, and opens their folders', async (t) => {
    const routes = ['file', 'thumb', '-', 'delete', 'delete_folder', 'rename', 'rename_folder'];
    const names = [...HOSTILE_NAMES, ...routes];
    const files = Object.fromEntries(names.map((name) => [`${name}/${name}.txt`, 'x']));
    const { page, site } = await openSite(t, { files });
    await becomes(async () => (await shownNames(page)).toSorted(), names.map(shownName).toSorted());
    for (const name of ['%2e%2e%2f', 'file']) {
      await row(page, `${name}/`).dblclick();
      await isShown(page, `${name}/${name}.txt`);
      await becomes(() => shownNames(page), [`${name}.txt`]);
      await page.goBack();
      await isShown(page, 'file/');
    }
    const urls = createUrls(new URL(site.url));
    for (const name of names) {
      const html = await fetch(urls.page(`${name}/`), { headers: { accept: 'text/html' } });
      const embedded = /<script [^>]*id="embedded"[^>]*>(?<json>[^<]*)</.exec(await html.text())?.groups?.['json'];
      const { folder, response } = JSON.parse(embedded ?? 'null');
      assert.equal(folder, `${name}/`);
      assert.deepEqual(
        response.entries.map((entry: { path: string }) => entry.path),
        [`${name}/${name}.txt`],
      );
    }
  });

  it('shows the columns that the user chose, in the widths that the user chose', async (t) => {
    const { page } = await openSite(t, { files: FILES });
    const header = (name: string) => page.getByRole('columnheader', { name });
    const resizer = page.getByRole('separator', { name: 'Width of the column “\u2068Size\u2069”' });
    await resizer.focus();
    const widthOf = async () => (await boxOf(header('Size'))).width;
    const before = await widthOf();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await becomes(widthOf, before + 32);
    // The name column ends near the next one.
    const [name, size] = [await boxOf(header('Name')), await boxOf(header('Size'))];
    assert.ok(size.x - name.x - name.width < 24);

    await button(page, 'Columns').click();
    await page.getByRole('menuitemcheckbox', { name: 'Type', checked: true }).click();
    await header('Type').waitFor({ state: 'detached' });
    if (isFullForm) await assertAccessible(page, t, { state: 'chosen columns' });
    await page.reload();
    await isShown(page, 'zebra.bin');
    await becomes(widthOf, before + 32);
    assert.equal(await header('Type').count(), 0);

    const { x, y, width, height } = await boxOf(resizer);
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2 + 16, y + height / 2);
    await page.mouse.up();
    await becomes(widthOf, before + 48);
    await page.mouse.dblclick(x + width / 2 + 16, y + height / 2);
    await becomes(widthOf, before);
    await choose(page, 'Columns', 'Reset columns');
    await header('Type').waitFor();
  });

  it('explains a missing folder, an empty folder and a filter without results', async (t) => {
    const visit = { expectedErrors: [/404.*missing/] };
    const { page } = await visitSite(t, { files: FILES, path: 'Music/missing/', visit });
    await page.getByText('This folder doesn’t exist.').waitFor();
    await assertAccessible(page, t, { state: 'a missing folder' });
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
    await becomes(async () => (await shownNames(page)).length, 7);
    await page.keyboard.type('nothing of this name');
    await page.getByText('No results for “\u2068nothing of this name\u2069”').waitFor();
  });
});

const VIEWS = isFullForm ? (['list', 'grid'] as const) : (['grid'] as const);

describe('Thumbnails', () => {
  it('are requested for the visible entries, and for one more row of tiles', async (t) => {
    const picture = await photo(1, { width: 320, height: 320 });
    const { site, page } = await visitSite(t, {
      path: '-/session',
      files: {
        '100.jpg': await photo(1, { width: 480, height: 320 }),
        '101.png': await photo(2, { width: 480, height: 320, format: 'png' }),
        '102.txt': 'no image',
        ...Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`${1000 + index}.jpg`, picture])),
      },
    });
    // A stream that lasts as long as the page would keep the network from being idle.
    await page.route('**/-/changes?*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: 'id: 1\n\n' }),
    );
    // Few rows and tiles are in view.
    await page.setViewportSize({ width: 800, height: 500 });
    for (const view of VIEWS) {
      await page.evaluate(`localStorage.setItem('holdall-folders', '{"/":{"view":"${view}"}}')`);
      await page.goto(site.url);
      const loaded = page.locator('.thumbnail.loaded img');
      const imagesInView = async () => (await entriesInView(page)) - 1;
      await until('the thumbnails in view are loaded', async () => {
        const inView = await imagesInView();
        return inView > 0 && (await loaded.count()) >= inView;
      });
      await page.waitForLoadState('networkidle');
      const columns = view === 'grid' ? await page.locator('.tile-row').first().locator('.tile').count() : 0;
      assert.equal(await requestedThumbnails(page), (await imagesInView()) + columns, view);
      const widths = await loaded.evaluateAll((all) => all.map((image) => (image as HTMLImageElement).naturalWidth));
      assert.deepEqual(new Set(widths), new Set([320]));
      for (const [name, count] of [
        ['100.jpg', 1],
        ['101.png', 1],
        ['102.txt', 0],
      ] as const) {
        assert.equal(await row(page, name).locator('.thumbnail.loaded img').count(), count, name);
      }
      if (isFullForm || view === 'grid') await assertAccessible(page, t, { state: `a ${view} of images` });
    }
  });
});

const requestedThumbnails = (page: Page) =>
  page.evaluate(() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/thumb/')).length);

/** Returns the number of entries that are visible, at least partly. */
const entriesInView = (page: Page) =>
  page.locator('[data-path]').evaluateAll((entries) => {
    const { bottom = 0 } = document.querySelector('.scroller')?.getBoundingClientRect() ?? {};
    return entries.filter((entry) => entry.getBoundingClientRect().top < bottom).length;
  });

describe('The selection', () => {
  it('follows clicks, modifier keys, checkboxes, the rubber band, right clicks and the preview', async (t) => {
    const { page, site } = await openSite(t, { files: FILES });
    // All tiles fit into one row beside the sidebar.
    await page.setViewportSize({ width: 1700, height: 900 });
    await row(page, 'Music/').click();
    await becomes(() => selectedPaths(page), ['Music/']);
    await row(page, 'file 2.txt').click({ modifiers: ['Shift'] });
    await becomes(() => selectedPaths(page), ['Music/', 'file 1.txt', 'file 2.txt', 'Änderung.md'].toSorted());
    await row(page, 'file 1.txt').click({ modifiers: ['Control'] });
    await becomes(() => selectedPaths(page), ['Music/', 'file 2.txt', 'Änderung.md'].toSorted());
    await row(page, 'zebra.bin').locator('[data-check]').click();
    await becomes(() => selectedPaths(page), ['Music/', 'file 2.txt', 'zebra.bin', 'Änderung.md'].toSorted());
    const view = await boxOf(page.locator('.folder-view [data-scroller]'));
    await page.mouse.click(view.x + view.width / 2, view.y + view.height - 20);
    await becomes(() => selectedPaths(page), []);

    const from = await besideName(page, 'Music/');
    const to = await besideName(page, 'file 2.txt');
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x + 30, to.y, { steps: 4 });
    await page.locator('.rubber-band').waitFor();
    // A finger on the screen neither moves nor ends the band of the mouse.
    await page.evaluate(() => {
      const other = { pointerId: 99, pointerType: 'touch', clientX: 5, clientY: 5 };
      for (const type of ['pointermove', 'pointerup']) window.dispatchEvent(new PointerEvent(type, other));
    });
    assert.equal(await page.locator('.rubber-band').count(), 1);
    await page.mouse.up();
    const expected = ['Music/', 'file 1.txt', 'file 2.txt', 'Änderung.md'].toSorted();
    await becomes(() => selectedPaths(page), expected);

    await page.getByRole('button', { name: 'Grid' }).first().click();
    await page.getByRole('gridcell').first().waitFor();
    await becomes(() => selectedPaths(page), expected);
    const first = await boxOf(row(page, 'Music/'));
    await page.mouse.move(view.x + 2, view.y + view.height - 40);
    await page.mouse.down();
    await page.mouse.move(first.x + 30, first.y + 30, { steps: 4 });
    await page.mouse.up();
    await becomes(() => selectedPaths(page), ['Music/', 'album/', 'file 1.txt', 'Änderung.md']);

    // A right click selects. The keyboard opens the same menu.
    await page.getByRole('button', { name: 'List' }).first().click();
    await row(page, 'file 2.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: /^Rename/ }).waitFor();
    await becomes(() => selectedPaths(page), ['file 2.txt']);
    await page.keyboard.press('Escape');
    await waitForFocus(page, 'file 2.txt');
    await page.keyboard.press('Shift+F10');
    await page.getByRole('menuitem', { name: /^Rename/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });

    await row(page, 'file 1.txt').dblclick();
    await page.getByRole('dialog').getByText('one').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('dialog').getByText('two').waitFor();
    await page.keyboard.press('Escape');
    await waitForFocus(page, 'file 2.txt');
    await becomes(() => selectedPaths(page), ['file 2.txt']);
    await page.keyboard.press('Delete');
    await page.getByRole('dialog', { name: /file 2\.txt/ }).waitFor();
    assert.ok(await site.exists('file 1.txt'));
  });

  it(
    'follows the keyboard in the list and in the grid, whose tiles show the end of long names',
    IN_FULL_FORM_ONLY,
    async (t) => {
      const stamps = ['153012', '153014'];
      const long = Object.fromEntries(stamps.map((stamp) => [`IMG_20260704_at_the_lake_${stamp}_HDR.mov`, stamp]));
      const { page } = await openSite(t, { files: { ...FILES, ...long }, visit: { width: 'tablet' } });
      const assertState = async (focused: string, selected: string[]) => {
        await waitForFocus(page, focused);
        await becomes(() => selectedPaths(page), selected.toSorted());
      };
      const session = await page.context().newCDPSession(page);
      const namesOf = async (role: 'row' | 'gridcell') => {
        const { nodes } = await session.send('Accessibility.getFullAXTree');
        const accessible = nodes.filter((node) => !node.ignored && node.role?.value === role);
        // The name of the button for more actions has the file name, too.
        return accessible.flatMap(({ name }) => /^file [12]\.txt/.exec(String(name?.value))?.[0] ?? []);
      };
      await page.keyboard.press('ArrowDown');
      await assertState('album/', ['album/']);
      await page.keyboard.press('Shift+ArrowDown');
      await assertState('Music/', ['album/', 'Music/']);
      await page.keyboard.press('Control+End');
      await assertState('zebra.bin', ['album/', 'Music/']);
      await page.keyboard.press('Control+Space');
      await assertState('zebra.bin', ['album/', 'Music/', 'zebra.bin']);
      await page.keyboard.press('PageUp');
      await assertState('album/', ['album/']);
      await typeAhead(page, 'file 1');
      await assertState('file 1.txt', ['file 1.txt']);
      await page.keyboard.press('Control+a');
      await becomes(async () => (await selectedPaths(page)).length, 9);
      await page.keyboard.press('Escape');
      await becomes(() => selectedPaths(page), []);
      await becomes(() => namesOf('row'), ['file 1.txt', 'file 2.txt']);
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await isShown(page, 'Music/song.mp3');
      await waitForFocus(page, 'Music/live/');

      await page.goBack();
      await isShown(page, 'zebra.bin');
      await page.getByRole('button', { name: 'Grid' }).first().click();
      await page.getByRole('gridcell').first().focus();
      await page.keyboard.press('ArrowRight');
      await waitForFocus(page, 'Music/');
      const columns = Number(await page.getByRole('grid').getAttribute('aria-colcount'));
      assert.ok(columns >= 3 && columns <= 6, `${columns} columns`);
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowDown');
      const nameOfFocused = () =>
        page.evaluate(() => document.activeElement?.querySelector('.entry-name')?.textContent);
      // Folders are in rows above the files.
      await becomes(nameOfFocused, (await shownNames(page))[2]);
      await becomes(() => namesOf('gridcell'), ['file 1.txt', 'file 2.txt']);

      for (const stamp of stamps) {
        const name = page.locator('.entry-name', { hasText: `${stamp}_HDR.mov` });
        const [box, end] = [await boxOf(name), await name.evaluate(boxOfText, -8)];
        assert.ok(end.bottom <= box.y + box.height + 1 && end.right <= box.x + box.width + 1, 'the end is visible');
      }
      const short = await boxOf(page.locator('.entry-name', { hasText: 'file 1.txt' }));
      const tall = await boxOf(page.locator('.entry-name', { hasText: '153012' }));
      assert.ok(short.height < tall.height * 0.75, 'a short name needs one line');
    },
  );
});

describe('The field that renames an entry', () => {
  it('shows its error below the name, or above it at the lower edge of the window', IN_FULL_FORM_ONLY, async (t) => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${100 + index}.txt`, '']));
    const { page } = await openSite(t, { files });
    const rename = async (path: string) => {
      await row(page, path).click();
      await page.keyboard.press('F2');
      const field = row(page, path).getByRole('textbox');
      await field.fill('a/b');
      await page.locator('.name-problem').waitFor();
      return [await boxOf(field), await boxOf(page.locator('.name-problem'))] as const;
    };
    const [firstField, firstError] = await rename('100.txt');
    assertNear(firstError.x, firstField.x);
    assertNear(firstError.y, firstField.y + firstField.height + 4);
    await page.keyboard.press('Escape');

    await page.keyboard.press('End');
    const [lastField, lastError] = await rename('139.txt');
    assertNear(lastError.y + lastError.height, lastField.y - 4);
    await page.keyboard.press('Escape');

    await page.evaluate(() => {
      document.documentElement.dir = 'rtl';
    });
    const [field, error] = await rename('139.txt');
    assertNear(error.x + error.width, field.x + field.width);
  });
});

const assertNear = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 1, `${actual}`);

describe('A folder of 3,000 files', () => {
  it('loads and sorts completely, renders few rows, and can be selected with Shift', async (t) => {
    const site = await startSite(t, { store: 'disk' });
    await fillFolder(site, 'many', 3_000);
    const page = await openPage(t, { ...DESKTOP, url: `${site.url}many/` });
    await page.locator('[data-path]').first().waitFor();
    await page.locator('html[data-listing="complete"]').waitFor();
    assert.ok((await page.locator('[data-path]').count()) < 200);
    await becomes(() => page.getByRole('grid').getAttribute('aria-rowcount'), '3001');

    await page.locator('[data-path]').first().click();
    await page.keyboard.press('Shift+End');
    await waitForFocus(page, `many/${entryName(3_000)}`);
    await row(page, `many/${entryName(3_000)}`)
      .and(page.locator(':focus'))
      .waitFor();
    await page.getByText('3,000 selected').first().waitFor();
    assert.ok((await page.locator('[data-path]').count()) < 200);
    const order = (await shownNames(page)).slice(-20);
    assert.deepEqual(
      order,
      Array.from({ length: 20 }, (_, index) => entryName(2_981 + index)),
    );
    await page.keyboard.press('Home');
    await page.getByText('1 selected').first().waitFor();
  });

  it(
    'scrolls to every row if the rows are taller than the tallest element of a browser',
    IN_FULL_FORM_ONLY,
    async (t) => {
      const site = await startSite(t, { store: 'disk' });
      await fillFolder(site, 'many', 3_000);
      const page = await openPage(t, { ...DESKTOP, url: `${site.url}many/` });
      await page.locator('html[data-listing="complete"]').waitFor();
      // 19,200,000 pixels, without a header.
      await page.evaluate(() => document.documentElement.style.setProperty('--row', '400rem'));
      await page.setViewportSize({ width: 600, height: 800 });
      const file = (position: number) => row(page, `many/${entryName(position)}`);
      await until('the rows are tall', async () => (await boxOf(file(1))).height === 6400);

      await file(1).focus();
      await page.keyboard.press('End');
      await file(3_000).and(page.locator(':focus')).waitFor();
      /** Returns the distance in pixels of a row from the upper edge of the list. */
      const startOf = async (position: number) => {
        const list = await boxOf(page.locator('.folder-view [data-scroller]'));
        return Math.round((await boxOf(file(position))).y - list.y);
      };
      await becomes(() => startOf(3_000), 0);
      await page.keyboard.press('ArrowUp');
      await file(2_999).and(page.locator(':focus')).waitFor();
      await becomes(() => startOf(2_999), 0);
      await page.mouse.move(300, 400);
      await page.mouse.wheel(0, 300);
      await becomes(() => startOf(2_999), -300);

      await page.locator('.folder-view [data-scroller]').evaluate((element) => {
        element.scrollTop = (element.scrollHeight - element.clientHeight) / 2;
      });
      await until('the middle is visible', async () => Math.abs(await startOf(1_500)) <= 6_400);
      await page.keyboard.press('Home');
      await file(1).and(page.locator(':focus')).waitFor();
      await page.mouse.wheel(0, 500);
      await becomes(() => startOf(1), -500);
      await page.mouse.wheel(0, -500);
      await becomes(() => page.locator('.folder-view [data-scroller]').evaluate((element) => element.scrollTop), 0);
    },
  );
});
