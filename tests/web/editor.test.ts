import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessibleInBothSchemes } from './axe.ts';
import { becomes } from './becomes.ts';
import { openSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

/** The console reports every response with an error. */
const CHANGED = /412 \(Precondition Failed\)/;

/** Opens a file of the shown folder in the editor, which focuses the text. */
async function edit(page: Page, name: string): Promise<Locator> {
  await page.locator(`[data-path="${name}"]`).click();
  await page.keyboard.press('Alt+Shift+e');
  return editorOf(page, name);
}

async function editorOf(page: Page, name: string): Promise<Locator> {
  const editor = page.getByRole('dialog', { name }).filter({ has: page.getByRole('textbox') });
  await editor.getByRole('textbox', { name: new RegExp(name.replace('.', '\\.')) }).waitFor();
  await page.waitForFunction(
    () => document.activeElement?.shadowRoot?.activeElement?.getAttribute('role') === 'textbox',
  );
  return editor;
}

const save = async (page: Page, editor: Locator) => {
  await page.keyboard.press('Control+s');
  await editor.getByRole('status').getByText('Saved', { exact: true }).waitFor();
};

test('A text is edited, searched and saved with its line endings, and closing it keeps no change silently', async (t) => {
  const files = { 'notes.md': '# Notes\r\n\r\n- one\r\n', 'latin.txt': Buffer.from('Gr\xfc\xdfe\n', 'latin1') };
  const { page, site } = await openSite(t, { files });
  const contentOf = (name: string) => readFile(join(site.root ?? '', name), 'utf8');
  await page.locator('[data-path="notes.md"]').dblclick();
  await page.getByRole('dialog', { name: 'notes.md' }).getByRole('heading', { name: 'Notes', exact: true }).waitFor();
  await page.keyboard.press('e');
  const editor = await editorOf(page, 'notes.md');
  await page.keyboard.press('Control+End');
  await page.keyboard.type('- two');
  await editor.getByText('Unsaved changes').waitFor();
  await assertAccessibleInBothSchemes(page, t, { state: 'The editor' });
  await page.keyboard.press('Control+f');
  await editor.getByRole('textbox', { name: 'Find' }).fill('one');
  await editor.getByRole('textbox', { name: 'Replace with' }).fill('1');
  await editor.getByRole('button', { name: 'Replace all' }).click();
  await page.keyboard.press('Escape');
  await save(page, editor);
  assert.equal(await contentOf('notes.md'), '# Notes\r\n\r\n- 1\r\n- two');

  await page.keyboard.press('Control+Home');
  await page.keyboard.type('lost');
  await page.goBack();
  const question = page.getByRole('dialog', { name: /Save the changes/ });
  await question.getByRole('button', { name: 'Cancel' }).click();
  await question.waitFor({ state: 'detached' });
  await editor.getByRole('button', { name: 'Close' }).click();
  await question.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('dialog', { name: 'notes.md' }).getByText('two').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(await contentOf('notes.md'), '# Notes\r\n\r\n- 1\r\n- two');

  const foreign = await edit(page, 'latin.txt');
  await foreign.getByText('This file is not in UTF-8').waitFor();
  await page.keyboard.type('x');
  await foreign.getByText('Grüße', { exact: true }).waitFor();
  await foreign.getByRole('button', { name: 'Convert to UTF-8' }).click();
  await page.keyboard.type('x');
  await save(page, foreign);
  assert.equal(await contentOf('latin.txt'), 'xGrüße\n');
});

test('A change of another client is merged, and conflicts are decided before the text is saved', async (t) => {
  const { page, site } = await openSite(t, {
    files: { 'a.txt': 'one\ntwo\nthree\n' },
    visit: { expectedErrors: [CHANGED] },
  });
  const path = join(site.root ?? '', 'a.txt');
  const editor = await edit(page, 'a.txt');
  await page.keyboard.press('Control+End');
  await page.keyboard.type('mine\n');
  const response = await fetch(`${site.url}file/a.txt`, { method: 'PUT', body: 'ONE\ntwo\nthree\n' });
  assert.equal(response.status, 200);
  await editor.getByText('This file was changed.').waitFor();
  await page.keyboard.press('Control+s');
  const question = page.getByRole('dialog', { name: /was changed while you edited it/ });
  await question.getByRole('button', { name: 'Merge' }).click();
  await editor.getByText('Both versions were merged').waitFor();
  assert.equal(await readFile(path, 'utf8'), 'ONE\ntwo\nthree\n');
  await save(page, editor);
  assert.equal(await readFile(path, 'utf8'), 'ONE\ntwo\nthree\nmine\n');

  await page.keyboard.press('Control+Home');
  await page.keyboard.type('1 ');
  await writeFile(path, 'theirs\ntwo\nthree\nmine\n');
  await page.keyboard.press('Control+s');
  await question.getByRole('button', { name: 'Merge' }).click();
  await editor.getByText('1 conflict. Choose a version before you save.').waitFor();
  // The first button of the conflict has the focus. Saving is not possible yet.
  await page.keyboard.press('Control+s');
  await assertAccessibleInBothSchemes(page, t, { state: 'The editor with a conflict' });
  await editor.getByRole('button', { name: 'Keep the other' }).click();
  await editor.getByText('1 conflict').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+z');
  await editor.getByRole('button', { name: 'Keep both' }).click();
  await save(page, editor);
  assert.equal(await readFile(path, 'utf8'), '1 ONE\ntheirs\ntwo\nthree\nmine\n');
});

test('A new text file opens in the editor, and unsaved text survives a reload', async (t) => {
  const { page, site } = await openSite(t, { files: { 'x.txt': '' } });
  await page.keyboard.press('Alt+Shift+n');
  const dialog = page.getByRole('dialog', { name: 'New text file' });
  await dialog.getByRole('textbox').waitFor();
  await page.keyboard.type('Plan');
  await page.keyboard.press('Enter');
  const editor = await editorOf(page, 'Plan.txt');
  await page.keyboard.type('Draft');
  await editor.getByText('Unsaved changes').waitFor();
  page.once('dialog', (question) => void question.accept());
  await page.reload();
  const again = await edit(page, 'Plan.txt');
  await again.getByText('Your unsaved changes were restored.').waitFor();
  await save(page, again);
  assert.equal(await readFile(join(site.root ?? '', 'Plan.txt'), 'utf8'), 'Draft');
  await again.getByRole('button', { name: 'Close' }).click();
  await becomes(() => page.getByRole('dialog').count(), 0);
});

test(
  'The editor follows a file that is renamed, and saves a deleted one only again if the user wants that',
  IN_FULL_FORM_ONLY,
  async (t) => {
    const { page, site } = await openSite(t, { files: { 'old.txt': '' }, visit: { expectedErrors: [CHANGED, /404/] } });
    await edit(page, 'old.txt');
    await page.keyboard.type('text');
    await rm(join(site.root ?? '', 'old.txt'));
    await page.keyboard.press('Control+s');
    const question = page.getByRole('dialog', { name: /was deleted or moved/ });
    await question.getByRole('button', { name: 'Save again' }).click();
    const editor = await editorOf(page, 'old.txt');
    await editor.getByRole('status').getByText('Saved', { exact: true }).waitFor();
    assert.equal(await readFile(join(site.root ?? '', 'old.txt'), 'utf8'), 'text');

    const body = JSON.stringify({ newName: 'new.txt' });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${site.url}rename/old.txt`, { method: 'POST', headers, body });
    assert.equal(response.status, 200, await response.text());
    const renamed = page.getByRole('dialog', { name: 'new.txt' });
    await renamed.getByText('This file is now').waitFor();
    await page.keyboard.type('!');
    await save(page, renamed);
    assert.equal(await readFile(join(site.root ?? '', 'new.txt'), 'utf8'), 'text!');
  },
);

test('The editor follows a file whose folder is renamed', IN_FULL_FORM_ONLY, async (t) => {
  const { page, site } = await openSite(t, { files: { 'Drafts/plan.txt': '' } });
  await page.locator('[data-path="Drafts/"]').dblclick();
  await page.locator('[data-path="Drafts/plan.txt"]').click();
  await page.keyboard.press('Alt+Shift+e');
  const editor = await editorOf(page, 'plan.txt');
  await page.keyboard.type('text');
  const response = await fetch(`${site.url}rename_folder/Drafts/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ newName: 'Final' }),
  });
  assert.equal(response.status, 200, await response.text());
  await editor.getByText('This file is now').waitFor();
  await save(page, editor);
  await becomes(() => site.paths(), ['Final/plan.txt']);
  assert.equal(await readFile(join(site.root ?? '', 'Final/plan.txt'), 'utf8'), 'text');
});
