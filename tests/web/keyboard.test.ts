import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { button, focusedName, row, toolbar, waitForElementFocus } from './elements.ts';
import { FILES, openSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

const CLIPBOARD = { permissions: ['clipboard-write', 'clipboard-read'] };

describe('Keyboard shortcuts', () => {
  it('copy entries or selected text, move between regions, focus the filter, and can be turned off', async (t) => {
    const { page } = await openSite(t, { files: FILES, visit: CLIPBOARD });
    // The sidebar is a part of the page, too.
    await page.getByRole('treeitem', { name: 'Files' }).waitFor();
    // Menu items have `aria-keyshortcuts` for screen readers.
    await row(page, 'one.txt').hover();
    await button(row(page, 'one.txt'), 'More actions for \u2068one.txt\u2069').click();
    await page.getByRole('menu').waitFor();
    const keysOf = (name: string) =>
      page.getByRole('menuitem', { name, exact: true }).getAttribute('aria-keyshortcuts');
    assert.deepEqual(
      [await keysOf('Copy'), await keysOf('Copy link'), await keysOf('Rename')],
      ['Control+C', 'Alt+Shift+L', 'F2'],
    );
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });

    await row(page, 'one.txt').click();
    await button(toolbar(page), 'Copy link').click();
    // While it is pointed at, the message does not expire.
    await page.getByRole('region', { name: 'Notifications' }).getByText('Link copied').hover();
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
    await page.getByRole('region', { name: 'Notifications' }).getByText('Link copied').waitFor({ state: 'detached' });

    await page.keyboard.press('/');
    await page.keyboard.type('T');
    await row(page, 'one.txt').waitFor();
    await page.keyboard.type('hree');
    await row(page, 'one.txt').waitFor({ state: 'detached' });
    await page.getByRole('status').getByText('1 of 5 items').waitFor();
    await page.keyboard.press('ArrowDown');
    await waitForElementFocus(row(page, 'three.txt'));
    await page.getByRole('searchbox').focus();
    await page.keyboard.press('Escape');
    await row(page, 'one.txt').waitFor();
    await becomes(() => page.getByRole('searchbox').inputValue(), '');

    await row(page, 'one.txt').click();
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

    // Ctrl+C copies selected text, otherwise the selected entries.
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

    // The combobox refers to its active option, for screen readers.
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
  });
});
