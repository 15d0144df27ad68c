import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { focusedName, row, toolbar, waitForFocus, waitForTitle } from './elements.ts';
import { FILES, openSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

describe('The command palette', () => {
  it('runs actions, opens folders and files, and completes paths', async (t) => {
    // The palette also finds files in the log of changes.
    const { page } = await openSite(t, { files: FILES, isOwn: true, visit: { expectedErrors: [/404/] } });
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    const field = palette.getByRole('combobox');
    const options = palette.getByRole('option');
    const active = () => palette.locator('[aria-selected="true"] .label').textContent();

    await row(page, 'one.txt').click();
    await page.keyboard.press('ControlOrMeta+k');
    await field.fill('renam');
    await becomes(active, 'Rename');
    assert.deepEqual(await palette.locator('mark').allTextContents(), ['Renam']);
    await becomes(() => field.getAttribute('aria-activedescendant'), await options.first().getAttribute('id'));
    await assertAccessible(page, t, { state: 'the command palette' });
    await page.keyboard.press('Enter');
    await becomes(() => focusedName(page), 'New name for “\u2068one.txt\u2069”');
    await page.keyboard.press('Escape');
    await waitForFocus(page, 'one.txt');

    // The selection decides which actions there are.
    await page.keyboard.press('Escape');
    await toolbar(page).getByRole('button', { name: 'New folder' }).waitFor();
    await page.keyboard.press('ControlOrMeta+k');
    await field.fill('rename');
    await palette.getByRole('status').getByText('No results for').waitFor();
    await field.fill('phot');
    await becomes(active, 'Photos');
    await page.keyboard.press('Enter');
    await waitForTitle(page, 'Photos');

    await page.keyboard.press('Alt+KeyG');
    await becomes(() => field.inputValue(), '/Photos/');
    await options.filter({ hasText: '2026' }).waitFor();
    await page.keyboard.type('20');
    await becomes(active, '2026');
    await page.keyboard.press('Tab');
    await becomes(() => field.inputValue(), '/Photos/2026/');
    await options.filter({ hasText: 'Summer holidays' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await becomes(active, 'Summer holidays');
    await page.keyboard.press('Enter');
    await waitForTitle(page, 'Summer holidays');

    // Mistakes stay in the field.
    await page.locator('.breadcrumb').click({ position: { x: 500, y: 16 } });
    await field.fill('/Photos/x');
    await palette.getByText('There is no folder “\u2068x\u2069” here.').waitFor();
    await page.keyboard.press('Enter');
    await field.fill('/Nowhere/');
    await palette.getByText('This folder doesn’t exist.').waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    await waitForTitle(page, 'Summer holidays');

    // Folders in the root are found from anywhere, also while the filter has the focus.
    await page.keyboard.press('/');
    await page.keyboard.type('summer');
    await page.keyboard.press('ControlOrMeta+k');
    await field.fill('docs');
    await becomes(active, 'Docs');
  });

  it('opens from a name field, a menu and a preview, and a second Ctrl K closes it', async (t) => {
    const { page } = await openSite(t, { files: FILES });
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    const field = palette.getByRole('combobox');
    const options = palette.getByRole('option');
    const toggle = async (state: 'visible' | 'detached') => {
      await page.keyboard.press('ControlOrMeta+k');
      await palette.waitFor({ state });
    };

    // The name is renamed, as by a click elsewhere.
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
    await options.filter({ hasText: 'Move to…' }).waitFor();
    assert.equal(await options.filter({ hasText: 'Select all' }).count(), 0);
    await field.fill('docs');
    await page.keyboard.press('Enter');
    await waitForTitle(page, 'Docs');
  });
});
