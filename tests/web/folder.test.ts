import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import { shownName } from '../../web/src/text/shown-name.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { openPage, type Visit } from './browser.ts';
import { boxOf, focusedPath, row, selectedPaths, shownNames } from './elements.ts';
import { refuse } from './intercept.ts';
import { DESKTOP, PHONE } from './open-site.ts';
import { HOSTILE_NAMES, photo } from './samples.ts';
import { fillFolder, startSite } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const isShown = (page: Page, path: string) => row(page, path).waitFor();

/** The centre of the empty part of a row: right of its name. */
async function besideName(page: Page, path: string): Promise<{ x: number; y: number }> {
  const box = await row(page, path).boundingBox();
  assert.ok(box);
  return { x: box.x + box.width * 0.5, y: box.y + box.height / 2 };
}

const FILES = {
  'file 1.txt': 'one',
  'file 2.txt': 'two',
  'file 10.txt': 'a little longer',
  'Änderung.md': '#',
  'zebra.bin': 'z'.repeat(5000),
  'album/': '',
  'Music/': '',
  'Music/song.mp3': 'la',
  'Music/live/': '',
};

async function openFiles(t: TestContext, visit: Partial<Visit> = {}, files: Record<string, string> = FILES) {
  const site = await startSite(t, { store: 'disk', files });
  const page = await openPage(t, { ...DESKTOP, ...visit, url: site.url });
  await page.locator('html[data-listing="complete"]').waitFor();
  return { site, page };
}

