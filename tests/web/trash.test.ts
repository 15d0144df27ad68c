import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible, assertAccessibleInBothSchemes } from './axe.ts';
import { becomes } from './becomes.ts';
import {
  button,
  focusedName,
  longPress,
  messages,
  row,
  toolbar,
  waitForElementFocus,
  waitForFocus,
  waitForMessage,
  waitForNoOverflow,
  waitForTitle,
} from './elements.ts';
import { openSite, PHONE } from './open-site.ts';
import { ANN, accessOf, BOB, signIn, visit } from './signing-in.ts';
import type { Site } from './site.ts';
import { testFile, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'Holidays/beach.txt': 'sand',
  'Holidays/2026/coast.txt': 'sea',
  'Work/plan.txt': 'plan',
  'notes.txt': 'notes',
};
const TRASH = { TRASH_DAYS: '30' };

/** The row of an item in the trash. */
const trashed = (page: Page, name: string): Locator =>
  page.locator('[data-id]').filter({ has: page.locator('.entry-name').getByText(name, { exact: true }) });

/** Waits until the folder and everything in it are stored again. */
const waitForRestored = (site: Site) =>
  until('the folder is restored', async () => {
    const [beach, coast] = await Promise.all(
      ['Holidays/beach.txt', 'Holidays/2026/coast.txt'].map(async (path) =>
        (await site.exists(path)) ? String(await site.read(path)) : '',
      ),
    );
    return beach === 'sand' && coast === 'sea';
  });
const waitForDeleted = (site: Site, path: string) =>
  until(`${path} is deleted`, async () => !(await site.exists(path)));

describe('A folder deleted by mistake', () => {
  it('comes back by the keyboard alone: by Ctrl+Z, and from the trash', async (t) => {
    const { page, site } = await openSite(t, { files: FILES, settings: TRASH });
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await press('Home', 'Delete');
    await waitForMessage(page, '“⁨Holidays⁩” moved to trash');
    await waitForDeleted(site, 'Holidays/');
    assert.equal(await page.getByRole('dialog').count(), 0, 'No question.');
    await waitForFocus(page, 'Work/');
    await press('ControlOrMeta+z');
    await row(page, 'Holidays/').waitFor();
    await waitForRestored(site);
    await becomes(() => messages(page).getByText('“⁨Holidays⁩” moved to trash', { exact: true }).count(), 0);
    await waitForMessage(page, 'Undone: “⁨Holidays⁩” moved to trash');
    await press('ControlOrMeta+Shift+z');
    await waitForDeleted(site, 'Holidays/');
    await waitForMessage(page, 'Redone: “⁨Holidays⁩” moved to trash');
    await press('ControlOrMeta+z');
    await waitForRestored(site);

    await press('Home', 'Delete');
    await waitForDeleted(site, 'Holidays/');
    await press('Alt+Shift+g');
    await waitForTitle(page, 'Trash');
    await waitForElementFocus(trashed(page, 'Holidays'));
    await press('Enter');
    await becomes(() => focusedName(page), 'Restore');
    await press('Enter');
    await waitForMessage(page, '“⁨Holidays⁩” restored');
    await waitForRestored(site);
    await page.getByText('The trash is empty.').waitFor();
    await press('Alt+ArrowUp');
    await row(page, 'Holidays/').waitFor();
    await waitForTitle(page, 'Files');
  });

  it('comes back by the mouse, and the message opens its folder', IN_FULL_FORM_ONLY, async (t) => {
    const { page, site } = await openSite(t, { files: FILES, settings: TRASH });
    await row(page, 'Holidays/').click();
    await button(toolbar(page), 'Move to trash').click();
    await waitForDeleted(site, 'Holidays/');
    await button(messages(page), 'Undo').click();
    await waitForRestored(site);

    await row(page, 'Work/').dblclick();
    await row(page, 'Work/plan.txt').click();
    await button(toolbar(page), 'Move to trash').click();
    await waitForDeleted(site, 'Work/plan.txt');
    await page.getByRole('link', { name: 'Trash' }).click();
    await waitForTitle(page, 'Trash');
    await trashed(page, 'plan.txt').click();
    await button(toolbar(page), 'Restore').click();
    await button(messages(page), 'Show in folder').click();
    await waitForTitle(page, 'Work');
    await becomes(() => row(page, 'Work/plan.txt').getAttribute('aria-selected'), 'true');

    await page.goBack();
    await waitForTitle(page, 'Trash');
    await page.goBack();
    await waitForTitle(page, 'Work');
  });

  it('comes back on a phone', async (t) => {
    const { page, site } = await openSite(t, { files: FILES, settings: TRASH, visit: PHONE });
    await longPress(page, 'Holidays/');
    await button(toolbar(page), 'Move to trash').waitFor();
    // Otherwise it looks like "Move to…", which is beside it.
    const cut = toolbar(page)
      .locator('.tool span')
      .evaluateAll((labels) =>
        labels.filter((label) => label.scrollWidth > label.clientWidth).map((label) => label.textContent),
      );
    assert.deepEqual(await cut, []);
    await button(toolbar(page), 'Move to trash').tap();
    await waitForDeleted(site, 'Holidays/');
    await button(messages(page), 'Dismiss').first().tap();
    await button(toolbar(page), 'More').tap();
    await page.getByRole('menuitem', { name: 'Trash' }).tap();
    await trashed(page, 'Holidays').waitFor();
    await waitForNoOverflow(page);
    if (isFullForm) await assertAccessible(page, t, { state: 'the trash on a phone' });
    await trashed(page, 'Holidays').tap();
    await button(toolbar(page), 'Restore').tap();
    await waitForRestored(site);
    await waitForMessage(page, 'Show in folder');
  });
});

