// Shared files and texts that a user discards, or whose upload does not end. Each share is a navigation, and loads
// the page. That shares are received, and only from other apps, is proven in tests/web.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import { button, messages, row, waitForMessage } from '../web/elements.ts';
import { visitSite } from '../web/open-site.ts';
import { share, WITH_WORKER, waitForWorker } from '../web/sharing.ts';
import { countRemembered, storedText, testFile } from '../web/uploading.ts';

export const needs: readonly Need[] = ['browser'];

it('A share can be discarded, which is undone, and waits while its upload is not finished', async (t) => {
  const { page, site } = await visitSite(t, { files: { 'one.txt': '1', 'Docs/old.txt': 'old' }, visit: WITH_WORKER });
  const root = site.url;
  await waitForWorker(page);

  // Text becomes a file. It is gone once it was saved or discarded, except after Undo.
  await share(page, { root, fields: { title: 'A: good/read', text: 'Read this', url: 'https://example.org/' } });
  const text = page.getByRole('dialog', { name: /^Save .*A good read\.txt.* to…$/ });
  await text.waitFor();
  const url = page.url();
  await button(text, 'Cancel').click();
  await becomes(() => page.url(), root);
  await waitForMessage(page, /Discarded .*A good read\.txt/);
  await button(messages(page), 'Undo').click();
  await text.waitFor();
  assert.equal(page.url(), url);
  await button(text, 'Save here').click();
  await row(page, 'A good read.txt').waitFor();
  await until('the text is stored', () => site.exists('A good read.txt'));
  assert.equal(await storedText(site, 'A good read.txt'), 'Read this\nhttps://example.org/\n');
  assert.equal(page.url(), root);

  // The page ends before the upload does.
  await share(page, { root, files: [testFile('secret.txt', 'of Ann')] });
  const secret = page.getByRole('dialog', { name: /^Save .*secret\.txt.* to…$/ });
  await secret.getByRole('option', { name: 'Docs' }).click();
  await page.route('**/upload', () => {});
  await button(secret, 'Save here').click();
  await row(page, 'Docs/old.txt').waitFor();
  await until('the upload is remembered', async () => (await countRemembered(page)) === 1);
  await page.goto(`${root}?shared=too-many`);
  await page.unrouteAll();
  await waitForMessage(page, 'Too many shared files are waiting to be saved.');
  await page.goto(root);
  await waitForMessage(page, '1 unfinished upload');
  await waitForMessage(page, 'secret.txt');
  await button(messages(page), 'Retry').click();
  await secret.getByRole('navigation').getByText('Docs').waitFor();
  await button(secret, 'Save here').click();
  await row(page, 'Docs/secret.txt').waitFor();
  assert.equal(await storedText(site, 'Docs/secret.txt'), 'of Ann');
});