describe('A folder in the browser', () => {
  it('is shown by what came with the page, without another request', async (t) => {
    const site = await startSite(t, { store: 'disk', files: FILES });
    const page = await openPage(t, { ...DESKTOP, url: site.url });
    await isShown(page, 'file 1.txt');
    await becomes(() => site.log().filter(({ route }) => route === '/').length, 1);
  });

  it('is shown from its beginning, though the address is that of its second page', async (t) => {
    const site = await startSite(t, { store: 'disk', files: FILES });
    const answer: unknown = await (await fetch(`${site.url}?limit=3`)).json();
    assert.ok(typeof answer === 'object' && answer !== null && 'cursor' in answer);
    const page = await openPage(t, { ...DESKTOP, url: `${site.url}?cursor=${String(answer.cursor)}` });
    await until('all are there', async () => (await shownNames(page)).length === 7);
  });

  it('has folders first, and names in the order in which a person counts', async (t) => {
    const { page } = await openFiles(t);
    const expected = ['album', 'Music', 'Änderung.md', 'file 1.txt', 'file 2.txt', 'file 10.txt', 'zebra.bin'];
    await becomes(() => shownNames(page), expected);
  });

  it('sorts by each column, back and forth, and keeps the order through a reload', async (t) => {
    const { page } = await openFiles(t);
    await page.getByRole('button', { name: 'Size' }).click();
    await becomes(async () => (await shownNames(page)).slice(2, 4), ['zebra.bin', 'file 10.txt']);
    await becomes(() => page.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort'), 'descending');
    await page.getByRole('button', { name: 'Size' }).click();
    await becomes(async () => (await shownNames(page)).at(-1), 'zebra.bin');
    await page.reload();
    await isShown(page, 'zebra.bin');
    await becomes(async () => (await shownNames(page)).at(-1), 'zebra.bin');
    await page.getByRole('button', { name: 'Name' }).click();
    await page.getByRole('button', { name: 'Name' }).click();
    await becomes(
      () => shownNames(page),
      ['Music', 'album', 'zebra.bin', 'file 10.txt', 'file 2.txt', 'file 1.txt', 'Änderung.md'],
    );
  });

  it('filters as one types, whatever the case and the accents', async (t) => {
    const { page } = await openFiles(t);
    await page.keyboard.press('/');
    await page.keyboard.type('ANDER');
    await becomes(() => shownNames(page), ['Änderung.md']);
    await page.keyboard.press('Escape');
    await until('all are there', async () => (await shownNames(page)).length === 7);
    await page.keyboard.type('nothing of this name');
    await page.getByText('Nothing here is called “nothing of this name”.').waitFor();
    await assertAccessible(page, t, { state: 'nothing matches' });
  });

  it('is opened by a deep link, and left and found again by the history, at the same sight', async (t) => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`deep/er/${index}.txt`, '']));
    const site = await startSite(t, { store: 'disk', files: { ...many, 'deep/er/inner/last.txt': '' } });
    const page = await openPage(t, { ...DESKTOP, url: `${site.url}deep/er/` });
    await isShown(page, 'deep/er/inner/');
    await row(page, 'deep/er/inner/').dblclick();
    await isShown(page, 'deep/er/inner/last.txt');
    await becomes(() => page.url(), `${site.url}deep/er/inner/`);
    await page.reload();
    await isShown(page, 'deep/er/inner/last.txt');
    await page.keyboard.press('Backspace');
    await isShown(page, 'deep/er/inner/');
    await until('the folder one came from has the focus', async () => (await focusedPath(page)) === 'deep/er/inner/');

    await page.keyboard.press('End');
    await isShown(page, 'deep/er/299.txt');
    await becomes(() => focusedPath(page), 'deep/er/299.txt');
    const scrolled = await page.locator('[data-scroller]').evaluate((element) => element.scrollTop);
    assert.ok(scrolled > 1000);
    await page.keyboard.press('Alt+ArrowUp');
    await isShown(page, 'deep/er/');
    await page.goBack();
    await isShown(page, 'deep/er/299.txt');
    await becomes(() => page.locator('[data-scroller]').evaluate((element) => element.scrollTop), scrolled);
    await becomes(() => focusedPath(page), 'deep/er/299.txt');
  });

  it('takes hostile names as the text that they are', async (t) => {
    const files = Object.fromEntries(HOSTILE_NAMES.map((name) => [`${name}/${name}`, 'x']));
    const hidden = ['file', 'thumb', '-', 'delete', 'delete_folder', 'rename', 'rename_folder'];
    const hiddenFiles = Object.fromEntries(hidden.map((name) => [`${name}/hidden by a route.txt`, 'x']));
    const { page, site } = await openFiles(t, {}, { ...files, ...hiddenFiles });
    await becomes(
      async () => (await shownNames(page)).toSorted(),
      [...HOSTILE_NAMES, ...hidden].map(shownName).toSorted(),
    );
    for (const name of HOSTILE_NAMES) {
      await page.locator(`[data-path=${JSON.stringify(`${name}/`)}]`).dblclick();
      await page.locator(`[data-path=${JSON.stringify(`${name}/${name}`)}]`).waitFor();
      await becomes(() => shownNames(page), [shownName(name)]);
      await page.reload();
      await page.locator(`[data-path=${JSON.stringify(`${name}/${name}`)}]`).waitFor();
      await page.goto(site.url);
      await isShown(page, 'file/');
    }
    for (const name of hidden) {
      await row(page, `${name}/`).dblclick();
      await isShown(page, `${name}/hidden by a route.txt`);
      await page.reload();
      await isShown(page, `${name}/hidden by a route.txt`);
      await page.goBack();
      await isShown(page, 'file/');
    }
  });

  it('lets no name look like another, or like nothing', () => {
    const shown = {
      'rtl \u202etxt.exe': 'rtl ⟨U+202E⟩txt.exe',
      ' \u200b': '⟨U+0020⟩⟨U+200B⟩',
      'שלום 👩‍👧.txt': 'שלום 👩‍👧.txt',
    };
    for (const [name, expected] of Object.entries(shown)) assert.equal(shownName(name), expected);
  });

  it('says what is wrong, and what to do, where there is no such folder', async (t) => {
    const site = await startSite(t, { store: 'disk', files: FILES });
    const url = `${site.url}Music/gone/`;
    const page = await openPage(t, { ...DESKTOP, url, expectedErrors: [/404.*gone/] });
    await page.getByText('There is no such folder.').waitFor();
    await assertAccessible(page, t, { state: 'no such folder' });
    await page.getByRole('button', { name: 'Up one folder' }).first().click();
    await isShown(page, 'Music/song.mp3');
  });

  it('is refused in the words of the service, and shown by Retry once it is not', async (t) => {
    const { page } = await openFiles(t, { expectedErrors: [/403/] });
    // A refusal that does not pass by itself: nothing but Retry asks again.
    await page.route('**/?prefix=Music*', (route) => refuse(route, 403, 'The bucket is locked.'));
    await row(page, 'Music/').dblclick();
    await page.getByText('The bucket is locked.').waitFor();
    await page.unroute('**/?prefix=Music*');
    await page.getByRole('button', { name: 'Retry' }).click();
    await isShown(page, 'Music/song.mp3');
  });

  it('is read when the service has made it, though one opened it before', async (t) => {
    const { page, site } = await openFiles(t, { expectedErrors: [/404/] });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/create_folder', async (route) => {
      await released;
      await route.continue();
    });
    await page.keyboard.press('Alt+n');
    await page.getByRole('dialog').getByRole('textbox').fill('new');
    await page.keyboard.press('Enter');
    await row(page, 'new/').dblclick();
    await page.getByText('There is no such folder.').waitFor();
    release();
    await page.getByText('Nothing here yet.').waitFor();
    await until('it is stored', () => site.exists('new/'));
  });

  it('asks again by itself while the service is away, also for a folder that never came', async (t) => {
    const { site, page } = await openFiles(t, { expectedErrors: [/ERR_CONNECTION_(REFUSED|RESET)/] });
    await site.stop();
    await row(page, 'Music/').dblclick();
    await page.getByText('The service can’t be reached.').first().waitFor();
    await site.restart();
    await isShown(page, 'Music/song.mp3');
  });

  it('is read again when one comes back to the page', async (t) => {
    const { page, site } = await openFiles(t);
    await page.goto(`${site.url}file/file%201.txt`);
    await site.place({ 'meanwhile.txt': 'new' });
    await page.goBack();
    await isShown(page, 'meanwhile.txt');
  });

  it('stays, and what lies in front of it goes, when one goes back', async (t) => {
    const { page, site } = await openFiles(t);
    await row(page, 'Music/').dblclick();
    await isShown(page, 'Music/song.mp3');
    await page.keyboard.press('Alt+n');
    await page.getByRole('dialog').waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await becomes(() => page.url(), `${site.url}Music/`);
    await isShown(page, 'Music/song.mp3');
    await row(page, 'Music/song.mp3').click({ button: 'right' });
    await page.getByRole('menuitem').first().waitFor();
    await page.goBack();
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
    await becomes(() => page.url(), `${site.url}Music/`);
    await page.goBack();
    await isShown(page, 'zebra.bin');
  });

  it('gives its selection to the file that was looked at last', async (t) => {
    const { page, site } = await openFiles(t);
    await row(page, 'file 1.txt').dblclick();
    await page.getByRole('dialog').getByText('one').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('dialog').getByText('two').waitFor();
    await page.keyboard.press('Escape');
    await until('the last has the focus', async () => (await focusedPath(page)) === 'file 2.txt');
    await becomes(() => selectedPaths(page), ['file 2.txt']);
    await page.keyboard.press('Delete');
    await page.getByRole('dialog', { name: /file 2\.txt/ }).waitFor();
    assert.ok(await site.exists('file 1.txt'));
  });

  it('has the file name in the accessible name of each row and tile, selected or not', async (t) => {
    const { page } = await openFiles(t, {}, { 'a.txt': 'one', 'b.txt': 'two' });
    const session = await page.context().newCDPSession(page);
    const namesOf = async (role: 'row' | 'gridcell') => {
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      const accessible = nodes.filter((node) => !node.ignored && node.role?.value === role);
      // The name of the button for more actions has the file name, too.
      return accessible.flatMap(({ name }) => /^[ab]\.txt/.exec(String(name?.value))?.[0] ?? []);
    };
    await row(page, 'a.txt').click();
    await becomes(() => selectedPaths(page), ['a.txt']);
    await becomes(() => namesOf('row'), ['a.txt', 'b.txt']);
    await page.evaluate(`localStorage.setItem('holdall', '{"view":"grid"}')`);
    await page.reload();
    await row(page, 'a.txt').click();
    await becomes(() => namesOf('gridcell'), ['a.txt', 'b.txt']);
  });

  it('is empty with a way to fill it', async (t) => {
    const { page } = await openFiles(t, {}, {});
    await page.getByText('Nothing here yet.').waitFor();
    await assertAccessible(page, t, { state: 'an empty folder' });
    await page.getByRole('main').getByRole('button', { name: 'New folder' }).last().click();
    await page.getByRole('dialog').waitFor();
  });

  it('shows thumbnails of images, in the list and as tiles', async (t) => {
    const pictures = { 'a.jpg': await photo(1), 'b.png': await photo(2, { format: 'png' }), 'c.txt': 'x' };
    const site = await startSite(t, { store: 'disk', files: pictures });
    const page = await openPage(t, { ...DESKTOP, url: site.url });
    for (const view of ['list', 'grid']) {
      await page.evaluate(`localStorage.setItem('holdall', '{"view":"${view}"}')`);
      await page.reload();
      await until('both are drawn', async () => {
        const images = page.locator('.thumbnail img');
        const widths = await images.evaluateAll((all) => all.map((image) => (image as HTMLImageElement).naturalWidth));
        return widths.length === 2 && widths.every((width) => width === 320);
      });
      await assertAccessible(page, t, { state: `a ${view}` });
    }
  });
});