describe('The trash', () => {
  it('has an address, is accessible, and deletes permanently only after a confirmation', async (t) => {
    const { page, site } = await openSite(t, { files: FILES, settings: TRASH });
    for (const path of ['Holidays/', 'Work/', 'notes.txt']) {
      await row(page, path).click();
      await page.keyboard.press('Delete');
      await waitForDeleted(site, path);
    }
    await page.goto(`${site.url}?view=trash`);
    await waitForTitle(page, 'Trash');
    await becomes(() => page.title(), 'Trash – Holdall');
    await trashed(page, 'Holidays').waitFor();
    await page.getByText('Items are deleted permanently after 30 days in the trash.').waitFor();
    await assertAccessibleInBothSchemes(page, t, { state: 'the trash' });

    await waitForElementFocus(trashed(page, 'notes.txt'));
    await page.keyboard.press('Space');
    await page.keyboard.press('Delete');
    const question = page.getByRole('dialog', { name: 'Delete “⁨notes.txt⁩” permanently?' });
    await question.waitFor();
    if (isFullForm) await assertAccessible(page, t, { state: 'the question before a permanent deletion' });
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    assert.equal(await trashed(page, 'notes.txt').count(), 1, 'Cancel has the focus.');
    await page.keyboard.press('Delete');
    await question.getByRole('button', { name: 'Delete permanently' }).click();
    await waitForMessage(page, '“⁨notes.txt⁩” deleted');
    await waitForElementFocus(trashed(page, 'Work'));

    await page.keyboard.press('Escape');
    await button(toolbar(page), 'Empty trash').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Empty trash' }).click();
    await waitForMessage(page, 'Trash emptied. 2 items deleted permanently.');
    await page.getByText('The trash is empty.').waitFor();
    if (isFullForm) await assertAccessible(page, t, { state: 'the empty trash' });

    // Another client.
    await site.place({ 'late.txt': 'late' });
    await fetch(`${site.url}delete/late.txt`, { method: 'DELETE' });
    await trashed(page, 'late.txt').waitFor();
  });

  it('reads from right to left, and shows an error with a button that retries', IN_FULL_FORM_ONLY, async (t) => {
    const options = { language: 'ar', expectedErrors: [/503/] } as const;
    const { page, site } = await openSite(t, { files: FILES, settings: TRASH, visit: options });
    await row(page, 'notes.txt').click();
    await page.keyboard.press('Delete');
    await waitForDeleted(site, 'notes.txt');
    // The feed might still report the delete, and the page would then read the trash again by itself.
    await page.reload();
    await row(page, 'Work/').waitFor();
    await page.route('**/-/trash*', (route) =>
      route.fulfill({ status: 503, json: { success: false, code: 'unavailable', error: 'Down.' } }),
    );
    await page.keyboard.press('Alt+Shift+g');
    await page.getByText('تعذّر فتح سلة المهملات.').waitFor();
    await page.unroute('**/-/trash*');
    await page.getByRole('alert').getByRole('button').click();
    const item = trashed(page, 'notes.txt');
    await item.waitFor();
    const [name, more] = await Promise.all([
      item.locator('.entry-name').boundingBox(),
      item.locator('[data-more]').boundingBox(),
    ]);
    assert.ok(name && more && name.x > more.x, 'The menu is at the left.');
    await waitForNoOverflow(page);
  });

  it(
    'deletes permanently from a folder by Shift+Delete, and does not exist when it is off',
    IN_FULL_FORM_ONLY,
    async (t) => {
      const { page, site } = await openSite(t, { files: FILES, settings: TRASH });
      await row(page, 'notes.txt').click();
      await page.keyboard.press('Shift+Delete');
      await page.getByRole('dialog').getByText('You can’t undo this.').waitFor();
      await button(page.getByRole('dialog'), 'Delete file').click();
      await waitForDeleted(site, 'notes.txt');
      await page.keyboard.press('Alt+Shift+g');
      await page.getByText('The trash is empty.').waitFor();

      const off = await openSite(t, { files: FILES, settings: { TRASH_DAYS: '0' } });
      await off.page.getByRole('link', { name: 'Recent' }).waitFor();
      assert.equal(await off.page.getByRole('link', { name: 'Trash' }).count(), 0);
      await row(off.page, 'notes.txt').click();
      await button(toolbar(off.page), 'Delete').click();
      await off.page.getByRole('dialog').getByText('You can’t undo this.').waitFor();
    },
  );

  it('offers only permitted actions', IN_FULL_FORM_ONLY, async (t) => {
    const access = accessOf({ folder: '/', to: { person: BOB.name }, rights: ['read', 'write'] });
    const { page, site } = await visit(t, '', { files: FILES, settings: TRASH, access });
    await signIn(page, BOB);
    const authorization = `Basic ${Buffer.from(`${ANN.name}:${ANN.password}`).toString('base64')}`;
    await fetch(`${site.url}delete/notes.txt`, { method: 'DELETE', headers: { authorization } });
    await waitForDeleted(site, 'notes.txt');
    await page.goto(`${site.url}?view=trash`);
    const item = trashed(page, 'notes.txt');
    await item.getByText(ANN.name, { exact: true }).waitFor();
    assert.equal(await button(toolbar(page), 'Empty trash').count(), 0);
    await item.click({ button: 'right' });
    await becomes(() => page.getByRole('menuitem').allTextContents(), ['Restore']);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Delete');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await becomes(() => toolbar(page).getByRole('button').allTextContents(), ['Restore']);
    await button(toolbar(page), 'Restore').click();
    await until('the file is restored', () => site.exists('notes.txt'));
  });

  it('offers no permanent deletion in a store that keeps everything', IN_FULL_FORM_ONLY, async (t) => {
    const { page, site } = await openSite(t, { files: FILES, settings: TRASH });
    await row(page, 'notes.txt').click();
    await page.keyboard.press('Delete');
    await waitForDeleted(site, 'notes.txt');
    // As the service embeds it for a branch, whose history is the trash.
    await page.route(`${site.url}?view=trash`, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('"trash":{"days":30}', '"trash":{"days":null}');
      await route.fulfill({ response, body });
    });
    await page.goto(`${site.url}?view=trash`);
    await trashed(page, 'notes.txt').click();
    await becomes(() => toolbar(page).getByRole('button').allTextContents(), ['Restore']);
    assert.equal(await page.getByText('deleted permanently').count(), 0);
    await page.keyboard.press('Escape');
    await becomes(() => toolbar(page).getByRole('button').count(), 0);
  });
});

