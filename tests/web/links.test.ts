import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import {
  button,
  focusedName,
  row,
  waitForElementFocus,
  waitForFocus,
  waitForMessage,
  waitForTitle,
} from './elements.ts';
import { openSite } from './open-site.ts';
import type { Site } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = { 'Photos/beach.txt': 'sand', 'notes.txt': 'notes' };

/** The row of a link in the list of all links. */
const linkRow = (page: Page, name: string): Locator =>
  page.locator('[data-id]').filter({ has: page.locator('.entry-name').getByText(name, { exact: true }) });
const badge = (page: Page, path: string): Locator => row(page, path).getByRole('img', { name: 'Shared' });

async function linksOf({ url }: Site): Promise<readonly Record<string, unknown>[]> {
  const response = await fetch(`${url}-/links`);
  const { links } = (await response.json()) as { links: readonly Record<string, unknown>[] };
  return links;
}

describe('A share link', () => {
  it('is created, copied, changed and revoked by the keyboard alone', async (t) => {
    const visit = { permissions: ['clipboard-read', 'clipboard-write'] };
    const { page, site } = await openSite(t, { files: FILES, visit });
    // Those of other tests of this service.
    for (const { id } of await linksOf(site)) await fetch(`${site.url}-/links/${String(id)}`, { method: 'DELETE' });
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const dialog = page.getByRole('dialog', { name: 'Share “⁨Photos⁩”' });

    await press('Home', 'Alt+Shift+s');
    await waitForElementFocus(dialog.getByRole('radio', { name: 'View and download' }));
    await press('ArrowDown');
    await dialog.getByRole('checkbox', { name: 'Ask for the visitor’s name' }).waitFor();
    await press('ArrowUp', 'Tab');
    await page.keyboard.type('For the family');
    await press('Tab', 'ArrowDown', 'ArrowDown', 'Tab', 'Space', 'Tab', 'Enter');
    await dialog.getByText('Enter a password.').waitFor();
    await waitForElementFocus(dialog.getByLabel('Password', { exact: true }));
    await assertAccessible(page, t, { state: 'the form of a link' });
    await page.keyboard.type('only for us');
    await press('Enter');

    const created = page.getByRole('dialog', { name: 'Link created' });
    await created.getByRole('img', { name: 'QR code of the link' }).waitFor();
    await waitForElementFocus(button(created, 'Copy link'));
    await press('Enter');
    const url = await created.getByLabel('Link', { exact: true }).inputValue();
    assert.match(url.slice(site.url.length), /^-\/s\/[\w-]{32}\/$/);
    await becomes(() => page.evaluate(() => navigator.clipboard.readText()), url);
    const [link = {}] = await linksOf(site);
    const { path, permissions, label, hasPassword, createdAt, expiresAt } = link;
    assert.deepEqual([path, permissions, label, hasPassword], ['Photos/', ['read'], 'For the family', true]);
    const days = (Date.parse(String(expiresAt)) - Date.parse(String(createdAt))) / 86_400_000;
    assert.equal(Math.round(days), 7);

    await press('Escape');
    await waitForFocus(page, 'Photos/');
    await badge(page, 'Photos/').waitFor();
    assert.equal(await badge(page, 'notes.txt').count(), 0);

    await press('Alt+Shift+s');
    const item = dialog.getByRole('listitem');
    await item.getByText(/^Can view · Expires .* · Password · 0 downloads$/).waitFor();
    assert.equal(await dialog.getByText(url).count(), 0, 'The URL is not shown again.');
    await waitForElementFocus(button(dialog, 'New link'));
    await item.getByRole('button', { name: 'More actions' }).press('Enter');
    await becomes(() => focusedName(page), 'Edit');
    await press('Enter');
    await page.getByRole('dialog', { name: 'Edit link to “⁨Photos⁩”' }).getByLabel('Label').fill('For everyone');
    await press('Enter');
    await waitForMessage(page, 'Link to “⁨Photos⁩” changed');
    await item.getByText('For everyone').waitFor();
    const [changed = {}] = await linksOf(site);
    assert.deepEqual(changed, { ...link, label: 'For everyone' }, 'The password and the expiry stay.');
    await press('Escape');

    await press('Alt+Shift+k');
    await waitForTitle(page, 'Shared links');
    await becomes(() => page.title(), 'Shared links – Holdall');
    await waitForElementFocus(linkRow(page, 'Photos'));
    await linkRow(page, 'Photos').getByRole('gridcell', { name: 'For everyone', exact: true }).waitFor();
    await assertAccessible(page, t, { state: 'the list of links' });
    await press('Space', 'Delete');
    const question = page.getByRole('dialog', { name: 'Revoke the link to “⁨Photos⁩”?' });
    await waitForElementFocus(button(question, 'Cancel'));
    await press('Tab', 'Enter');
    await waitForMessage(page, 'Link to “⁨Photos⁩” revoked');
    await page.getByText('No shared links').waitFor();
    assert.deepEqual(await linksOf(site), []);
    await press('Alt+ArrowUp');
    await row(page, 'Photos/').waitFor();
    await becomes(() => badge(page, 'Photos/').count(), 0);
  });
});
