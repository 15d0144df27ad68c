import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { boxOf, boxOfText, row, selectedPaths, shownNames, typeAhead, waitForFocus } from './elements.ts';
import { DESKTOP } from './open-site.ts';
import { FOLDER_FILES } from './samples.ts';
import { type Site, startSite } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const STAMPS = ['153012', '153014'];
const FILES = {
  ...FOLDER_FILES,
  ...Object.fromEntries(STAMPS.map((stamp) => [`IMG_20260704_at_the_lake_${stamp}_HDR.mov`, stamp])),
};

const isShown = (page: Page, path: string) => row(page, path).waitFor();
const selects = (page: Page, ...paths: readonly string[]) => becomes(() => selectedPaths(page), paths.toSorted());
const scroller = (page: Page) => page.locator('.folder-view [data-scroller]');

test('The selection follows the mouse and the keyboard, in the list and in the grid', async (t) => {
  const site = await startSite(t, { store: 'disk', files: FILES });
  const page = await openPage(t, { ...DESKTOP, url: site.url });
  // All tiles fit into one row beside the sidebar.
  await page.setViewportSize({ width: 1900, height: 900 });
  await followsMouse(page);
  await followsRubberBand(page);
  await followsPreview(page, site);

  await page.setViewportSize({ width: 820, height: 1180 });
  await followsKeyboardInList(page);
  await followsKeyboardInGrid(page);
  await showsEndsOfLongNames(page);
});

async function followsMouse(page: Page): Promise<void> {
  await row(page, 'Music/').click();
  await selects(page, 'Music/');
  await row(page, 'file 2.txt').click({ modifiers: ['Shift'] });
  await selects(page, 'Music/', 'file 1.txt', 'file 2.txt', 'Änderung.md');
  await row(page, 'file 1.txt').click({ modifiers: ['Control'] });
  await selects(page, 'Music/', 'file 2.txt', 'Änderung.md');
  await row(page, 'zebra.bin').locator('[data-check]').click();
  await selects(page, 'Music/', 'file 2.txt', 'zebra.bin', 'Änderung.md');
  const view = await boxOf(scroller(page));
  await page.mouse.click(view.x + view.width / 2, view.y + view.height - 20);
  await selects(page);

  // A right click selects. The keyboard opens the same menu.
  await row(page, 'file 2.txt').click({ button: 'right' });
  await page.getByRole('menuitem', { name: /^Rename/ }).waitFor();
  await selects(page, 'file 2.txt');
  await page.keyboard.press('Escape');
  await waitForFocus(page, 'file 2.txt');
  await page.keyboard.press('Shift+F10');
  await page.getByRole('menuitem', { name: /^Rename/ }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
}

/** Returns a point in the empty part of a row, beside its name. */
async function besideName(page: Page, path: string): Promise<{ x: number; y: number }> {
  const box = await boxOf(row(page, path));
  return { x: box.x + box.width * 0.5, y: box.y + box.height / 2 };
}

async function followsRubberBand(page: Page): Promise<void> {
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
  const expected = ['Music/', 'file 1.txt', 'file 2.txt', 'Änderung.md'];
  await selects(page, ...expected);

  await page.getByRole('button', { name: 'Grid' }).first().click();
  await page.getByRole('gridcell').first().waitFor();
  await selects(page, ...expected);
  const view = await boxOf(scroller(page));
  const first = await boxOf(row(page, 'Music/'));
  await page.mouse.move(view.x + 2, view.y + view.height - 40);
  await page.mouse.down();
  await page.mouse.move(first.x + 30, first.y + 30, { steps: 4 });
  await page.mouse.up();
  await selects(page, 'Music/', 'album/', 'file 1.txt', 'Änderung.md');
  await page.getByRole('button', { name: 'List' }).first().click();
}

async function followsPreview(page: Page, site: Site): Promise<void> {
  await row(page, 'file 1.txt').dblclick();
  await page.getByRole('dialog').getByText('one').waitFor();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('dialog').getByText('two').waitFor();
  await page.keyboard.press('Escape');
  await waitForFocus(page, 'file 2.txt');
  await selects(page, 'file 2.txt');
  await page.keyboard.press('Delete');
  await page.getByRole('dialog', { name: /file 2\.txt/ }).waitFor();
  assert.ok(await site.exists('file 1.txt'));
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await selects(page);
}

async function assertState(page: Page, focused: string, ...selected: readonly string[]): Promise<void> {
  await waitForFocus(page, focused);
  await selects(page, ...selected);
}

/** Returns the names of two entries for screen readers. */
async function accessibleNames(page: Page, role: 'row' | 'gridcell'): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  const accessible = nodes.filter((node) => !node.ignored && node.role?.value === role);
  // The name of the button for more actions has the file name, too.
  return accessible.flatMap(({ name }) => /^file [12]\.txt/.exec(String(name?.value))?.[0] ?? []);
}

async function followsKeyboardInList(page: Page): Promise<void> {
  await page.keyboard.press('Home');
  await assertState(page, 'album/', 'album/');
  await page.keyboard.press('Shift+ArrowDown');
  await assertState(page, 'Music/', 'album/', 'Music/');
  await page.keyboard.press('Control+End');
  await assertState(page, 'zebra.bin', 'album/', 'Music/');
  await page.keyboard.press('Control+Space');
  await assertState(page, 'zebra.bin', 'album/', 'Music/', 'zebra.bin');
  await page.keyboard.press('PageUp');
  await assertState(page, 'album/', 'album/');
  await typeAhead(page, 'file 1');
  await assertState(page, 'file 1.txt', 'file 1.txt');
  await page.keyboard.press('Control+a');
  await becomes(async () => (await selectedPaths(page)).length, 9);
  await page.keyboard.press('Escape');
  await selects(page);
  await becomes(() => accessibleNames(page, 'row'), ['file 1.txt', 'file 2.txt']);
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await isShown(page, 'Music/song.mp3');
  await waitForFocus(page, 'Music/live/');
  await page.goBack();
  await isShown(page, 'zebra.bin');
}

async function followsKeyboardInGrid(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Grid' }).first().click();
  await page.getByRole('gridcell').first().focus();
  await page.keyboard.press('ArrowRight');
  await waitForFocus(page, 'Music/');
  const columns = Number(await page.getByRole('grid').getAttribute('aria-colcount'));
  assert.ok(columns >= 3 && columns <= 6, `${columns} columns`);
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  const nameOfFocused = () => page.evaluate(() => document.activeElement?.querySelector('.entry-name')?.textContent);
  // Folders are in rows above the files.
  await becomes(nameOfFocused, (await shownNames(page))[2]);
  await becomes(() => accessibleNames(page, 'gridcell'), ['file 1.txt', 'file 2.txt']);
}

async function showsEndsOfLongNames(page: Page): Promise<void> {
  for (const stamp of STAMPS) {
    const name = page.locator('.entry-name', { hasText: `${stamp}_HDR.mov` });
    const [box, end] = [await boxOf(name), await name.evaluate(boxOfText, -8)];
    assert.ok(end.bottom <= box.y + box.height + 1 && end.right <= box.x + box.width + 1, 'the end is visible');
  }
  const short = await boxOf(page.locator('.entry-name', { hasText: 'file 1.txt' }));
  const tall = await boxOf(page.locator('.entry-name', { hasText: '153012' }));
  assert.ok(short.height < tall.height * 0.75, 'a short name needs one line');
}