describe('The versions of a file', () => {
  it('are in its details, where users restore one and undo that', async (t) => {
    const { page, site } = await openSite(t, { files: { 'plan.txt': 'first' } });
    const replace = async (content: string) => {
      const form = new FormData();
      form.append('prefix', '');
      form.append('file', new Blob([content]), 'plan.txt');
      assert.equal((await fetch(`${site.url}upload`, { method: 'POST', body: form })).status, 200);
    };
    const waitForContent = (content: string) => becomes(async () => String(await site.read('plan.txt')), content);
    await replace('second try');
    await page.keyboard.press('Alt+r');
    await row(page, 'plan.txt').click();
    await page.keyboard.press('Alt+Enter');
    const versions = page.locator('.versions');
    await becomes(() => versions.getByRole('listitem').count(), 1);
    await versions.getByText('5 bytes').waitFor();
    await assertAccessibleInBothSchemes(page, t, { state: 'the versions' });

    const more = versions.getByRole('button', { name: 'Actions for the version' });
    await more.click();
    const opening = page.waitForEvent('popup');
    await page.getByRole('menuitem', { name: 'Open in new tab' }).click();
    const tab = await opening;
    await tab.getByText('first').waitFor();
    await tab.close();
    await more.click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Download' }).click();
    assert.equal((await downloading).suggestedFilename(), 'plan.txt');

    await more.click();
    await page.getByRole('menuitem', { name: 'Restore' }).click();
    await waitForMessage(page, 'Earlier version of “⁨plan.txt⁩” restored');
    await waitForContent('first');
    await becomes(() => versions.getByRole('listitem').count(), 2);
    await button(messages(page), 'Undo').click();
    await waitForContent('second try');
    await becomes(() => versions.getByRole('listitem').count(), 3);

    await button(versions, 'Delete earlier versions').click();
    const question = page.getByRole('dialog', { name: 'Delete the earlier versions of “⁨plan.txt⁩”?' });
    await question.getByText('The file itself stays.').waitFor();
    await button(question, 'Delete earlier versions').click();
    await waitForMessage(page, 'Earlier versions of “⁨plan.txt⁩” deleted');
    await versions.getByText('No earlier versions').waitFor();
    await waitForContent('second try');

    await page.keyboard.press('Escape');
    await uploadFiles(page, [testFile('plan.txt', 'third')]);
    await page.getByRole('dialog').getByText('You can restore the existing file from its versions.').waitFor();
    await button(page.getByRole('dialog'), 'Skip').click();
  });

  it('are hidden when the service keeps none', IN_FULL_FORM_ONLY, async (t) => {
    const { page } = await openSite(t, { files: { 'plan.txt': 'first' }, settings: { VERSIONS_DAYS: '0' } });
    await row(page, 'plan.txt').click();
    await page.keyboard.press('Alt+Enter');
    await page.getByRole('heading', { name: 'Details' }).waitFor();
    await page.getByText('ETag').waitFor();
    assert.equal(await page.locator('.versions').count(), 0);
  });
});
