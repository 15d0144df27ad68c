import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import {
  button,
  focusedName,
  messages,
  row,
  toolbar,
  waitForElementFocus,
  waitForFocus,
  waitForMessage,
  waitForTitle,
} from './elements.ts';
import { refuse } from './intercept.ts';
import { openSite, PARTS_AND_TRASH } from './open-site.ts';
import type { Site } from './site.ts';
import { testFile, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'Holidays/beach.txt': 'sand',
  'Holidays/2026/coast.txt': 'sea',
  'Work/plan.txt': 'plan',
  'notes.txt': 'notes',
};

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
  it('comes back by keyboard and by mouse, and is deleted permanently only after a confirmation', async (t) => {
    const { page, site } = await openSite(t, {
      files: FILES,
      settings: PARTS_AND_TRASH,
      visit: { expectedErrors: [/503/] },
    });
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

    // The trash by the keyboard, at first without the service.
    // Until the click: a change by itself also loads the trash again.
    await page.route('**/-/trash*', async (route) => {
      if (await page.evaluate('globalThis.isRetried')) await route.fallback();
      else await refuse(route, 'unavailable', 'Down.');
    });
    await press('Alt+Shift+g');
    await waitForTitle(page, 'Trash');
    await page.getByText('Couldn’t open the trash.').waitFor();
    await page.evaluate(
      `addEventListener('click', () => (globalThis.isRetried = true), { capture: true, once: true })`,
    );
    await page.getByRole('alert').getByRole('button', { name: 'Retry' }).click();
    await waitForElementFocus(trashed(page, 'Holidays'));
    await page.unroute('**/-/trash*');
    await press('Enter');
    await becomes(() => focusedName(page), 'Restore');
    await press('Enter');
    await waitForMessage(page, '“⁨Holidays⁩” restored');
    await waitForRestored(site);
    await page.getByText('The trash is empty.').waitFor();
    await press('Alt+ArrowUp');
    await row(page, 'Holidays/').waitFor();
    await waitForTitle(page, 'Files');

    // By the mouse.
    await row(page, 'Work/').dblclick();
    await row(page, 'Work/plan.txt').click();
    await button(toolbar(page), 'Move to trash').click();
    await waitForDeleted(site, 'Work/plan.txt');
    await page.getByRole('link', { name: 'Trash' }).click();
    await waitForTitle(page, 'Trash');
    await trashed(page, 'plan.txt').click();
    await button(toolbar(page), 'Restore').click();
    const restored = messages(page).getByRole('listitem').filter({ hasText: '“⁨plan.txt⁩” restored' });
    await button(restored, 'Show in folder').click();
    await waitForTitle(page, 'Work');
    await becomes(() => row(page, 'Work/plan.txt').getAttribute('aria-selected'), 'true');
    await page.goBack();
    await waitForTitle(page, 'Trash');
    await page.goBack();
    await waitForTitle(page, 'Work');
    await press('Alt+ArrowUp');

    // Permanently, from the folder and from the trash.
    await row(page, 'notes.txt').click();
    await press('Shift+Delete');
    await page.getByRole('dialog').getByText('You can’t undo this.').waitFor();
    await button(page.getByRole('dialog'), 'Delete file').click();
    await waitForDeleted(site, 'notes.txt');
    for (const path of ['Holidays/', 'Work/']) {
      await row(page, path).click();
      await press('Delete');
      await waitForDeleted(site, path);
    }
    await press('Alt+Shift+g');
    await becomes(() => page.title(), 'Trash – Holdall');
    await page.getByText('Items are deleted permanently after 30 days in the trash.').waitFor();
    await waitForElementFocus(trashed(page, 'Work'));
    assert.equal(await trashed(page, 'notes.txt').count(), 0, 'It was deleted permanently.');
    await assertAccessible(page, t, { state: 'the trash' });
    await press('Space', 'Delete');
    const question = page.getByRole('dialog', { name: 'Delete “⁨Work⁩” permanently?' });
    await question.waitFor();
    await press('Enter');
    await question.waitFor({ state: 'detached' });
    assert.equal(await trashed(page, 'Work').count(), 1, 'Cancel has the focus.');
    await press('Delete');
    await question.getByRole('button', { name: 'Delete permanently' }).click();
    await waitForMessage(page, '“⁨Work⁩” deleted');
    await waitForElementFocus(trashed(page, 'Holidays'));
    await press('Escape');
    await button(toolbar(page), 'Empty trash').click();
    await button(page.getByRole('dialog'), 'Empty trash').click();
    await waitForMessage(page, 'Trash emptied. 1 item deleted permanently.');
    await page.getByText('The trash is empty.').waitFor();

    // Another client deletes a file.
    await site.place({ 'late.txt': 'late' });
    await fetch(`${site.url}delete/late.txt`, { method: 'DELETE' });
    await trashed(page, 'late.txt').waitFor();

    // As the service embeds it for a branch, whose history is the trash, and without versions.
    await page.route(`${site.url}?view=trash`, async (route) => {
      const response = await route.fetch();
      const embedded = await response.text();
      const body = embedded
        .replace('"days":30', '"days":null')
        .replace('"keepsVersions":true', '"keepsVersions":false');
      await route.fulfill({ response, body });
    });
    await page.goto(`${site.url}?view=trash`);
    await trashed(page, 'late.txt').click();
    await becomes(() => toolbar(page).getByRole('button').allTextContents(), ['Restore']);
    assert.equal(await page.getByText('deleted permanently').count(), 0);
    await button(toolbar(page), 'Restore').click();
    await button(messages(page), 'Show in folder').click();
    await press('Alt+Enter');
    await page.getByText('ETag').waitFor();
    assert.equal(await page.locator('.versions').count(), 0);
  });
});

describe('The versions of a file', () => {
  it('are in its details, where users restore one and undo that', async (t) => {
    const { page, site } = await openSite(t, { files: { 'plan.txt': 'first' }, settings: PARTS_AND_TRASH });
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
    await assertAccessible(page, t, { state: 'the versions' });

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
});