describe('Tiles', () => {
  it('show the end of a long name, on a second line', async (t) => {
    const stamps = ['153012', '153014'];
    const files = Object.fromEntries(stamps.map((stamp) => [`IMG_20260704_at_the_lake_${stamp}_HDR.mov`, stamp]));
    const { page } = await openFiles(t, {}, { ...files, 'short.txt': 's' });
    await page.evaluate(`localStorage.setItem('holdall', '{"view":"grid"}')`);
    await page.reload();
    for (const stamp of stamps) {
      const name = page.locator('.entry-name', { hasText: stamp });
      const tail = name.getByText(`${stamp}_HDR.mov`, { exact: true });
      await tail.waitFor();
      const [nameBox, stemBox, tailBox] = await Promise.all([name, name.locator('.stem'), tail].map(boxOf));
      assert.ok(nameBox && stemBox && tailBox);
      assert.ok(tailBox.y >= stemBox.y + stemBox.height - 1, 'the end is on a line of its own');
      assert.ok(tailBox.y + tailBox.height <= nameBox.y + nameBox.height + 1, 'the end is in view');
      assert.ok(await tail.evaluate((element) => element.scrollWidth <= element.clientWidth), 'the end is whole');
    }
    const short = await boxOf(page.locator('.entry-name', { hasText: 'short' }));
    const long = await boxOf(page.locator('.entry-name', { hasText: '153012' }));
    assert.ok(short.height < long.height * 0.75, 'a short name takes one line');
  });
});

