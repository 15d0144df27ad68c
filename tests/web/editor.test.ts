import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { enterFolder, row } from './elements.ts';
import { openSite } from './open-site.ts';
import type { Site } from './site.ts';
import { assertIsolatedStyles } from './styles.ts';

export const needs: readonly Need[] = ['browser'];

/** The console reports every response with an error. */
const CHANGED = /412 \(Precondition Failed\)/;

/** Opens a file of the shown folder by its path in the editor, which focuses the text. */
async function edit(page: Page, name: string): Promise<Locator> {
  await row(page, name).click();
  await page.keyboard.press('Alt+Shift+e');
  return editorOf(page, name.split('/').at(-1) ?? '');
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

const close = async (page: Page, editor: Locator) => {
  await editor.getByRole('button', { name: 'Close' }).click();
  await becomes(() => page.getByRole('dialog').count(), 0);
};

const contentOf = (site: Site, path: string) => readFile(join(site.root ?? '', path), 'utf8');

test('A text is edited, merged with changes of other clients, and saved only as the user wants, wherever its file is now', async (t) => {
  const { page, site } = await openSite(t, {
    files: {
      'notes.md': '# Notes\r\n\r\n- one\r\n',
      'latin.txt': Buffer.from('Gr\xfc\xdfe\n', 'latin1'),
      'a.txt': 'one\ntwo\nthree\n',
      'old.txt': '',
      'Drafts/plan.txt': '',
    },
    visit: { expectedErrors: [CHANGED, /404/] },
  });
  const editor = await editsText(page);
  await assertAccessible(page, t, { state: 'The editor' });
  await assertIsolatedStyles(page);
  await replacesAndSaves(page, site, editor);
  await asksBeforeClosing(page, site, editor);
  await convertsEncoding(page, site);

  const merged = await mergesChanges(page, site);
  await createsConflict(page, site, merged);
  await resolvesConflict(page, site, merged);

  await savesDeletedFile(page, site);
  await followsRenamedFile(page, site);
  await enterFolder(page, 'Drafts');
  await followsRenamedFolder(page, site);
  await keepsUnsavedText(page, site);
});

/** Opens the editor from a preview, and types at the end of the text. */
async function editsText(page: Page): Promise<Locator> {
  await row(page, 'notes.md').dblclick();
  await page.getByRole('dialog', { name: 'notes.md' }).getByRole('heading', { name: 'Notes', exact: true }).waitFor();
  await page.keyboard.press('e');
  const editor = await editorOf(page, 'notes.md');
  await page.keyboard.press('Control+End');
  await page.keyboard.type('- two');
  await editor.getByText('Unsaved changes').waitFor();
  return editor;
}

async function replacesAndSaves(page: Page, site: Site, editor: Locator): Promise<void> {
  await page.keyboard.press('Control+f');
  await editor.getByRole('textbox', { name: 'Find' }).fill('one');
  await editor.getByRole('textbox', { name: 'Replace with' }).fill('1');
  await editor.getByRole('button', { name: 'Replace all' }).click();
  await page.keyboard.press('Escape');
  await save(page, editor);
  assert.equal(await contentOf(site, 'notes.md'), '# Notes\r\n\r\n- 1\r\n- two');
}

async function asksBeforeClosing(page: Page, site: Site, editor: Locator): Promise<void> {
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
  assert.equal(await contentOf(site, 'notes.md'), '# Notes\r\n\r\n- 1\r\n- two');
}

async function convertsEncoding(page: Page, site: Site): Promise<void> {
  const editor = await edit(page, 'latin.txt');
  await editor.getByText('This file is not in UTF-8').waitFor();
  await page.keyboard.type('x');
  await editor.getByText('Grüße', { exact: true }).waitFor();
  await editor.getByRole('button', { name: 'Convert to UTF-8' }).click();
  await page.keyboard.type('x');
  await save(page, editor);
  assert.equal(await contentOf(site, 'latin.txt'), 'xGrüße\n');
  await close(page, editor);
}

const conflictQuestion = (page: Page) => page.getByRole('dialog', { name: /was changed while you edited it/ });

/** Leaves the editor open. */
async function mergesChanges(page: Page, site: Site): Promise<Locator> {
  const editor = await edit(page, 'a.txt');
  await page.keyboard.press('Control+End');
  await page.keyboard.type('mine\n');
  const response = await fetch(`${site.url}file/a.txt`, { method: 'PUT', body: 'ONE\ntwo\nthree\n' });
  assert.equal(response.status, 200);
  await editor.getByText('This file was changed.').waitFor();
  await page.keyboard.press('Control+s');
  await conflictQuestion(page).getByRole('button', { name: 'Merge' }).click();
  await editor.getByText('Both versions were merged').waitFor();
  assert.equal(await contentOf(site, 'a.txt'), 'ONE\ntwo\nthree\n');
  await save(page, editor);
  assert.equal(await contentOf(site, 'a.txt'), 'ONE\ntwo\nthree\nmine\n');
  return editor;
}

async function createsConflict(page: Page, site: Site, editor: Locator): Promise<void> {
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('1 ');
  await writeFile(join(site.root ?? '', 'a.txt'), 'theirs\ntwo\nthree\nmine\n');
  await page.keyboard.press('Control+s');
  await conflictQuestion(page).getByRole('button', { name: 'Merge' }).click();
  await editor.getByText('1 conflict. Choose a version before you save.').waitFor();
  // The first button of the conflict has the focus. Saving is not possible yet.
  await page.keyboard.press('Control+s');
}

async function resolvesConflict(page: Page, site: Site, editor: Locator): Promise<void> {
  await editor.getByRole('button', { name: 'Keep the other' }).click();
  await editor.getByText('1 conflict').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+z');
  await editor.getByRole('button', { name: 'Keep both' }).click();
  await save(page, editor);
  assert.equal(await contentOf(site, 'a.txt'), '1 ONE\ntheirs\ntwo\nthree\nmine\n');
  await close(page, editor);
}

/** A deleted file is saved again only if the user wants that. Leaves the editor open. */
async function savesDeletedFile(page: Page, site: Site): Promise<void> {
  await edit(page, 'old.txt');
  await page.keyboard.type('text');
  await rm(join(site.root ?? '', 'old.txt'));
  await page.keyboard.press('Control+s');
  const question = page.getByRole('dialog', { name: /was deleted or moved/ });
  await question.getByRole('button', { name: 'Save again' }).click();
  const editor = await editorOf(page, 'old.txt');
  await editor.getByRole('status').getByText('Saved', { exact: true }).waitFor();
  assert.equal(await contentOf(site, 'old.txt'), 'text');
}

async function renameByOtherClient(site: Site, path: string, newName: string): Promise<void> {
  const body = JSON.stringify({ newName });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${site.url}${path}`, { method: 'POST', headers, body });
  assert.equal(response.status, 200, await response.text());
}

async function followsRenamedFile(page: Page, site: Site): Promise<void> {
  await renameByOtherClient(site, 'rename/old.txt', 'new.txt');
  const renamed = page.getByRole('dialog', { name: 'new.txt' });
  await renamed.getByText('This file is now').waitFor();
  await page.keyboard.type('!');
  await save(page, renamed);
  assert.equal(await contentOf(site, 'new.txt'), 'text!');
  await close(page, renamed);
}

async function followsRenamedFolder(page: Page, site: Site): Promise<void> {
  const editor = await edit(page, 'Drafts/plan.txt');
  await page.keyboard.type('text');
  await renameByOtherClient(site, 'rename_folder/Drafts/', 'Final');
  await editor.getByText('This file is now').waitFor();
  await save(page, editor);
  assert.equal(await contentOf(site, 'Final/plan.txt'), 'text');
  assert.equal(await site.exists('Drafts/plan.txt'), false);
  await close(page, editor);
}

/** A new text file opens in the editor. Its unsaved text survives a reload. */
async function keepsUnsavedText(page: Page, site: Site): Promise<void> {
  await page.keyboard.press('Alt+Shift+n');
  const dialog = page.getByRole('dialog', { name: 'New text file' });
  await dialog.getByRole('textbox').waitFor();
  await page.keyboard.type('Draft');
  await page.keyboard.press('Enter');
  const editor = await editorOf(page, 'Draft.txt');
  await page.keyboard.type('Draft');
  await editor.getByText('Unsaved changes').waitFor();
  page.once('dialog', (question) => void question.accept());
  await page.reload();
  const again = await edit(page, 'Final/Draft.txt');
  await again.getByText('Your unsaved changes were restored.').waitFor();
  await save(page, again);
  assert.equal(await contentOf(site, 'Final/Draft.txt'), 'Draft');
  await close(page, again);
}
