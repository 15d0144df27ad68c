// The focus when the focused element is removed: by each state of a folder, and by each button of the viewer in another layout of the
// window, which it resizes dozens of times; and by the palette. The focus after changes of files is proven in tests/web.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import {
  button,
  focusedName,
  renameByKeyboard,
  row,
  waitForElementFocus,
  waitForFocus,
  waitForTitle,
} from '../web/elements.ts';
import { isListing, refuse } from '../web/intercept.ts';
import { openSite } from '../web/open-site.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'three.txt': '3',
  'one.txt': '1',
  'Docs/': '',
  'States/only/one.txt': '1',
  'States/file.txt': 'file',
  'States/empty/': '',
};

test('The focus stays in the folder and in the viewer when the focused element is removed', async (t) => {
  const { page } = await openSite(t, { files: FILES, folder: 'States/', visit: { expectedErrors: [/403/] } });
  await keepsFocusInFolderView(page);
  await page.getByRole('treeitem', { name: 'Files', exact: true }).click();
  await row(page, 'three.txt').waitFor();
  await keepsFocusInViewer(page);
  await opensPaletteFromOtherParts(page);
});

async function openByKeyboard(page: Page, path: string): Promise<void> {
  await row(page, path).click();
  await page.keyboard.press('Enter');
}

/** The focus stays in the folder view when its contents change to another state. */
async function keepsFocusInFolderView(page: Page): Promise<void> {
  const upload = button(page.locator('.folder-view'), 'Upload files');
  // The page retries after this error only if the user requests it.
  await page.route(isListing, (route) => refuse(route, 'denied', 'The bucket is locked.'));
  await openByKeyboard(page, 'States/only/');
  await page.getByText('The server doesn’t have access to this item.').waitFor();
  const retry = button(page, 'Retry');
  await waitForElementFocus(retry);
  const requested = page.waitForResponse((response) => isListing(new URL(response.url())));
  await page.keyboard.press('Enter');
  await requested;
  await waitForElementFocus(retry);
  await page.unroute(isListing);
  await page.keyboard.press('Enter');
  await waitForElementFocus(row(page, 'States/only/one.txt'));

  await page.keyboard.press('Control+Space');
  await page.keyboard.press('Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
  await waitForElementFocus(upload);

  await page.keyboard.press('Alt+ArrowUp');
  await openByKeyboard(page, 'States/empty/');
  await waitForElementFocus(upload);

  await page.keyboard.press('Alt+ArrowUp');
  await row(page, 'States/file.txt').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('file');
  await row(page, 'States/only/').waitFor({ state: 'detached' });
  await page.keyboard.press('ArrowDown');
  await waitForElementFocus(row(page, 'States/file.txt'));
  await page.keyboard.press('Control+Space');
  await renameByKeyboard(page, 'other');
  const clear = button(page.locator('.folder-view'), 'Clear filter');
  await waitForElementFocus(clear);
  await page.keyboard.press('Enter');
  await row(page, 'States/other.txt').waitFor();
  await waitForElementFocus(page.locator('[data-path][tabindex="0"]'));
}

/** The focus stays in the viewer when the window is resized to another layout, which removes the focused button. */
async function keepsFocusInViewer(page: Page): Promise<void> {
  await openByKeyboard(page, 'three.txt');
  const dialog = page.locator('dialog.viewer');
  await button(dialog, 'Next file').waitFor();
  const buttons = dialog.locator('button:visible');
  const isInDialog = () => dialog.evaluate((element) => element.contains(document.activeElement));
  const resize = async (width: number) => {
    await page.setViewportSize({ width, height: 800 });
    // The page renders in the first frame, and returns the focus in the second one.
    await page.evaluate(async () => {
      for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    });
  };
  let removals = 0;
  for (const [width, other] of [
    [1440, 390],
    [390, 1440],
  ] as const) {
    await resize(width);
    const before = await buttons.elementHandles();
    await resize(other);
    for (const [index, element] of before.entries()) {
      if (await element.isVisible()) continue;
      removals += 1;
      await resize(width);
      await buttons.nth(index).focus();
      await resize(other);
      await becomes(isInDialog, true);
    }
  }
  assert.ok(removals > 0, 'Both layouts have the same buttons.');
  await resize(1440);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}

const paletteOf = (page: Page) => page.getByRole('dialog', { name: 'Command palette' });
const fieldOf = (page: Page) => paletteOf(page).getByRole('combobox');
const optionsOf = (page: Page) => paletteOf(page).getByRole('option');

/** It opens from a name field, a menu and a preview. A second Ctrl K closes it. */
async function opensPaletteFromOtherParts(page: Page): Promise<void> {
  const toggle = async (state: 'visible' | 'detached') => {
    await page.keyboard.press('ControlOrMeta+k');
    await paletteOf(page).waitFor({ state });
  };
  // The file is renamed, as by a click elsewhere.
  await row(page, 'one.txt').click();
  await page.keyboard.press('F2');
  await becomes(() => focusedName(page), 'New name for “\u2068one.txt\u2069”');
  await page.keyboard.type('uno');
  await toggle('visible');
  await row(page, 'uno.txt').waitFor();
  await toggle('detached');
  await waitForFocus(page, 'uno.txt');

  await page.keyboard.press('Shift+F10');
  await page.getByRole('menu').waitFor();
  await toggle('visible');
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await toggle('detached');
  await waitForFocus(page, 'uno.txt');

  // In a preview, the actions are those for its file.
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'uno.txt' }).getByText('1', { exact: true }).waitFor();
  await toggle('visible');
  await optionsOf(page).filter({ hasText: 'Move to…' }).waitFor();
  assert.equal(await optionsOf(page).filter({ hasText: 'Select all' }).count(), 0);
  await fieldOf(page).fill('docs');
  await page.keyboard.press('Enter');
  await waitForTitle(page, 'Docs');
}
