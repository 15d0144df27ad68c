import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { button, isTitled, messages, row, toolbar } from './elements.ts';
import { ALL, accessOf, BOB, listed, signIn, visit } from './signing-in.ts';
import { dragPaths, pasteFile, picked, tray, trayTells, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'inbox/secret.txt': 'secret',
  'inbox/kept/': '',
  'handbook/a.txt': 'a',
  'handbook/sub/': '',
  'team/plan.txt': 'plan',
  'deep/hidden.txt': 'hidden',
  'deep/below/x.txt': 'x',
};

const EVERYONE = accessOf(
  { folder: '/inbox/', to: 'everyone', rights: ['write'] },
  { folder: '/handbook/', to: 'everyone', rights: ['read'] },
  { folder: '/team/', to: 'everyone', rights: ['read', 'write'] },
  { folder: '/deep/below/', to: 'everyone', rights: ALL },
);

const open = (t: TestContext, place: string, expectedErrors: readonly RegExp[] = []) =>
  visit(t, place, { access: EVERYONE, files: FILES, expectedErrors });

/** The names of what is listed. */
const names = (page: Page) =>
  page.locator('[data-path]').evaluateAll((rows) => rows.map((each) => each.getAttribute('data-path')));

/** Has the document bear a mark once an entry is shown, however short. */
const watchEntries = (page: Page) =>
  page.evaluate(() => {
    const look = () => {
      if (document.querySelector('[data-path]')) document.documentElement.dataset['testEntry'] = '';
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
  });

/** The words on the buttons above the list, but for the menu with the rest. */
const tools = async (page: Page) =>
  (await toolbar(page).locator('button:not(.hidden, .more, .hidden *)').allTextContents()).filter(
    (words) => words !== '',
  );

describe('What one may do', () => {
  it('is nothing but to go on, in a folder above', async (t) => {
    const { page } = await open(t, '');
    await row(page, 'deep/').click();
    await becomes(() => names(page), ['deep/', 'handbook/', 'inbox/', 'team/']);
    await becomes(() => tools(page), ['Download', 'Copy link']);
    for (const keys of ['F2', 'Delete', 'Alt+n', 'ControlOrMeta+x', 'ControlOrMeta+Shift+m'])
      await page.keyboard.press(keys);
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.locator('.cut, .name-field').count(), 0);
    await page.keyboard.press('Enter');
    await isTitled(page, 'deep');
    await row(page, 'deep/below/').waitFor();
    await becomes(() => names(page), ['deep/below/']);
    await becomes(() => tools(page), []);
    await row(page, 'deep/below/').dblclick();
    await row(page, 'deep/below/x.txt').click();
    await becomes(() => tools(page), ['Download', 'Rename', 'Move to…', 'Copy to…', 'Copy link', 'Delete']);
  });

  it('is to upload without seeing anything', async (t) => {
    const { page, site } = await open(t, 'inbox/', [/status of 412/]);
    await page.getByText('You can upload here, but not see what is here.').waitFor();
    await page.getByText('Upload only').waitFor();
    await becomes(() => tools(page), ['Upload']);
    await assertAccessible(page, t, { state: 'A folder that takes uploads alone' });
    await watchEntries(page);
    await uploadFiles(page, [picked('new.txt', 'new')]);
    await trayTells(page, '1 file uploaded');
    assert.equal(String(await site.read('inbox/new.txt')), 'new');

    await uploadFiles(page, [picked('secret.txt', 'other')]);
    const question = page.getByRole('dialog', { name: 'secret.txt' });
    await question.getByText('not replace what is in it').waitFor();
    assert.equal(await question.getByRole('button', { name: 'Replace' }).count(), 0);
    await question.getByRole('button', { name: 'Keep both' }).click();
    await trayTells(page, /file.? uploaded/);
    assert.equal(String(await site.read('inbox/secret (2).txt')), 'other');
    assert.equal(String(await site.read('inbox/secret.txt')), 'secret');
    assert.equal(await page.locator('html[data-test-entry]').count(), 0, 'Nothing was shown, not for a moment.');
  });

  it('is not to see a file of a folder that takes uploads alone', async (t) => {
    const { page } = await open(t, 'inbox/?preview=secret.txt');
    const preview = page.getByRole('dialog', { name: 'secret.txt' });
    await preview.getByText('You can upload here, but not see what is here.').waitFor();
    await preview.getByRole('button', { name: 'Back to the folder' }).click();
    await preview.waitFor({ state: 'detached' });
  });

  it('is to read, and nothing that changes anything', async (t) => {
    const { page, site } = await open(t, 'handbook/');
    await page.getByText('Read only').waitFor();
    await becomes(() => tools(page), []);
    await pasteFile(page, picked('pasted.txt', 'pasted'));
    await messages(page).getByText('You don’t have permission to add anything to this folder.').waitFor();
    await dragPaths(page, page.locator('.scroller'), [`${site.root}/team/plan.txt`], ['dragEnter', 'dragOver']);
    await page.locator('.drop-hint').getByText('You don’t have permission to add anything to this folder.').waitFor();
    await dragPaths(page, page.locator('.scroller'), [`${site.root}/team/plan.txt`], ['drop']);
    await page.locator('.drop-hint').waitFor({ state: 'detached' });
    await row(page, 'handbook/a.txt').click();
    await becomes(() => tools(page), ['Download', 'Copy link']);
    await page.keyboard.press('F2');
    await page.keyboard.press('Delete');
    assert.equal(await page.locator('.name-field, dialog[open]').count(), 0);
    assert.deepEqual(await listed(site, 'handbook/'), ['a.txt', 'sub']);
  });

  it('is to add, and not to replace or take away', async (t) => {
    const { page, site } = await open(t, 'team/');
    await uploadFiles(page, [picked('plan.txt', 'mine')]);
    const question = page.getByRole('dialog', { name: 'plan.txt' });
    await question.getByText('not replace what is in it').waitFor();
    assert.equal(await question.getByRole('button', { name: 'Replace' }).count(), 0);
    await question.getByRole('button', { name: 'Skip' }).click();
    await trayTells(page, '1 skipped');
    assert.equal(String(await site.read('team/plan.txt')), 'plan');

    await row(page, 'team/plan.txt').click();
    await becomes(() => tools(page), ['Download', 'Copy to…', 'Copy link']);
    await page.keyboard.press('ControlOrMeta+Shift+d');
    const picker = page.getByRole('dialog', { name: /Copy .*plan\.txt/ });
    await picker.waitFor();
    await page.keyboard.press('Backspace');
    await picker.getByText('You don’t have permission to add anything to this folder.').waitFor();
    for (const name of ['Copy 1 item here', 'New folder']) {
      await becomes(() => picker.getByRole('button', { name }).isDisabled(), true);
    }
    await assertAccessible(page, t, { state: 'Picking a folder that takes nothing' });
    await picker.getByRole('option', { name: 'inbox' }).click();
    await picker.getByRole('button', { name: 'Copy 1 item here' }).click();
    await messages(page).getByText('copied to').waitFor();
    assert.equal(String(await site.read('inbox/plan.txt')), 'plan');
  });

  it('is not offered to be undone where the way back is closed', async (t) => {
    const { page, site } = await open(t, 'deep/below/');
    await row(page, 'deep/below/x.txt').click();
    await page.keyboard.press('ControlOrMeta+Shift+m');
    const picker = page.getByRole('dialog', { name: /Move .*x\.txt/ });
    await picker.waitFor();
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    // What one may do there is known once it has been listed.
    const answered = page.waitForResponse((response) => response.url().includes('prefix=team'));
    await picker.getByRole('option', { name: 'team' }).click();
    await (await answered).finished();
    await picker.getByText('There are no folders in here.').waitFor();
    await picker.getByRole('button', { name: 'Move 1 item here' }).click();
    const told = messages(page).getByRole('listitem').filter({ hasText: 'moved to' });
    await told.waitFor();
    assert.equal(await told.getByRole('button', { name: 'Undo' }).count(), 0);
    assert.equal(String(await site.read('team/x.txt')), 'x');
  });
});

