import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream';
import { type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { atEnd } from '../../testing/holdall.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { boxOf, row, typeName, waitForTitle } from './elements.ts';
import {
  createAlbum,
  FILES,
  undoButton,
  untilDeleted,
  untilPreviewed,
  untilStored,
  untilThumbnails,
} from './new-user.ts';
import { DESKTOP } from './open-site.ts';
import { type Site, startSite } from './site.ts';
import { dropPaths, keepFoldersClosed, tray, trayShows, waitWhileRepeating } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

/**
 * Starts a reverse proxy that removes the path prefix `path` before it passes requests on. Returns its URL, with the
 * prefix and without a trailing slash.
 */
async function serveBelow(t: TestContext, path: string, site: URL): Promise<string> {
  const proxy = createServer((incoming, answer) => {
    if (!incoming.url?.startsWith(`${path}/`)) return void answer.writeHead(404).end();
    const { method, headers } = incoming;
    const options = {
      host: site.hostname,
      port: site.port,
      path: incoming.url.slice(path.length),
      method,
      headers,
    };
    const outgoing = request(options, (response) => {
      // The browser cancelled the request, for example for a thumbnail of a folder that is no longer shown.
      if (answer.destroyed) return void response.destroy();
      answer.writeHead(response.statusCode ?? 502, response.headers);
      pipeline(response, answer, () => {});
    });
    // A connection that closes on one side closes the other side, too.
    outgoing.on('error', () => answer.destroy());
    pipeline(incoming, outgoing, () => {});
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  atEnd(t, () => {
    proxy.close();
    proxy.closeAllConnections();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${path}`;
}

async function dragTo(page: Page, from: Locator, to: Locator): Promise<void> {
  await keepFoldersClosed(page);
  await from.hover();
  await page.mouse.down();
  const box = await boxOf(to);
  const [x, y] = [box.x + Math.min(60, box.width / 2), box.y + box.height / 2];
  await page.mouse.move(x, y, { steps: 5 });
  await waitWhileRepeating(page.locator('.drop-hint'), () => page.mouse.move(x, y));
}

test('A new user sorts photos with a mouse, with animations, below the path of a reverse proxy and BASE_PATH', async (t) => {
  const files = { ...FILES, 'large.txt': 'x'.repeat(7_000_000) };
  // The URL of the web UI has two prefixes, so that a URL without either of them fails.
  const site = await startSite(t, { store: 'disk', files, settings: { BASE_PATH: '/files' } });
  const url = `${await serveBelow(t, '/team', new URL(site.url))}/files/`;
  const page = await openPage(t, { ...DESKTOP, url: `${url}Projects/holdall`, reducedMotion: false });
  await opensFoldersWithAnimation(page, url);
  await row(page, 'large.txt').dblclick();
  await page
    .getByRole('dialog')
    .getByText(/^x{50}/)
    .first()
    .waitFor();
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');

  await uploadsFolder(site, page, await createAlbum(t));
  await previewsPhotos(page);
  await changesPhotos(site, page);
});

/** The animation does not block input: the second folder is opened while the page changes to the first one. */
async function opensFoldersWithAnimation(page: Page, url: string): Promise<void> {
  await row(page, 'Projects/holdall/main.ts').waitFor();
  await page.evaluate(() => {
    const observer = new MutationObserver(() => {
      const { classList, dataset } = document.documentElement;
      if (classList.contains('of-folder')) dataset['animated'] = 'yes';
    });
    observer.observe(document.documentElement, { attributeFilter: ['class'] });
  });
  const isLoaded = () =>
    page.evaluate(() =>
      performance.getEntriesByType('resource').some(({ name }) => /\/transitions\b.*\.js/.test(name)),
    );
  await becomes(isLoaded, true);
  await page.getByRole('treeitem', { name: 'Music' }).waitFor();
  await page.evaluate(() => {
    for (const name of ['Music', 'Documents']) {
      const item = [...document.querySelectorAll<HTMLElement>('[role="treeitem"]')].find(
        ({ textContent }) => textContent === name,
      );
      item?.click();
    }
  });
  await waitForTitle(page, 'Documents');
  await row(page, 'Documents/plan.md').waitFor();
  const animations = () =>
    page.evaluate(() => {
      const { className, dataset } = document.documentElement;
      return { wasAnimated: dataset['animated'] === 'yes', classes: className };
    });
  await becomes(animations, { wasAnimated: true, classes: '' });

  // Users who prefer less motion see none.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.evaluate(() => delete document.documentElement.dataset['animated']);
  await page.locator('.breadcrumb').getByRole('link', { name: 'Files' }).click();
  await row(page, 'letter.txt').waitFor();
  assert.deepEqual(await animations(), { wasAnimated: false, classes: '' });
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await becomes(() => page.url(), url);
}

async function uploadsFolder(site: Site, page: Page, album: readonly string[]): Promise<void> {
  await page.getByRole('button', { name: 'New folder' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('Holidays');
  await page.getByRole('button', { name: 'Create' }).click();
  await untilStored(site, 'Holidays/');

  await dropPaths(page, row(page, 'Holidays/'), [dirname(album[0] ?? '')]);
  await trayShows(page, '12 files uploaded');
  // The tray closes by itself after a while.
  await tray(page).getByRole('button', { name: 'Close' }).click();
  await tray(page).waitFor({ state: 'detached' });
  await untilStored(site, 'Holidays/Alps/harbour.jpg');
  await row(page, 'Holidays/').dblclick();
  await row(page, 'Holidays/Alps/').dblclick();
  await page.getByRole('button', { name: 'Grid' }).first().click();
  await untilThumbnails(page, 12);
}

async function previewsPhotos(page: Page): Promise<void> {
  const first = row(page, 'Holidays/Alps/alps at dawn.jpg');
  await first.dblclick();
  await untilPreviewed(page, 'alps at dawn.jpg');
  await page.getByRole('button', { name: 'Next file' }).click();
  await untilPreviewed(page, 'balcony.jpg');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

async function changesPhotos(site: Site, page: Page): Promise<void> {
  await row(page, 'Holidays/Alps/coast.jpg').click();
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await typeName(page, 'sea');
  await untilStored(site, 'Holidays/Alps/sea.jpg');
  await untilDeleted(site, 'Holidays/Alps/coast.jpg');

  const up = page.getByRole('navigation').getByRole('link', { name: 'Holidays', exact: true });
  await dragTo(page, row(page, 'Holidays/Alps/lake.png').locator('.sight'), up);
  await page.mouse.up();
  await untilStored(site, 'Holidays/lake.png');
  await undoButton(page, 'lake.png').click();
  await untilStored(site, 'Holidays/Alps/lake.png');
  await untilDeleted(site, 'Holidays/lake.png');

  await row(page, 'Holidays/Alps/dunes.png').click();
  for (const name of ['evening.jpg', 'garden wall.jpg']) {
    await row(page, `Holidays/Alps/${name}`).click({ modifiers: ['Control'] });
  }
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete 3 items' }).waitFor();
  await page.getByRole('button', { name: 'Delete 3 items' }).click();
  for (const name of ['dunes.png', 'evening.jpg', 'garden wall.jpg']) await untilDeleted(site, `Holidays/Alps/${name}`);
  assert.equal((await site.paths()).filter((path) => path.startsWith('Holidays/Alps/')).length, 9);
}
