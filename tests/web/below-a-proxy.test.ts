import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { it, type TestContext } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { button, choose, row } from './elements.ts';
import { photo } from './samples.ts';
import { startSite } from './site.ts';
import { testFile, trayShows, uploadFiles } from './uploading.ts';

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

it(
  'The web UI works below the path of a reverse proxy and BASE_PATH, in the language of the browser',
  IN_FULL_FORM_ONLY,
  async (t) => {
    const files = {
      'photos/cat.jpg': await photo(3, { width: 480, height: 320 }),
      'photos/2026/deep.txt': 'deep',
      'large.txt': 'x'.repeat(7_000_000),
    };
    // The URL of the web UI has two prefixes, so a URL without either of them fails.
    const site = await startSite(t, { store: 'disk', files, settings: { BASE_PATH: '/files' }, isOwn: true });
    const url = `${await serveBelow(t, '/team', new URL(site.url))}/files/`;
    const page = await openPage(t, { url, width: 'desktop', theme: 'light', language: 'zh-CN' });

    await row(page, 'photos/').dblclick();
    await row(page, 'photos/2026/').waitFor();
    await becomes(() => page.url(), `${url}photos/`);
    await until('the thumbnail is drawn', async () => (await page.locator('.thumbnail.loaded img').count()) === 1);
    await row(page, 'photos/cat.jpg').dblclick();
    await page.getByRole('dialog').getByRole('img', { name: 'cat.jpg' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.breadcrumb').getByRole('link').first().click();
    await row(page, 'large.txt').dblclick();
    await page
      .getByRole('dialog')
      .getByText(/^x{50}/)
      .first()
      .waitFor();
    await page.goBack();
    await page.goto(`${url}photos/2026`);
    await row(page, 'photos/2026/deep.txt').waitFor();

    await button(page, '新建文件夹').waitFor();
    await becomes(() => page.locator('html').getAttribute('lang'), 'zh-Hans');
    await row(page, 'photos/2026/deep.txt').hover();
    await button(row(page, 'photos/2026/deep.txt'), '\u2068deep.txt\u2069 的更多操作').click();
    await page.getByRole('menu').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    // The entry is no longer selected, so the toolbar is that of the folder again.
    await page.keyboard.press('Escape');
    await choose(page, '设置', 'English');
    await uploadFiles(page, testFile('new.txt', 'new'));
    await trayShows(page, '1 file uploaded');
    assert.equal((await site.read('photos/2026/new.txt')).toString(), 'new');
  },
);