describe('Thumbnails', () => {
  it('are requested for the rows in view first, and for one more row of tiles', async (t) => {
    const picture = await photo(1, { width: 320, height: 320 });
    const files = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${1000 + index}.jpg`, picture]));
    const site = await startSite(t, { store: 'disk', files });
    const page = await openPage(t, { ...DESKTOP, url: site.url });
    for (const view of ['list', 'grid'] as const) {
      await page.evaluate(`localStorage.setItem('holdall', '{"view":"${view}"}')`);
      await page.reload();
      await until('the thumbnails in view are loaded', async () => {
        const inView = await entriesInView(page);
        return inView > 0 && (await page.locator('.thumbnail.loaded').count()) >= inView;
      });
      await page.waitForLoadState('networkidle');
      const columns = view === 'grid' ? await page.locator('.tile-row').first().locator('.tile').count() : 0;
      assert.equal(await requestedThumbnails(page), (await entriesInView(page)) + columns, view);
    }
  });
});

const requestedThumbnails = (page: Page) =>
  page.evaluate(() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/thumb/')).length);

/** How many entries are in view, at least in part. */
const entriesInView = (page: Page) =>
  page.locator('[data-path]').evaluateAll((entries) => {
    const { bottom = 0 } = document.querySelector('.scroller')?.getBoundingClientRect() ?? {};
    return entries.filter((entry) => entry.getBoundingClientRect().top < bottom).length;
  });

describe('Selecting', () => {
  it('goes by click, with Ctrl, with Shift, by the boxes, and ends beside all entries', async (t) => {
    const { page } = await openFiles(t);
    await row(page, 'Music/').click();
    await becomes(() => selectedPaths(page), ['Music/']);
    await row(page, 'file 2.txt').click({ modifiers: ['Shift'] });
    await becomes(() => selectedPaths(page), ['Music/', 'file 1.txt', 'file 2.txt', 'Änderung.md'].toSorted());
    await row(page, 'file 1.txt').click({ modifiers: ['Control'] });
    await becomes(() => selectedPaths(page), ['Music/', 'file 2.txt', 'Änderung.md'].toSorted());
    await row(page, 'zebra.bin').locator('[data-check]').click();
    await becomes(() => selectedPaths(page), ['Music/', 'file 2.txt', 'zebra.bin', 'Änderung.md'].toSorted());
    const last = await page.locator('[data-scroller]').boundingBox();
    assert.ok(last);
    await page.mouse.click(last.x + last.width / 2, last.y + last.height - 20);
    await becomes(() => selectedPaths(page), []);
  });

  it('is over for what a filter hides, and for what one leaves', async (t) => {
    const { page } = await openFiles(t);
    await row(page, 'file 1.txt').click();
    await row(page, 'zebra.bin').click({ modifiers: ['Control'] });
    const filter = page.getByRole('searchbox');
    await filter.fill('zebra');
    await until('one is left', async () => (await shownNames(page)).length === 1);
    await becomes(() => selectedPaths(page), ['zebra.bin']);
    await filter.fill('');
    await until('all are there', async () => (await shownNames(page)).length === 7);
    await becomes(() => selectedPaths(page), ['zebra.bin']);
    await row(page, 'Music/').dblclick();
    await isShown(page, 'Music/song.mp3');
    await page.goBack();
    await isShown(page, 'zebra.bin');
    await becomes(() => selectedPaths(page), []);
  });

  it('goes by a rubber band, in the list and among tiles', async (t) => {
    const { page } = await openFiles(t);
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
    const scroller = await page.locator('[data-scroller]').boundingBox();
    const first = await row(page, 'Music/').boundingBox();
    assert.ok(scroller && first);
    await page.mouse.move(scroller.x + 2, scroller.y + scroller.height - 40);
    await page.mouse.down();
    await page.mouse.move(first.x + 30, first.y + 30, { steps: 4 });
    await page.mouse.up();
    await becomes(() => selectedPaths(page), ['Music/', 'album/']);
  });

  it('goes by the keyboard alone', async (t) => {
    const { page } = await openFiles(t);
    const at = async (path: string, chosen: string[]) => {
      await becomes(() => focusedPath(page), path);
      await becomes(() => selectedPaths(page), chosen.toSorted());
    };
    await page.keyboard.press('ArrowDown');
    await at('album/', ['album/']);
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('Shift+ArrowDown');
    await at('Änderung.md', ['album/', 'Music/', 'Änderung.md']);
    await page.keyboard.press('Shift+ArrowUp');
    await at('Music/', ['album/', 'Music/']);
    await page.keyboard.press('Control+End');
    await at('zebra.bin', ['album/', 'Music/']);
    await page.keyboard.press('Space');
    await at('zebra.bin', ['album/', 'Music/', 'zebra.bin']);
    await page.keyboard.press('Home');
    await at('album/', ['album/']);
    await page.keyboard.press('PageDown');
    await at('zebra.bin', ['zebra.bin']);
    await page.keyboard.type('file 1');
    await at('file 1.txt', ['file 1.txt']);
    await page.keyboard.press('Control+a');
    await becomes(async () => (await selectedPaths(page)).length, 7);
    await page.keyboard.press('Escape');
    await becomes(() => selectedPaths(page), []);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await isShown(page, 'Music/song.mp3');
    await until('the first entry has the focus', async () => (await focusedPath(page)) === 'Music/live/');
  });

  it('leads through tiles by the arrows, from row to row', async (t) => {
    const { page } = await openFiles(t, { width: 'tablet' });
    await page.getByRole('button', { name: 'Grid' }).first().click();
    await page.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowRight');
    await becomes(() => focusedPath(page), 'Music/');
    const columns = Number(await page.getByRole('grid').getAttribute('aria-colcount'));
    assert.ok(columns >= 3 && columns <= 6, `${columns} columns`);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    const nameOfFocused = () => page.evaluate(() => document.activeElement?.querySelector('.entry-name')?.textContent);
    await becomes(nameOfFocused, (await shownNames(page))[columns]);
  });

  it('begins with a long press on a phone, goes on with taps, and a tap alone opens', async (t) => {
    const { page } = await openFiles(t, PHONE);
    const client = await page.context().newCDPSession(page);
    const press = async (path: string) => {
      const box = await row(page, path).boundingBox();
      assert.ok(box);
      const touchPoints = [{ x: box.x + box.width / 2, y: box.y + box.height / 2 }];
      await client.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints });
      await until('it is selected', async () => (await selectedPaths(page)).includes(path));
      await client.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    };
    await press('file 2.txt');
    await becomes(() => selectedPaths(page), ['file 2.txt']);
    await row(page, 'Music/').tap();
    await becomes(() => selectedPaths(page), ['Music/', 'file 2.txt']);
    await row(page, 'Music/').tap();
    await row(page, 'file 2.txt').tap();
    await becomes(() => selectedPaths(page), []);
    await row(page, 'Music/').tap();
    await isShown(page, 'Music/song.mp3');
  });

  it('offers what can be done by a right click, and by the key for that', async (t) => {
    const { page } = await openFiles(t);
    await row(page, 'file 2.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: /^Rename/ }).waitFor();
    await becomes(() => selectedPaths(page), ['file 2.txt']);
    await assertAccessible(page, t, { state: 'the menu of an entry' });
    await page.keyboard.press('Escape');
    await until('the entry has the focus again', async () => (await focusedPath(page)) === 'file 2.txt');
    await page.keyboard.press('Shift+F10');
    await page.getByRole('menuitem', { name: /^Rename/ }).waitFor();
  });
});

describe('A folder of 100,000 files', () => {
  it('is shown at once, read to its end, ordered, and selected with Shift', { timeout: 120_000 }, async (t) => {
    const site = await startSite(t, { store: 'disk' });
    await fillFolder(site, 'many', 100_000);
    const page = await openPage(t, { ...DESKTOP, url: `${site.url}many/` });
    await page.locator('[data-path]').first().waitFor();
    await page.locator('html[data-listing="complete"]').waitFor({ timeout: 90_000 });
    assert.ok((await page.locator('[data-path]').count()) < 200);
    await becomes(() => page.getByRole('grid').getAttribute('aria-rowcount'), '100001');

    await page.locator('[data-path]').first().click();
    await page.keyboard.press('Shift+End');
    await until('the last is in sight', async () => (await focusedPath(page)) !== null);
    await page.getByText('100,000 selected').first().waitFor();
    const order = (await shownNames(page)).slice(-20);
    assert.deepEqual(order, order.toSorted(new Intl.Collator('en', { numeric: true }).compare));
    await page.keyboard.press('Home');
    await page.getByText('1 selected').first().waitFor();
  });
});
