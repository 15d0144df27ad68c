import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page, Request, Route } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import {
  button,
  choose,
  contents,
  messages,
  row,
  selectedPaths,
  waitForElementFocus,
  waitForFocus,
  waitForMessage,
  waitForTitle,
} from './elements.ts';
import { visitSite } from './open-site.ts';
import { longText } from './samples.ts';
import type { Site } from './site.ts';
import { testFile, trayShows, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'a.txt': 'first',
  'b.md': '# Words',
  'c.csv': 'first,second',
  'd.txt': longText(600_000),
  'two.txt': '2',
  'Docs/': '',
};

const chunk = (...names: readonly string[]) => new RegExp(`/(?:${names.join('|')})-[\\w-]+\\.js$`);

/** How the page loads chunks of code: held until the mode changes, with a failure, or as usual. */
type Mode = 'hold' | 'fail' | 'pass';

/** Decides how the page loads chunks, which it may preload at any time. Returns a function that changes that. */
async function controlChunks(page: Page, initial: Readonly<Record<string, Mode>>) {
  const modes = new Map(Object.entries(initial));
  const waiting: { readonly name: string; readonly route: Route }[] = [];
  const settle = (name: string, route: Route) => {
    const mode = modes.get(name);
    if (mode === 'hold') return void waiting.push({ name, route });
    return mode === 'fail' ? route.abort() : route.continue();
  };
  await page.route(chunk(...modes.keys()), (route, request) => {
    const name = [...modes.keys()].find((each) => request.url().includes(`/${each}-`));
    return name === undefined ? route.continue() : settle(name, route);
  });
  return {
    isHeld: (name: string) => waiting.some((each) => each.name === name),
    async set(name: string, mode: Mode) {
      modes.set(name, mode);
      for (const each of waiting.splice(0)) await settle(each.name, each.route);
    },
  };
}

type Chunks = Awaited<ReturnType<typeof controlChunks>>;

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
    'dialog-prompts': 'hold',
    palette: 'hold',
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
  await chunks.set('name-field', 'hold');
  await page.goto(`${site.url}?preview=a.txt`);
  await retriesPreviews(page, site, chunks);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await keepsTypedKeys(page, site, chunks);
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

/** Keys that are typed while a field or dialog loads are for it, and never for the list. */
async function keepsTypedKeys(page: Page, site: Site, chunks: Chunks): Promise<void> {
  await row(page, 'two.txt').click();
  await page.keyboard.press('Alt+n');
  await page.keyboard.type('three');
  await page.keyboard.press('Enter');
  assert.deepEqual(await selectedPaths(page), ['two.txt']);
  await chunks.set('dialog-prompts', 'pass');
  await waitForFocus(page, 'three/');
  await until('the folder exists', () => site.exists('three/'));

  await row(page, 'two.txt').click();
  await page.keyboard.press('F2');
  await page.keyboard.type('unox');
  for (const key of ['Backspace', 'Enter', 'ArrowDown', 'Delete', 't', 'Enter']) await page.keyboard.press(key);
  assert.deepEqual([await selectedPaths(page), await page.getByRole('dialog').count()], [['two.txt'], 0]);
  await chunks.set('name-field', 'pass');
  await waitForFocus(page, 'uno.txt');
  await until('the file has its new name', () => site.exists('uno.txt'));

  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.type('Docs');
  await page.keyboard.press('Enter');
  await chunks.set('palette', 'pass');
  await waitForTitle(page, 'Docs');
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
