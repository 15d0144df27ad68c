import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { button, choose, renameByKeyboard, row, waitForElementFocus, waitForMessage } from './elements.ts';
import { ANN, signIn, visit } from './signing-in.ts';
import type { Site } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const LOCK_BODY =
  '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>Writer</owner></lockinfo>';
/** The page can't know that the file is locked before it tries. */
const CONFLICT = /409 \(Conflict\)/;

/** Sends a request of a WebDAV client. */
function sendDav(
  { url }: Site,
  path: string,
  {
    name,
    password,
    headers,
    ...call
  }: Omit<RequestInit, 'headers'> & {
    readonly name: string;
    readonly password: string;
    readonly headers?: Readonly<Record<string, string>>;
  },
): Promise<Response> {
  const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  return fetch(`${url}-/dav/${path}`, { ...call, headers: { authorization, depth: '0', ...headers } });
}

const lockBadge = (page: Page, path: string) => row(page, path).getByRole('img', { name: 'Locked' });

it('A client connects with an app token, and its lock is shown until the user ends it', async (t) => {
  const files = { 'Team/plan.txt': 'plan', 'Team/notes.txt': 'notes' };
  const { page, site } = await visit(t, 'Team/', {
    files,
    permissions: ['clipboard-read', 'clipboard-write'],
    expectedErrors: [/401 \(Unauthorized\)/, CONFLICT],
  });
  await signIn(page);
  await page.locator('html[data-listing="complete"]').waitFor();

  // The address, and a token that is limited to this folder.
  await choose(page, 'Settings', 'Connect a client');
  const dialog = page.getByRole('dialog', { name: 'Connect a client' });
  const address = dialog.getByRole('textbox', { name: 'Address' });
  assert.equal(await address.inputValue(), `${site.url}-/dav/`);
  await dialog.getByRole('radio', { name: 'Team' }).check();
  await becomes(() => address.inputValue(), `${site.url}-/dav/Team/`);
  await button(dialog, 'Copy address').click();
  await becomes(() => page.evaluate(() => navigator.clipboard.readText()), `${site.url}-/dav/Team/`);
  assert.equal(await dialog.getByRole('textbox', { name: 'Username' }).inputValue(), ANN.name);
  await dialog.getByText('Finder', { exact: true }).click();
  await dialog.getByText('In the Finder, choose Go › Connect to Server (⌘K).').waitFor();
  await assertAccessible(page, t, { state: 'the steps of a client' });

  await button(dialog, 'Create app token').click();
  const form = page.getByRole('dialog', { name: 'Create app token' });
  await waitForElementFocus(form.getByLabel('Name'));
  await page.keyboard.press('Enter');
  await form.getByText('Enter a name.').waitFor();
  await page.keyboard.type('Laptop');
  await form.getByLabel('Folder').selectOption('Team');
  await form.getByLabel('Expires').selectOption('In 30 days');
  await button(form, 'Create app token').click();
  const created = page.getByRole('dialog', { name: 'App token created' });
  await waitForElementFocus(button(created.locator('footer'), 'Copy token'));
  const password = await created.getByRole('textbox', { name: 'App token' }).inputValue();
  await button(created, 'Done').click();
  await dialog.getByText('1 app token').click();
  await dialog.getByText(/^View, .* files · Only “⁨Team⁩” · Expires .* · Never used · Created /).waitFor();
  assert.equal(await dialog.getByText(password).count(), 0, 'The token is not shown again.');
  await page.keyboard.press('Escape');

  // The client locks a file: the page shows it, and a change by the page is refused.
  const client = { name: ANN.name, password };
  assert.equal((await sendDav(site, 'Team/plan.txt', { ...client, method: 'LOCK', body: LOCK_BODY })).status, 200);
  await lockBadge(page, 'Team/plan.txt').waitFor();
  assert.equal(await lockBadge(page, 'Team/notes.txt').count(), 0);
  await row(page, 'Team/plan.txt').click();
  await renameByKeyboard(page, 'other');
  await waitForMessage(page, /“⁨plan\.txt⁩” is locked by ⁨ann⁩ until .* unlock it in its details\./);

  await page.keyboard.press('Escape');
  await row(page, 'Team/plan.txt').click();
  await page.keyboard.press('Alt+Enter');
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByText(/^Locked by you until /).waitFor();
  await details.getByText('Writer').waitFor();
  await button(details, 'Unlock').click();
  await button(page.getByRole('dialog', { name: 'Unlock “⁨plan.txt⁩”?' }), 'Unlock').click();
  await waitForMessage(page, '“⁨plan.txt⁩” unlocked');
  await becomes(() => lockBadge(page, 'Team/plan.txt').count(), 0);

  // Another client sets a lock and releases it.
  const again = await sendDav(site, 'Team/notes.txt', { ...client, method: 'LOCK', body: LOCK_BODY });
  await lockBadge(page, 'Team/notes.txt').waitFor();
  const token = { 'lock-token': again.headers.get('lock-token') ?? '' };
  assert.equal((await sendDav(site, 'Team/notes.txt', { ...client, method: 'UNLOCK', headers: token })).status, 204);
  await becomes(() => lockBadge(page, 'Team/notes.txt').count(), 0);
  const save = { ...client, method: 'PUT', body: 'saved' };
  assert.equal((await sendDav(site, 'Team/plan.txt', save)).status, 204);
  assert.equal(await readFile(join(site.root ?? '', 'Team/plan.txt'), 'utf8'), 'saved');

  // Revoking the token ends the access of the client.
  await choose(page, 'Settings', 'Connect a client');
  await dialog.getByText('1 app token').click();
  await button(dialog, 'Revoke: Laptop').click();
  await button(page.getByRole('dialog', { name: 'Revoke “⁨Laptop⁩”?' }), 'Revoke').click();
  await becomes(() => dialog.getByText('1 app token').count(), 0);
  assert.equal((await sendDav(site, 'Team/plan.txt', { ...client, method: 'PROPFIND' })).status, 401);
});