describe('What the service refuses', () => {
  it('is told in its words, and put back', async (t) => {
    const bobs = (...rights: readonly ('read' | 'write' | 'manage')[]) =>
      accessOf({ folder: '/deep/below/', to: { person: BOB.name }, rights });
    const expectedErrors = [/status of 401/, /status of 403/];
    const { page, site } = await visit(t, 'deep/below/', { access: bobs(...ALL), files: FILES, expectedErrors });
    await signIn(page, BOB);
    await row(page, 'deep/below/x.txt').click();
    await site.grant(bobs('read'));
    await page.keyboard.press('F2');
    await page.keyboard.type('y');
    await page.keyboard.press('Enter');
    await messages(page).getByText('could not be renamed').waitFor();
    await messages(page)
      .getByText(/signed in as .*bob@example.org.*, who may not change/)
      .waitFor();
    await row(page, 'deep/below/x.txt').waitFor();
    await until('what one may do now is known', async () => (await button(page, 'Rename').count()) === 0);
    await becomes(() => tools(page), ['Download', 'Copy to…', 'Copy link']);
    await site.grant(bobs());
    await button(page, 'Download').click();
    await messages(page).getByText('Nothing was downloaded').waitFor();
  });

  it('is not offered any more', async (t) => {
    const bobs = (...rights: readonly ('read' | 'write')[]) =>
      accessOf({ folder: '/team/', to: { person: BOB.name }, rights });
    const expectedErrors = [/status of 401/, /status of 403/];
    const { page, site } = await visit(t, 'team/', { access: bobs('read', 'write'), files: FILES, expectedErrors });
    await signIn(page, BOB);
    await becomes(() => tools(page), ['New folder', 'Upload']);
    await site.grant(bobs());
    await uploadFiles(page, [picked('new.txt', 'new')]);
    await trayTells(page, '1 failed');
    await until('nothing is offered', async () => (await tools(page)).length === 0);
    await becomes(() => page.getByRole('button', { name: /^Retry/ }).count(), 0);

    await site.grant(bobs('read', 'write'));
    await page.keyboard.press('Alt+r');
    await tray(page).getByRole('button', { name: 'Retry', exact: true }).click();
    await trayTells(page, '1 file uploaded');
  });
});
