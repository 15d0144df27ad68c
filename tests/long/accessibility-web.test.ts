// Checks with axe the states that journeys in tests/web pass without a check, in both color schemes. Only this file finds a
// low contrast there. Each check takes as long as ten steps of a journey.
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessibleInBothSchemes } from '../web/axe.ts';
import { button, choose, contents, enterFolder, row, waitForTitle } from '../web/elements.ts';
import { EXCEL, WORD } from '../web/office-samples.ts';
import { openSite, PHONE } from '../web/open-site.ts';
import { CSV, HOSTILE_MARKDOWN, JSON_TEXT, photo, SOURCE_CODE } from '../web/samples.ts';
import type { Site } from '../web/site.ts';
import { testFile, uploadFiles } from '../web/uploading.ts';
import { video } from '../web/video.ts';

export const needs: readonly Need[] = ['browser'];

test('Previews, views and dialogs are accessible in both color schemes', async (t) => {
  const files = {
    'Texts/a.json': JSON_TEXT,
    'Texts/a.ts': SOURCE_CODE,
    'Texts/b.csv': CSV,
    'Texts/c.docx': WORD,
    'Texts/d.xlsx': EXCEL,
    'Texts/e.md': HOSTILE_MARKDOWN,
    'Texts/f.bin': Buffer.from([0, 1, 2, 3]),
    'Texts/x': 'no image',
    'photos/coast.jpg': await photo(1, { width: 300, height: 200 }),
    'one.txt': '1',
    'two.txt': '2',
    'video.webm': await video({ seconds: 1 }),
  };
  const { page, site } = await openSite(t, { files, visit: { expectedErrors: [/412/, /404/] } });
  const check = (state: string) => assertAccessibleInBothSchemes(page, t, { state });
  // `assertAccessible` waits for animations, except endless ones.
  await page.evaluate(() => {
    const list = document.querySelector('.folder-view');
    list?.animate([{ opacity: 0.2 }, { opacity: 1 }], 500);
    list?.animate([{ scale: 1 }, { scale: 1 }], { duration: 500, iterations: Infinity });
  });
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await check('the shortcuts');
  await leave(page);
  await button(page, 'Columns').click();
  await page.getByRole('menuitemcheckbox', { name: 'Type' }).click();
  await page.keyboard.press('Escape');
  await row(page, 'one.txt').click();
  await row(page, 'two.txt').click({ modifiers: ['Shift'] });
  await check('chosen columns and a selection');
  await page.keyboard.press('F2');
  await page.getByRole('dialog', { name: 'Rename 2 items' }).waitFor();
  await check('the dialog for several names');
  await leave(page);
  await page.keyboard.press('Alt+n');
  await page.getByRole('dialog', { name: 'New folder' }).getByRole('textbox').waitFor();
  await check('the dialog for a new folder');
  await leave(page);
  // Ends the selection, so that the toolbar is that of the folder.
  await page.keyboard.press('Escape');
  await uploadFiles(page, [testFile('one.txt', 'mine')]);
  await page.getByRole('dialog').getByRole('button', { name: 'Keep both' }).waitFor();
  await check('the question about a name conflict');
  await leave(page);
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox').fill('o');
  await page.locator('.palette li').nth(1).waitFor();
  await check('the command palette');
  await leave(page);

  await row(page, 'one.txt').click();
  await page.keyboard.press('Space');
  await page.getByRole('dialog', { name: 'one.txt' }).getByText('1', { exact: true }).waitFor();
  await check('a quick look');
  await page.keyboard.press('Space');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await editsWithConflict(page, site);
  await check('the editor with a conflict');
  await button(page.getByRole('dialog'), 'Keep both').click();
  await page.getByRole('dialog').getByText('1 conflict').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+s');
  await page.getByRole('dialog').getByRole('status').getByText('Saved', { exact: true }).waitFor();
  await button(page.getByRole('dialog'), 'Close').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  await enterFolder(page, 'Texts');
  await row(page, 'Texts/a.json').dblclick();
  await contents(page).getByText('"Holdall"').waitFor();
  await check('JSON');
  const next = () => page.getByRole('button', { name: 'Next file' }).click();
  await next();
  await page.locator('.hljs-keyword').first().waitFor();
  await check('code');
  await next();
  await page.getByRole('columnheader', { name: 'price' }).waitFor();
  await check('a table');
  await next();
  await page.getByRole('heading', { name: 'Plan & goals' }).waitFor();
  await check('a Word document');
  await next();
  await page.getByRole('cell', { name: 'Coffee' }).waitFor();
  await check('a workbook');
  await next();
  await page.getByRole('article').locator('.hljs-name').first().waitFor();
  await check('Markdown');
  await next();
  await page.getByText('No preview available').waitFor();
  await button(page.getByRole('dialog'), 'Details').click();
  await page.getByRole('dialog').getByRole('complementary').waitFor();
  await check('a notice with details');
  await page.keyboard.press('i');
  await leave(page);

  await page.getByRole('link', { name: 'Recent' }).click();
  await waitForTitle(page, 'Recent');
  await page.getByRole('grid', { name: 'Recent files' }).getByRole('row').nth(1).waitFor();
  await check('the recent files');
  await page.goto(`${site.url}?preview=video.webm`);
  const hasLength = (element: HTMLVideoElement) => element.duration > 0;
  await until('its length is known', () => page.locator('video').evaluate(hasLength));
  await check('a video');
  await page.goto(`${site.url}missing/`);
  await page.getByText('This folder doesn’t exist.').waitFor();
  await check('a missing folder');
  await choose(page, 'Settings', 'العربية');
  await page.locator('html[lang="ar"][dir="rtl"]').waitFor();
  await check('in Arabic');
});

/** Opens the editor with a conflict, before it is saved. */
async function editsWithConflict(page: Page, site: Site): Promise<void> {
  await page.keyboard.press('Alt+Shift+e');
  await page.waitForFunction(
    () => document.activeElement?.shadowRoot?.activeElement?.getAttribute('role') === 'textbox',
  );
  await page.keyboard.type('mine ');
  await site.place({ 'one.txt': 'theirs' });
  await page.keyboard.press('Control+s');
  await page
    .getByRole('dialog', { name: /was changed/ })
    .getByRole('button', { name: 'Merge' })
    .click();
  await page.getByText('1 conflict. Choose a version before you save.').waitFor();
}

test('A phone is accessible in both color schemes', async (t) => {
  const { page } = await openSite(t, { files: { 'one.txt': '1', 'two.txt': '2', 'Docs/': '' }, visit: PHONE });
  const check = (state: string) => assertAccessibleInBothSchemes(page, t, { state });
  await row(page, 'one.txt').focus();
  await page.keyboard.press('ControlOrMeta+a');
  await check('a selection');
  await page.keyboard.press('Escape');
  await button(page, 'Sidebar').tap();
  await page.getByRole('treeitem', { name: 'Docs' }).waitFor();
  await check('the drawer');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await button(page, 'Settings').tap();
  await page.getByRole('menu').waitFor();
  await check('an open menu');
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await row(page, 'one.txt').tap();
  await page.getByRole('dialog', { name: 'one.txt' }).waitFor();
  await button(page, 'Details').tap();
  await page.getByRole('dialog', { name: 'Details' }).getByText('Plain text').waitFor();
  await check('details');
});

async function leave(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}
