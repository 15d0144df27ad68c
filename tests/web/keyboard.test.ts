import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import {
  button,
  focusedName,
  row,
  selectedPaths,
  toolbar,
  waitForElementFocus,
  waitForFocus,
  waitForTitle,
} from './elements.ts';
import { type Chunks, controlChunks } from './intercept.ts';
import { openSite } from './open-site.ts';
import type { Site } from './site.ts';
import { assertIsolatedStyles } from './styles.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'one.txt': '1',
  'two.txt': '2',
  'three.txt': '3',
  'four.txt': '4',
  'Docs/': '',
  'Photos/2026/Summer holidays/Iceland/Westfjords/bird.txt': 'cheep',
  'States/': '',
};

const notifications = (page: Page) => page.getByRole('region', { name: 'Notifications' });

async function enterRoot(page: Page): Promise<void> {
  await page.getByRole('treeitem', { name: 'Files', exact: true }).click();
  await row(page, 'three.txt').waitFor();
}

test('All parts of the page work by keyboard: shortcuts, regions, the filter, the palette, and keys typed before a field is there', async (t) => {
  const { page, site } = await openSite(t, {
    files: FILES,
    // The palette also finds files in the log of changes.
    isOwn: true,
    visit: { permissions: ['clipboard-write', 'clipboard-read'], expectedErrors: [/404/] },
  });
  // The sidebar is a part of the page, too.
  await page.getByRole('treeitem', { name: 'Files' }).waitFor();
  await namesShortcutsInMenus(page);
  await movesBetweenRegions(page);
  await filters(page);
  await copiesTextOrEntries(page);
  await refersToActiveOption(page);

  await enterRoot(page);
  await runsActionsByPalette(page);
  await assertIsolatedStyles(page);
  await opensFoldersByPalette(page);

  const chunks = await controlChunks(page, { 'name-field': 'hold', 'dialog-prompts': 'hold', palette: 'hold' });
  await page.goto(site.url);
  await keepsTypedKeys(page, site, chunks);
  await page.unrouteAll();
  await enterRoot(page);
  await turnsShortcutsOff(page);
});

/** Keys that are typed while a field or dialog loads are for it, and never for the list. */
async function keepsTypedKeys(page: Page, site: Site, chunks: Chunks): Promise<void> {
  await row(page, 'four.txt').click();
  await page.keyboard.press('Alt+n');
  await page.keyboard.type('Letters');
  await page.keyboard.press('Enter');
  assert.deepEqual(await selectedPaths(page), ['four.txt']);
  await chunks.set('dialog-prompts', 'pass');
  await waitForFocus(page, 'Letters/');
  await until('the folder exists', () => site.exists('Letters/'));

  await row(page, 'four.txt').click();
  await page.keyboard.press('F2');
  await page.keyboard.type('quattrox');
  for (const key of ['Backspace', 'Enter', 'ArrowDown', 'Delete', 't', 'Enter']) await page.keyboard.press(key);
  assert.deepEqual([await selectedPaths(page), await page.getByRole('dialog').count()], [['four.txt'], 0]);
  await chunks.set('name-field', 'pass');
  await waitForFocus(page, 'quattro.txt');
  await until('the file has its new name', () => site.exists('quattro.txt'));

  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('Docs');
  await page.keyboard.press('Enter');
  await chunks.set('palette', 'pass');
  await waitForTitle(page, 'Docs');
}

/** Menu items have `aria-keyshortcuts` for screen readers. */
async function namesShortcutsInMenus(page: Page): Promise<void> {
  await row(page, 'one.txt').hover();
  await button(row(page, 'one.txt'), 'More actions for \u2068one.txt\u2069').click();
  await page.getByRole('menu').waitFor();
  const keysOf = (name: string) => page.getByRole('menuitem', { name, exact: true }).getAttribute('aria-keyshortcuts');
  assert.deepEqual(
    [await keysOf('Copy'), await keysOf('Copy link'), await keysOf('Rename')],
    ['Control+C', 'Alt+Shift+L', 'F2'],
  );
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
}

