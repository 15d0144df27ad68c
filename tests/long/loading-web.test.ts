// Only this file proves in a browser what the page does when code loads slowly, fails to load or was replaced by an upgrade. It
// loads seven pages without a cache, because the browser does not cache requests that a test controls.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page, Request } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import {
  button,
  choose,
  contents,
  messages,
  row,
  waitForElementFocus,
  waitForFocus,
  waitForMessage,
} from '../web/elements.ts';
import { type Chunks, chunk, controlChunks } from '../web/intercept.ts';
import { visitSite } from '../web/open-site.ts';
import { longText } from '../web/samples.ts';
import type { Site } from '../web/site.ts';
import { testFile, trayShows, uploadFiles } from '../web/uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'a.txt': 'first',
  'b.md': '# Words',
  'c.csv': 'first,second',
  'd.txt': longText(600_000),
  'two.txt': '2',
  'Docs/': '',
};

const isViewerOpen = (page: Page, name: string) => page.getByRole('dialog', { name });

test('Code that is slow, fails to load or belongs to an earlier version loses no key, no focus and no way to continue', async (t) => {
  const { page, site } = await visitSite(t, {
    files: FILES,
    path: '-/session',
    visit: { expectedErrors: [/\/assets\//, /file\/b\.md/, /file\/d\.txt/] },
  });
  const chunks = await controlChunks(page, {
    viewer: 'hold',
    'markdown-preview': 'fail',
    'name-field': 'hold',
  });
  await page.goto(site.url);
  await row(page, 'a.txt').waitFor();
  await until('the code of the viewer is preloaded', () => chunks.isHeld('viewer'));
  await leavesViewerThatLoads(page, site);
  await chunks.set('viewer', 'pass');
  await contents(page).getByText('first').waitFor();
  await page.keyboard.press('Escape');
  await isViewerOpen(page, 'a.txt').waitFor({ state: 'detached' });
  await waitForElementFocus(row(page, 'a.txt'));
  await returnsKeysAfterFailure(page, chunks);

  await chunks.set('viewer', 'fail');
  await page.goto(`${site.url}?preview=a.txt`);
  await retriesPreviews(page, site, chunks);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.unrouteAll();
  await offersNewVersion(page, site);
  await saysThatTextsAreMissing(page);
});

/** The viewer opens and closes by key and by going back while its code loads. Leaves it open. */
async function leavesViewerThatLoads(page: Page, site: Site): Promise<void> {
  const dialog = isViewerOpen(page, 'a.txt');
  await row(page, 'a.txt').click();
  await page.keyboard.press('Enter');
  await dialog.getByText('Loading').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await waitForElementFocus(row(page, 'a.txt'));
  await becomes(() => page.url(), site.url);
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await page.goBack();
  await dialog.waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await dialog.waitFor();
}

/** The keyboard works again once the load of a field has failed. */
async function returnsKeysAfterFailure(page: Page, chunks: Chunks): Promise<void> {
  await page.keyboard.press('F2');
  await page.keyboard.type('th');
  await chunks.set('name-field', 'fail');
  await waitForMessage(page, 'Can’t reach the server.');
  await waitForFocus(page, 'a.txt');
  await row(page, 'a.txt').getByText('a.txt').first().waitFor();
  await page.keyboard.type('tw');
  await waitForFocus(page, 'two.txt');
}

/** A preview that fails shows the reason and a way to continue. */
async function retriesPreviews(page: Page, site: Site, chunks: Chunks): Promise<void> {
  const alert = page.getByRole('alert').filter({ hasText: 'Couldn’t load the preview' });
  await alert.waitFor();
  await chunks.set('viewer', 'pass');
  await alert.getByRole('button', { name: 'Retry' }).click();
  await contents(page).getByText('first').waitFor();
  await until('the stage has the focus', () =>
    page.evaluate(() => document.activeElement?.classList.contains('stage') === true),
  );

  const viewer = page.getByRole('dialog');
  await page.keyboard.press('ArrowRight');
  await viewer.getByText('Couldn’t load the preview').waitFor();
  await chunks.set('markdown-preview', 'pass');
  await page.route('**/file/b.md', (route) => route.abort());
  await viewer.getByRole('button', { name: 'Retry' }).click();
  await viewer.getByText('Can’t reach the server.').waitFor();
  await page.unroute('**/file/b.md');
  await viewer.getByRole('button', { name: 'Retry' }).click();
  await viewer.getByRole('heading', { name: 'Words' }).waitFor();

  await page.keyboard.press('ArrowRight');
  await isViewerOpen(page, 'c.csv').getByText('second').waitFor();
  await page.keyboard.press('ArrowRight');
  await viewer.getByText('Showing the first \u2068262 kB\u2069').waitFor();
  // By another program, so that the page does not know it.
  assert.ok(site.root !== undefined, 'The site is on disk.');
  await rm(join(site.root, 'd.txt'));
  await viewer.getByRole('button', { name: 'Show more' }).click();
  await viewer.getByText('This file doesn’t exist').waitFor();
}

/** A page of an earlier version offers to reload when code is gone, including the script that the page was started with. */
async function offersNewVersion(page: Page, site: Site): Promise<void> {
  let gone = chunk('viewer', 'upload-model');
  const isGone = (request: Request) => request.method() === 'HEAD' || gone.test(request.url());
  await page.route('**/*.js', (route, request) =>
    isGone(request) ? route.fulfill({ status: 404 }) : route.continue(),
  );
  const alert = page.getByRole('alert').filter({ hasText: 'A new version is available.' });
  await page.goto(`${site.url}?preview=a.txt`);
  await alert.waitFor();
  assert.equal(await alert.getByRole('button', { name: 'Retry' }).count(), 0);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await uploadFiles(page, testFile('new.txt', 'new'));
  await messages(page).getByText('A new version is available.').waitFor();

  gone = chunk('text-preview', 'worker');
  await button(messages(page), 'Reload').click();
  await row(page, 'a.txt').dblclick();
  for (const name of ['a.txt', 'b.md', 'c.csv']) {
    const dialog = isViewerOpen(page, name);
    await dialog.locator(alert).waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Retry' }).count(), 0);
    if (name !== 'c.csv') await page.getByRole('button', { name: 'Next file' }).click();
  }
  await page.unrouteAll();
  await alert.getByRole('button', { name: 'Reload' }).click();
  await isViewerOpen(page, 'c.csv').getByText('second').waitFor();
  await page.keyboard.press('Escape');
  await uploadFiles(page, testFile('new.txt', 'new'));
  await trayShows(page, '1 file uploaded');
  assert.ok(await site.exists('new.txt'));
}

/** The page says so if no texts can be loaded. */
async function saysThatTextsAreMissing(page: Page): Promise<void> {
  await choose(page, 'Settings', '简体中文');
  await button(page, '新建文件夹').waitFor();
  await page.route(chunk('zh-Hans', 'en'), (route) => route.abort());
  await page.reload();
  await page.getByRole('alert').getByText('Couldn’t load this page.').waitFor();
  await page.unrouteAll();
  await page.route(chunk('zh-Hans'), (route) => route.abort());
  await page.getByRole('button', { name: 'Reload' }).click();
  await button(page, 'New folder').waitFor();
}
