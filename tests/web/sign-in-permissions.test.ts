import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { button, messages, renameByKeyboard, row, toolbar, waitForElementFocus, waitForTitle } from './elements.ts';
import { DESKTOP, PARTS_AND_TRASH } from './open-site.ts';
import {
  ALL,
  ANN,
  accessOf,
  accountButton,
  BOB,
  fillSignInForm,
  signIn,
  signInDialog,
  signInHeading,
  storedNames,
  visit,
} from './signing-in.ts';
import { startSite } from './site.ts';
import { dragPaths, dragUntil, pasteFile, testFile, tray, trayShows, uploadFiles } from './uploading.ts';

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

const ANONYMOUS_ACCESS = accessOf(
  { folder: '/inbox/', to: 'everyone', rights: ['write'] },
  { folder: '/handbook/', to: 'everyone', rights: ['read'] },
  { folder: '/team/', to: 'everyone', rights: ['read', 'write'] },
  { folder: '/deep/below/', to: 'everyone', rights: ALL },
);

/** Returns the paths of the shown entries. */
const shownPaths = (page: Page) =>
  page.locator('[data-path]').evaluateAll((rows) => rows.map((each) => each.getAttribute('data-path')));

/** Marks the document as soon as an entry is shown, even briefly. */
const watchEntries = (page: Page) =>
  page.evaluate(() => {
    const look = () => {
      if (document.querySelector('[data-path]')) document.documentElement.dataset['testEntry'] = '';
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
  });

/** Returns the labels of the toolbar's buttons, except the overflow menu. */
const toolLabels = async (page: Page) =>
  (await toolbar(page).locator('button:not(.hidden, .more, .hidden *)').allTextContents()).filter(
    (label) => label !== '',
  );

describe('An anonymous user', () => {
  it('sees only the actions that the grants of each folder allow, and can sign in for more', async (t) => {
    const { page, site } = await visit(t, 'inbox/?preview=secret.txt', {
      access: ANONYMOUS_ACCESS,
      files: FILES,
      expectedErrors: [/status of 412/],
    });
    const goTo = async (...folders: readonly string[]) => {
      await page.getByRole('navigation').getByRole('link', { name: 'Files' }).click();
      for (const folder of folders) await row(page, folder).dblclick();
    };
    const preview = page.getByRole('dialog', { name: 'secret.txt' });
    await preview.getByText('You can upload files here, but you can’t see what’s in this folder.').waitFor();
    await preview.getByRole('button', { name: 'Back to folder' }).click();
    await preview.waitFor({ state: 'detached' });

    // Permission to write.
    await page.getByText('You can upload files here, but you can’t see what’s in this folder.').waitFor();
    await page.getByText('Upload only').waitFor();
    await becomes(() => toolLabels(page), ['Upload']);
    await watchEntries(page);
    await uploadFiles(page, [testFile('new.txt', 'new')]);
    await trayShows(page, '1 file uploaded');
    assert.equal(String(await site.read('inbox/new.txt')), 'new');
    await uploadFiles(page, [testFile('secret.txt', 'other')]);
    const question = page.getByRole('dialog', { name: 'secret.txt' });
    await question.getByText('you can’t replace existing ones').waitFor();
    assert.equal(await question.getByRole('button', { name: 'Replace' }).count(), 0);
    await question.getByRole('button', { name: 'Keep both' }).click();
    await until('the copy is stored', () => site.exists('inbox/secret (2).txt'));
    await trayShows(page, /file.? uploaded/);
    assert.equal(String(await site.read('inbox/secret (2).txt')), 'other');
    assert.equal(String(await site.read('inbox/secret.txt')), 'secret');
    assert.equal(await page.locator('html[data-test-entry]').count(), 0, 'An entry was shown for a moment.');

    // No permission, except in folders below.
    await goTo();
    await row(page, 'deep/').click();
    await becomes(() => shownPaths(page), ['deep/', 'handbook/', 'inbox/', 'team/']);
    await becomes(() => toolLabels(page), ['Download', 'Copy link']);
    for (const keys of ['F2', 'Delete', 'Alt+n', 'ControlOrMeta+x', 'Alt+Shift+m']) await page.keyboard.press(keys);
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.locator('.cut, .name-field').count(), 0);
    await page.keyboard.press('Enter');
    await waitForTitle(page, 'deep');
    await row(page, 'deep/below/').waitFor();
    await becomes(() => shownPaths(page), ['deep/below/']);
    await becomes(() => toolLabels(page), []);

    // All permissions. Without the permission to manage the destination, a move can't be undone.
    await row(page, 'deep/below/').dblclick();
    await row(page, 'deep/below/x.txt').click();
    await becomes(() => toolLabels(page), ['Download', 'Rename', 'Move to…', 'Copy to…', 'Copy link', 'Move to trash']);
    await page.keyboard.press('Alt+Shift+m');
    const moving = page.getByRole('dialog', { name: /Move .*x\.txt/ });
    await moving.waitFor();
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    // The listing of the folder contains its permissions.
    const responded = page.waitForResponse((response) => response.url().includes('prefix=team'));
    await moving.getByRole('option', { name: 'team' }).click();
    await (await responded).finished();
    await moving.getByText('No folders here').waitFor();
    await moving.getByRole('button', { name: 'Move here' }).click();
    const message = messages(page).getByRole('listitem').filter({ hasText: 'moved to' });
    await message.waitFor();
    assert.equal(await message.getByRole('button', { name: 'Undo' }).count(), 0);
    assert.equal(String(await site.read('team/x.txt')), 'x');

    // Permissions to read and write.
    await goTo('team/');
    await row(page, 'team/plan.txt').waitFor();
    await uploadFiles(page, [testFile('plan.txt', 'mine')]);
    const conflict = page.getByRole('dialog', { name: 'plan.txt' });
    await conflict.getByText('you can’t replace existing ones').waitFor();
    assert.equal(await conflict.getByRole('button', { name: 'Replace' }).count(), 0);
    await conflict.getByRole('button', { name: 'Skip' }).click();
    await trayShows(page, /1 skipped/);
    assert.equal(String(await site.read('team/plan.txt')), 'plan');
    await row(page, 'team/plan.txt').click();
    await becomes(() => toolLabels(page), ['Download', 'Copy to…', 'Copy link']);
    await page.keyboard.press('Alt+Shift+c');
    const copying = page.getByRole('dialog', { name: /Copy .*plan\.txt/ });
    await copying.waitFor();
    await page.keyboard.press('Backspace');
    await copying.getByText('You don’t have permission to add files to this folder.').waitFor();
    for (const name of ['Copy here', 'New folder']) {
      await becomes(() => copying.getByRole('button', { name }).isDisabled(), true);
    }
    await copying.getByRole('option', { name: 'inbox' }).click();
    await copying.getByRole('button', { name: 'Copy here' }).click();
    await messages(page).getByText('copied to').waitFor();
    assert.equal(String(await site.read('inbox/plan.txt')), 'plan');

    // Permission to read.
    await goTo('handbook/');
    await page.getByText('Read-only').waitFor();
    await becomes(() => toolLabels(page), []);
    await pasteFile(page, testFile('pasted.txt', 'pasted'));
    await messages(page).getByText('You don’t have permission to add files to this folder.').waitFor();
    await dragUntil(page, page.locator('.scroller'), {
      files: [`${site.root}/team/plan.txt`],
      shown: page.locator('.drop-hint').getByText('You don’t have permission to add files to this folder.'),
    });
    await dragPaths(page, page.locator('.scroller'), [`${site.root}/team/plan.txt`], ['drop']);
    await page.locator('.drop-hint').waitFor({ state: 'detached' });
    await row(page, 'handbook/a.txt').click();
    await becomes(() => toolLabels(page), ['Download', 'Copy link']);
    await page.keyboard.press('F2');
    await page.keyboard.press('Delete');
    assert.equal(await page.locator('.name-field, dialog[open]').count(), 0);
    assert.deepEqual(await storedNames(site, 'handbook/'), ['a.txt', 'sub']);

    await button(page, 'Sign in').click();
    await waitForElementFocus(page.getByLabel('Username', { exact: true }));
    assert.equal(await signInDialog(page).getByText('Sign in to see').count(), 0);
    await fillSignInForm(page, ANN);
    await page.keyboard.press('Enter');
    await signInDialog(page).waitFor({ state: 'detached' });
    await accountButton(page).waitFor();
    await button(page, 'Move to trash').waitFor();
    assert.equal(await row(page, 'handbook/a.txt').getAttribute('aria-selected'), 'true');

    // Everyone can read the earlier versions of a public folder, so that a replacement can delete them.
    await page.keyboard.press('Escape');
    const replacing = page.getByRole('dialog', { name: 'a.txt' });
    await uploadFiles(page, [testFile('a.txt', 'public')]);
    await replacing.getByText('You can restore the existing file from its versions.').waitFor();
    await replacing.getByRole('checkbox', { name: 'also delete earlier versions' }).check();
    await replacing.getByText('You can’t undo replacing the file.').waitFor();
    const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE');
    await replacing.getByRole('button', { name: 'Replace' }).click();
    assert.equal((await deleted).status(), 200);
    assert.equal(String(await site.read('handbook/a.txt')), 'public');

    // A sign-in elsewhere, before the folder is reloaded and while the page loads, applies to the whole page.
    const sidebar = page.getByRole('navigation', { name: 'Sidebar' });
    const signInElsewhere = () => page.request.post(`${site.url}-/session`, { data: ANN });
    await page.context().clearCookies();
    await page.reload();
    await button(page, 'Sign in').waitFor();
    assert.equal(await sidebar.getByRole('link', { name: /Trash|Shared links/ }).count(), 0);
    await signInElsewhere();
    await page.keyboard.press('Alt+r');
    await accountButton(page).waitFor();
    for (const name of ['Trash', 'Shared links']) await sidebar.getByRole('link', { name }).waitFor();
    await becomes(() => toolLabels(page), ['New folder', 'Upload']);
    await page.context().clearCookies();
    await page.route(`${site.url}handbook/`, async (route) => {
      const response = await route.fetch();
      await signInElsewhere();
      await route.fulfill({ response });
    });
    await page.reload();
    await accountButton(page).waitFor();
    await sidebar.getByRole('link', { name: 'Trash' }).waitFor();
    await becomes(() => toolLabels(page), ['New folder', 'Upload']);
  });
});