async function movesBetweenRegions(page: Page): Promise<void> {
  await row(page, 'one.txt').click();
  await button(toolbar(page), 'Copy link').click();
  // While it is pointed at, the message does not expire.
  await notifications(page).getByText('Link copied').hover();
  await page.getByRole('status').getByText('Link copied').waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /\/file\/one\.txt$/);

  await page.keyboard.press('F6');
  await waitForElementFocus(row(page, 'one.txt'));
  await page.keyboard.press('F6');
  await becomes(() => focusedName(page), 'Dismiss');
  await page.keyboard.press('F6');
  await becomes(() => focusedName(page), 'Files');
  await page.keyboard.press('Shift+F6');
  await page.keyboard.press('Enter');
  await waitForElementFocus(row(page, 'one.txt'));
  await notifications(page).getByText('Link copied').waitFor({ state: 'detached' });
}

async function filters(page: Page): Promise<void> {
  await page.keyboard.press('/');
  await page.keyboard.type('T');
  await row(page, 'one.txt').waitFor({ state: 'visible' });
  await page.keyboard.type('hree');
  await row(page, 'one.txt').waitFor({ state: 'detached' });
  await page.getByRole('status').getByText('1 of 7 items').waitFor();
  await page.keyboard.press('ArrowDown');
  await waitForElementFocus(row(page, 'three.txt'));
  await page.getByRole('searchbox').focus();
  await page.keyboard.press('Escape');
  await row(page, 'one.txt').waitFor();
  await becomes(() => page.getByRole('searchbox').inputValue(), '');
}

/** Ctrl+C copies selected text, otherwise the selected entries. */
async function copiesTextOrEntries(page: Page): Promise<void> {
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await row(page, 'one.txt').click();
  await page.keyboard.press('Alt+Enter');
  const path = page.getByRole('complementary').getByText('one.txt', { exact: true }).last();
  await path.selectText();
  await page.keyboard.press('ControlOrMeta+c');
  await until('the text is copied', async () => (await copied()) === 'one.txt');
  assert.equal(await row(page, 'one.txt').evaluate((element) => element.classList.contains('cut')), false);
  await path.selectText();
  await page.keyboard.press('ControlOrMeta+x');

  await row(page, 'two.txt').click();
  await page.keyboard.press('ControlOrMeta+c');
  await page.getByRole('status').getByText('1 item copied').waitFor();
  await page.evaluate(() => getSelection()?.selectAllChildren(document.querySelector('h1') ?? document.body));
  await row(page, 'one.txt').click();
  await page.keyboard.press('ControlOrMeta+x');
  await page.getByRole('status').getByText('1 item cut').waitFor();
  await page.keyboard.press('Alt+Enter');
  await page.getByRole('complementary', { name: 'Details' }).waitFor({ state: 'detached' });
  // Cancels the cut.
  await row(page, 'one.txt').click();
  await page.keyboard.press('Escape');
  await page.locator('[data-path].cut').waitFor({ state: 'detached' });
}

