import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { button, messages, row, waitForMessage } from './elements.ts';
import { openSite } from './open-site.ts';
import type { Site } from './site.ts';

export const needs: readonly Need[] = ['browser'];

/** Sends a request as another client. */
async function send(site: Site, path: string, method: string, body?: object): Promise<void> {
  const response = await fetch(new URL(path, site.url), {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  assert.equal(response.status, 200, await response.text());
}

test('The details show what happened to a folder and a file at once, and undo it', async (t) => {
  const files = { 'a.txt': 'a', 'Docs/b.txt': 'b' };
  const { site, page } = await openSite(t, { files, settings: { TRASH_DAYS: '30' }, isOwn: true });
  await page.getByRole('button', { name: 'Details' }).click();
  const sheet = page.getByRole('complementary', { name: 'Details' });
  const list = sheet.getByRole('list');
  const rows = () => list.getByRole('listitem').locator('div > :first-child').allInnerTexts();
  const become = (expected: readonly string[]) =>
    becomes(async () => (await rows()).slice(0, expected.length).join(), expected.join());
  await sheet.getByText('No recent activity').waitFor();

  await send(site, 'copy', 'POST', { source: 'a.txt', destination: 'c.txt', is_folder: false });
  await send(site, 'rename/c.txt', 'POST', { newName: 'd.txt' });
  await send(site, 'move', 'POST', { source: 'd.txt', destination: 'Docs/d.txt', is_folder: false });
  const ofFile = ['“⁨d.txt⁩” moved to “⁨Docs⁩”', '“⁨c.txt⁩” renamed to “⁨d.txt⁩”', '“⁨a.txt⁩” copied as “⁨c.txt⁩”'];
  await become(ofFile);
  await send(site, 'delete/Docs/b.txt', 'DELETE');
  await become(['“⁨b.txt⁩” deleted', ...ofFile]);
  await assertAccessible(page, t, { state: 'activity' });

  await button(list, 'Undo: “⁨b.txt⁩” deleted').click();
  await waitForMessage(page, 'Undone: “⁨b.txt⁩” deleted');
  await become(['“⁨b.txt⁩” restored', '“⁨b.txt⁩” deleted', ...ofFile]);
  await button(list, 'Undo: “⁨b.txt⁩” deleted').click();
  await messages(page).getByText('This change is already undone.').waitFor();

  for (let index = 0; index < 8; index++) await send(site, 'create_folder', 'POST', { path: `New ${index}` });
  await become(['“⁨New 7⁩” created']);
  assert.equal((await rows()).length, 10);
  await button(sheet, 'Show more').click();
  await becomes(async () => (await rows()).length, 13);

  await row(page, 'Docs/').dblclick();
  await row(page, 'Docs/d.txt').click();
  await becomes(async () => (await rows()).join(), ofFile.join());
});

test('The details name visitors of share links as such', IN_FULL_FORM_ONLY, async (t) => {
  const { site, page } = await openSite(t, { files: { 'Inbox/a.txt': 'a' } });
  await row(page, 'Inbox/').click();
  await page.getByRole('button', { name: 'Details' }).click();
  const created = await fetch(new URL('-/links', site.url), {
    method: 'POST',
    body: JSON.stringify({ path: 'Inbox/', permissions: ['read', 'write'] }),
    headers: { 'content-type': 'application/json' },
  });
  const { url } = (await created.json()) as { url: string };
  const form = new FormData();
  form.append('file', new File(['b'], 'b.txt'));
  assert.equal((await fetch(new URL('upload', url), { method: 'POST', body: form })).status, 200);
  const item = page.getByRole('complementary', { name: 'Details' }).getByRole('listitem').first();
  await item.getByText('“⁨b.txt⁩” created').waitFor();
  await item.getByText('Visitor of a shared link').waitFor();
});