describe('A user whose permissions change', () => {
  it('sees why a request fails, and then only the actions that are still allowed', async (t) => {
    type Rights = readonly ('read' | 'write' | 'manage')[];
    const bobs = (team: Rights, below: Rights) =>
      accessOf(
        { folder: '/team/', to: { person: BOB.name }, rights: team },
        { folder: '/deep/below/', to: { person: BOB.name }, rights: below },
      );
    const expectedErrors = [/status of 401/, /status of 403/];
    const access = bobs(['read', 'write'], ALL);
    const site = await startSite(t, {
      store: 'disk',
      files: FILES,
      access: ANONYMOUS_ACCESS,
      settings: PARTS_AND_TRASH,
    });
    await site.grant(access);
    const page = await openPage(t, { ...DESKTOP, url: `${site.url}team/`, expectedErrors });
    await signIn(page, BOB);
    await becomes(() => toolLabels(page), ['New folder', 'Upload']);

    // Bob can restore what Ann deleted, but not delete it permanently.
    const authorization = `Basic ${Buffer.from(`${ANN.name}:${ANN.password}`).toString('base64')}`;
    await fetch(`${site.url}delete/team/plan.txt`, { method: 'DELETE', headers: { authorization } });
    await row(page, 'team/plan.txt').waitFor({ state: 'detached' });
    await page.keyboard.press('Alt+Shift+g');
    const item = page.locator('[data-id]').filter({ hasText: 'plan.txt' });
    await item.getByText(ANN.name, { exact: true }).waitFor();
    assert.equal(await button(toolbar(page), 'Empty trash').count(), 0);
    await item.click({ button: 'right' });
    await becomes(() => page.getByRole('menuitem').allTextContents(), ['Restore']);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Delete');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await becomes(() => toolbar(page).getByRole('button').allTextContents(), ['Restore']);
    await button(toolbar(page), 'Restore').click();
    await button(messages(page), 'Show in folder').click();
    await row(page, 'team/plan.txt').waitFor();
    await page.keyboard.press('Escape');

    await site.grant(bobs([], ALL));
    await uploadFiles(page, [testFile('new.txt', 'new')]);
    await trayShows(page, '1 failed');
    await until('the toolbar is empty', async () => (await toolLabels(page)).length === 0);
    await becomes(() => page.getByRole('button', { name: /^Retry/ }).count(), 0);
    await site.grant(access);
    await page.keyboard.press('Alt+r');
    await tray(page).getByRole('button', { name: 'Retry', exact: true }).click();
    await trayShows(page, '1 file uploaded');

    await page.getByRole('navigation').getByRole('link', { name: 'Files' }).click();
    await row(page, 'deep/').dblclick();
    await row(page, 'deep/below/').dblclick();
    await row(page, 'deep/below/x.txt').click();
    await site.grant(bobs([], ['read']));
    await renameByKeyboard(page, 'y');
    await messages(page).getByText('Couldn’t rename').waitFor();
    await messages(page).getByText('You don’t have permission to do this.').waitFor();
    await row(page, 'deep/below/x.txt').waitFor();
    await until('the permissions are refreshed', async () => (await button(page, 'Rename').count()) === 0);
    await becomes(() => toolLabels(page), ['Share', 'Download', 'Copy to…', 'Copy link']);
    await site.grant(bobs([], []));
    await button(page, 'Download').click();
    await messages(page).getByText('Couldn’t download').waitFor();

    // Without users, there is no sign-in method.
    await site.grant({ people: {}, grants: [] });
    await page.reload();
    await signInHeading(page).waitFor();
    await page.getByText('sign-in isn’t set up here').waitFor();
    assert.equal(await page.locator('input, button, a').count(), 0);
  });
});