/** A combobox refers to its active option, for screen readers. */
async function refersToActiveOption(page: Page): Promise<void> {
  await row(page, 'Photos/').dblclick();
  await row(page, 'Photos/2026/').dblclick();
  await row(page, 'Photos/2026/Summer holidays/').click();
  await page.keyboard.press('Alt+Shift+m');
  const active = page.getByRole('combobox');
  await page.getByRole('option', { name: 'Summer holidays' }).waitFor();
  const id = await until('an option is active', async () => {
    return (await active.getAttribute('aria-activedescendant')) ?? undefined;
  });
  assert.equal(await page.locator(`[id="${id}"]`).getAttribute('role'), 'option');
  // References to IDs must not contain spaces.
  const ids = await page.locator('[id]').evaluateAll((elements) => elements.map((element) => element.id));
  assert.deepEqual(
    ids.filter((each) => /\s/.test(each)),
    [],
  );
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

const paletteOf = (page: Page) => page.getByRole('dialog', { name: 'Command palette' });
const fieldOf = (page: Page) => paletteOf(page).getByRole('combobox');
const optionsOf = (page: Page) => paletteOf(page).getByRole('option');
const activeOf = (page: Page) => paletteOf(page).locator('[aria-selected="true"] .label').textContent();

/** The selection decides which actions there are. Leaves the palette open. */
async function runsActionsByPalette(page: Page): Promise<void> {
  await row(page, 'one.txt').click();
  await page.keyboard.press('ControlOrMeta+k');
  await fieldOf(page).fill('renam');
  await becomes(() => activeOf(page), 'Rename');
  assert.deepEqual(await paletteOf(page).locator('mark').allTextContents(), ['Renam']);
  const first = await optionsOf(page).first().getAttribute('id');
  await becomes(() => fieldOf(page).getAttribute('aria-activedescendant'), first);
  await page.keyboard.press('Enter');
  await becomes(() => focusedName(page), 'New name for “\u2068one.txt\u2069”');
  await page.keyboard.press('Escape');
  await waitForFocus(page, 'one.txt');

  await page.keyboard.press('Escape');
  await toolbar(page).getByRole('button', { name: 'New folder' }).waitFor();
  await page.keyboard.press('ControlOrMeta+k');
  await fieldOf(page).fill('rename');
  await paletteOf(page).getByRole('status').getByText('No results for').waitFor();
  await fieldOf(page).fill('phot');
  await becomes(() => activeOf(page), 'Photos');
}

async function opensFoldersByPalette(page: Page): Promise<void> {
  await page.keyboard.press('Enter');
  await waitForTitle(page, 'Photos');
  await page.keyboard.press('Alt+KeyG');
  await becomes(() => fieldOf(page).inputValue(), '/Photos/');
  await optionsOf(page).filter({ hasText: '2026' }).waitFor();
  await page.keyboard.type('20');
  await becomes(() => activeOf(page), '2026');
  await page.keyboard.press('Tab');
  await becomes(() => fieldOf(page).inputValue(), '/Photos/2026/');
  await optionsOf(page).filter({ hasText: 'Summer holidays' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await becomes(() => activeOf(page), 'Summer holidays');
  await page.keyboard.press('Enter');
  await waitForTitle(page, 'Summer holidays');

  // Mistakes stay in the field.
  await page.locator('.breadcrumb').click({ position: { x: 500, y: 16 } });
  await fieldOf(page).fill('/Photos/x');
  await paletteOf(page).getByText('There is no folder “\u2068x\u2069” here.').waitFor();
  await page.keyboard.press('Enter');
  await fieldOf(page).fill('/Nowhere/');
  await paletteOf(page).getByText('This folder doesn’t exist.').waitFor();
  await page.keyboard.press('Escape');
  await paletteOf(page).waitFor({ state: 'detached' });
  await waitForTitle(page, 'Summer holidays');

  // Folders in the root are found from anywhere, also while the filter has the focus.
  await page.keyboard.press('/');
  await page.keyboard.type('summer');
  await page.keyboard.press('ControlOrMeta+k');
  await fieldOf(page).fill('docs');
  await becomes(() => activeOf(page), 'Docs');
  await page.keyboard.press('Escape');
  await paletteOf(page).waitFor({ state: 'detached' });
}

async function turnsShortcutsOff(page: Page): Promise<void> {
  await row(page, 'three.txt').click();
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  for (const [name, key] of [
    ['Rename', 'F2'],
    ['Next or previous section', 'F6'],
    ['Select or deselect', 'Ctrl\\+Space'],
  ] as const) {
    const entry = dialog.locator('dl > div', { has: page.getByText(name, { exact: true }) });
    assert.match((await entry.textContent()) ?? '', new RegExp(key));
  }
  // Browsers use Ctrl+Shift with letters for their own tools, except the usual keys of Redo.
  assert.equal(await dialog.locator('kbd', { hasText: /^Ctrl\+Shift\+(?!Z$)/ }).count(), 0);
  await dialog.getByRole('checkbox').uncheck();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.keyboard.press('F6');
  assert.equal(await dialog.count(), 0);
}
