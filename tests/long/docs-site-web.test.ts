/*
 * The docs site in a browser: only here is every page loaded without an error, and the search used. Building the site takes as
 * long as all other tests of the docs.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { glob, readFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type BuiltSite, buildSite } from '../docs/build-site.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from '../web/axe.ts';
import { becomes } from '../web/becomes.ts';
import { openPage } from '../web/browser.ts';

export const needs: readonly Need[] = ['browser'];

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};

/** A path that the site is served below. */
const BASE = '/some/path/';

describe('The docs site in a browser', () => {
  let site: BuiltSite | undefined;
  let server: Server | undefined;
  let address = '';
  before(async () => {
    site = await buildSite();
    server = serve(site).listen(0, '127.0.0.1');
    await once(server, 'listening');
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`;
  });
  after(async () => {
    server?.close();
    server?.closeAllConnections();
    await site?.remove();
  });

  it('shows every page and its pictures without errors and without requests to other sites', async (t) => {
    const page = await openPage(t, { url: address, width: 'desktop', theme: 'light', language: 'en' });
    const files = await Array.fromAsync(glob('**/*.html', { cwd: site?.folder ?? '' }));
    assert.ok(files.length > 50);
    for (const file of files.filter((name) => name !== '404.html')) {
      await page.goto(`${address}${file}`);
      await page.locator('h1').first().waitFor();
      const broken = await page.evaluate(() =>
        Array.from(document.images)
          .filter((image) => image.complete && image.naturalWidth === 0)
          .map(({ src }) => src),
      );
      assert.deepEqual(broken, [], file);
    }
  });

  it('finds a page by its words, and opens it', async (t) => {
    const page = await openPage(t, { url: address, width: 'desktop', theme: 'light', language: 'en' });
    await page.keyboard.press('Control+k');
    await page.locator('.VPLocalSearchBox input').fill('METRICS_TOKEN');
    await page.locator('.VPLocalSearchBox .result').first().click();
    await becomes(async () => (await page.locator('.vp-doc').textContent())?.includes('METRICS_TOKEN'), true);
  });

  for (const theme of ['light', 'dark'] as const) {
    it(`is readable in the ${theme} theme, with a picture of the same theme`, async (t) => {
      const page = await openPage(t, { url: address, width: 'desktop', theme, language: 'en' });
      const pictures = await page
        .locator('.home-picture:visible')
        .evaluateAll((images) => images.map(({ className }) => className));
      assert.deepEqual(pictures, [`home-picture in-${theme}`]);
      for (const path of ['', 'tutorials/first-run.html', 'reference/settings.html', 'how-to/proxies/nginx.html']) {
        await page.goto(`${address}${path}`);
        await page.locator('h1').first().waitFor();
        const rules = ['color-contrast', 'image-alt', 'link-name', 'button-name', 'heading-order'];
        await assertAccessible(page, t, { state: `${path || 'The home page'} in the ${theme} theme`, rules });
      }
    });
  }

  it('shows the menu of all pages on a phone', async (t) => {
    const url = `${address}how-to/backup.html`;
    const page = await openPage(t, { url, width: 'phone', theme: 'light', language: 'en' });
    await page.locator('.VPLocalNav .menu').click();
    await page.locator('.VPSidebar').getByRole('link', { name: 'Settings', exact: true }).click();
    await page.waitForURL('**/reference/settings.html');
  });
});

/** Serves the files of a site below its path, as any web server does. */
function serve({ folder }: BuiltSite): Server {
  const respond = async (url: string, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(url, 'http://site');
    const file = pathname.startsWith(BASE) ? pathname.slice(BASE.length).replace(/(^|\/)$/, '$1index.html') : '';
    const body = await readFile(join(folder, decodeURIComponent(file))).catch(() => undefined);
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' });
    response.end(body);
  };
  return createServer((request, response) => void respond(request.url ?? '', response));
}
