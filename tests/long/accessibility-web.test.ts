// Checks with axe the states that journeys in tests/web pass without a check, in both color schemes. Only this file finds a
// low contrast there. Each check takes as long as ten steps of a journey.
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { assertAccessibleInBothSchemes } from '../web/axe.ts';
import { button, contents, enterFolder, row, waitForTitle } from '../web/elements.ts';
import { EXCEL, WORD } from '../web/office-samples.ts';
import { openSite, PHONE } from '../web/open-site.ts';
import { CSV, HOSTILE_MARKDOWN, JSON_TEXT, photo } from '../web/samples.ts';

export const needs: readonly Need[] = ['browser'];

test('Previews, views and dialogs are accessible in both color schemes', async (t) => {
  const files = {
    'Texts/a.json': JSON_TEXT,
    'Texts/b.csv': CSV,
    'Texts/c.docx': WORD,
    'Texts/d.xlsx': EXCEL,
    'Texts/e.md': HOSTILE_MARKDOWN,
    'Texts/f.bin': 'x',
    'Texts/x': 'no image',
    'photos/coast.jpg': await photo(1, { width: 300, height: 200 }),
    'one.txt': '1',
    'two.txt': '2',
  };
  const { page } = await openSite(t, { files });
  const check = (state: string) => assertAccessibleInBothSchemes(page, t, { state });
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
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox').fill('o');
  await page.locator('.palette li').nth(1).waitFor();
  await check('the command palette');
  await leave(page);

  await enterFolder(page, 'Texts');
  await row(page, 'Texts/a.json').dblclick();
  await contents(page).getByText('"Holdall"').waitFor();
  await check('JSON');
  const next = () => page.getByRole('button', { name: 'Next file' }).click();
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
});

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
});

async function leave(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}
