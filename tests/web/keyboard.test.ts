import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
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
  waitForMessage,
} from './elements.ts';
import { FILES, openSite, visitSite } from './open-site.ts';

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

describe('While a field or dialog loads', () => {
  it('typed keys are for it, and never for the list', async (t) => {
    const { page, site } = await visitSite(t, { files: FILES, path: '-/session' });
    let { promise: arrival, resolve: release } = Promise.withResolvers<void>();
    await page.route(/\/(name-field|dialog-prompts|palette|open-editor)-[\w-]+\.js$/, (route) =>
      arrival.then(() => route.continue()),
    );
    /** Presses the keys of an action and types a name, before the code of the field has arrived. */
    const type = async (keys: string, name: string) => {
      ({ promise: arrival, resolve: release } = Promise.withResolvers<void>());
      await page.goto(site.url);
      await row(page, 'one.txt').click();
      await waitForFocus(page, 'one.txt');
      await page.keyboard.press(keys);
      await page.keyboard.type(name);
    };

    await type('F2', 'unox');
    for (const key of ['Backspace', 'Enter', 'ArrowDown', 'Delete', 't', 'Enter']) await page.keyboard.press(key);
    assert.deepEqual([await selectedPaths(page), await page.getByRole('dialog').count()], [['one.txt'], 0]);
    release();
    await waitForFocus(page, 'uno.txt');
    await until('the file has its new name', () => site.exists('uno.txt'));
    await page.keyboard.press('F2');
    await page.keyboard.type('one');
    await page.keyboard.press('Enter');
    await until('the file has its old name', () => site.exists('one.txt'));

    await type('Alt+n', 'three');
    await page.keyboard.press('Enter');
    assert.deepEqual(await selectedPaths(page), ['one.txt']);
    release();
    await waitForFocus(page, 'three/');
    await until('the folder exists', () => site.exists('three/'));

    if (!isFullForm) return;
    await type('F2', 'two');
    await page.keyboard.press('Enter');
    release();
    await page.getByText('This name is already taken.').waitFor();

    await type('F2', 'uno');
    await page.keyboard.press('Escape');
    release();
    await waitForFocus(page, 'one.txt');
    assert.equal(await site.exists('uno.txt'), false);

    await type('Alt+Shift+n', 'todo');
    await page.keyboard.press('Enter');
    assert.deepEqual(await selectedPaths(page), ['one.txt']);
    release();
    await page.getByRole('dialog', { name: 'todo.txt' }).waitFor();
    await until('the file exists', () => site.exists('todo.txt'));

    await type('ControlOrMeta+k', 'Docs');
    await page.keyboard.press('Enter');
    release();
    await page.getByRole('heading', { level: 1 }).getByText('Docs', { exact: true }).waitFor();
  });

  it('the keyboard works again once the load has failed', IN_FULL_FORM_ONLY, async (t) => {
    const { page, site } = await visitSite(t, {
      files: FILES,
      path: '-/session',
      visit: { expectedErrors: [/name-field|ERR_FAILED/] },
    });
    const failing = Promise.withResolvers<void>();
    await page.route(/\/name-field-[\w-]+\.js$/, (route) => failing.promise.then(() => route.abort()));
    await page.goto(site.url);
    await row(page, 'one.txt').click();
    await page.keyboard.press('F2');
    await page.keyboard.type('th');
    failing.resolve();
    await waitForMessage(page, 'Can’t reach the server.');
    await waitForFocus(page, 'one.txt');
    await row(page, 'one.txt').getByText('one.txt').first().waitFor();
    await page.keyboard.type('tw');
    await waitForFocus(page, 'two.txt');
  });
});
