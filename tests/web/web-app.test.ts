import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { button, row, waitForMessage } from './elements.ts';
import { PARTS_AND_TRASH } from './open-site.ts';
import { photo } from './samples.ts';
import { share, WITH_WORKER, waitForWorker } from './sharing.ts';
import { ACCESS, ANN, fillSignInForm, signInHeading, signOut, UNAUTHORIZED } from './signing-in.ts';
import { startSite } from './site.ts';
import { storedText, testFile, trayShows } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = { 'one.txt': '1', 'Docs/old.txt': 'old', 'Photos/cat.txt': 'meow' };

/** Returns the names of all caches. */
const cacheNames = (page: Page): Promise<string[]> => page.evaluate(async () => (await caches.keys()).toSorted());

/**
 * Returns what the worker has stored: the paths of all responses, by the version of the worker. Creates each cache again that is
 * deleted meanwhile.
 */
function cached(page: Page): Promise<Record<string, string[]>> {
  return page.evaluate(async () => {
    const names = await caches.keys();
    const contents = names.map(async (name) => {
      const requests = await (await caches.open(name)).keys();
      return [name, requests.map(({ url }) => new URL(url).pathname)] as const;
    });
    return Object.fromEntries(await Promise.all(contents));
  });
}

/**
 * Starts a reverse proxy below the path `/team`. Its version of the service is that of the next build after `upgrade`: the
 * script of the offline page has another name, and another one is in the service worker.
 */
async function startProxy(t: TestContext, site: URL) {
  let script: string | undefined;
  const isUpgraded = () => script !== undefined;
  const next = 'offline-next.js';
  const sendNextWorker = async (response: IncomingMessage, answer: ServerResponse) => {
    const { 'content-length': _, ...headers } = response.headers;
    const source = (await buffer(response)).toString().replace(script ?? '', next);
    answer.writeHead(200, headers).end(source.replace(/"version":"[^"]*"/, '"version":"next"'));
  };
  const proxy = createServer((incoming, answer) => {
    const path = (incoming.url ?? '').replace('/team', '').replace(next, script ?? next);
    const { method, headers } = incoming;
    // Compressed scripts could not be replaced.
    const sent = { ...headers, 'accept-encoding': 'identity' };
    const options = { host: site.hostname, port: site.port, path, method, headers: sent };
    const outgoing = request(options, (response) => {
      // The browser no longer waits for the response.
      if (answer.destroyed) return void response.destroy();
      if (isUpgraded() && path === '/-/service-worker.js') return void sendNextWorker(response, answer);
      answer.writeHead(response.statusCode ?? 502, response.headers);
      pipeline(response, answer, () => {});
    });
    outgoing.on('error', () => answer.destroy());
    pipeline(incoming, outgoing, () => {});
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const stop = async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  };
  atEnd(t, stop);
  return {
    url: `http://127.0.0.1:${port}/team/`,
    stop,
    start: async () => void (await once(proxy.listen(port, '127.0.0.1'), 'listening')),
    upgrade(offline: string) {
      script = offline;
    },
  };
}

it('Browsers can install the page, and without a connection, an offline page of the newest build continues by itself', async (t) => {
  const site = await startSite(t, {
    store: 'disk',
    files: { ...FILES, 'Photos/dog.jpg': await photo(1, { width: 300, height: 200 }) },
  });
  const proxy = await startProxy(t, new URL(site.url));
  const page = await openPage(t, {
    ...WITH_WORKER,
    url: proxy.url,
    expectedErrors: [/ERR_(CONNECTION_(REFUSED|RESET)|EMPTY_RESPONSE)/, /503/],
  });
  await waitForWorker(page);
  await assertInstallable(page, proxy.url);
  await assertColoursBeforeStart(page);

  // The worker stores no content.
  await page.evaluate(() => caches.open('of another application'));
  await page.goto(`${proxy.url}Photos/`);
  await row(page, 'Photos/cat.txt').click();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByText('meow').waitFor();
  await page.keyboard.press('Escape');

  const found = Object.entries(await cached(page)).filter(([name]) => name.startsWith('holdall'));
  const [version, stored] = found[0] ?? assert.fail('The service worker has a cache.');
  assert.ok(version.startsWith('holdall /team/ '), version);
  assert.ok(stored.length > 0);
  for (const path of stored)
    assert.match(path, /^\/team\/-\/assets\/(early|offline|language|mark|main|page)-[\w-]+\.(js|css|svg)$/);

  proxy.upgrade(
    stored.map((path) => path.slice(path.lastIndexOf('/') + 1)).find((name) => /^offline.*js$/.test(name)) ?? '',
  );
  await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.update());
  await becomes(() => cacheNames(page), ['holdall /team/ next', 'of another application']);
  const upgraded = (await cached(page))['holdall /team/ next'] ?? [];
  assert.ok(upgraded.includes('/team/-/assets/offline-next.js'), upgraded.join());

  await proxy.stop();
  await page.reload();
  await page.getByRole('heading', { name: 'Can’t reach Holdall' }).waitFor();
  assert.equal(await page.locator('script[type="module"]').getAttribute('src'), '/team/-/assets/offline-next.js');
  await assertAccessible(page, t, { state: 'the offline page' });
  await button(page, 'Retry').click();
  await page.getByRole('status').getByText('Still no connection.').waitFor();
  await page.evaluate(() => localStorage.setItem('holdall', JSON.stringify({ language: 'ar', theme: 'dark' })));
  await page.reload();
  await page.locator('html[dir="rtl"][lang="ar"][data-theme="dark"]').waitFor();
  await page.getByRole('heading', { name: 'تعذّر الوصول إلى Holdall' }).waitFor();
  await page.evaluate(() => localStorage.clear());

  await proxy.start();
  await row(page, 'Photos/cat.txt').waitFor();
  assert.equal(page.url(), `${proxy.url}Photos/`);

  await site.restart({ INSTALLABLE: 'false' });
  // The page may still have been about to register the worker: then that is removed when the browser loads a page again.
  await until('the worker is removed', async () => {
    await page.reload();
    return page.evaluate(async () => {
      await (await navigator.serviceWorker.getRegistration())?.update().catch(() => {});
      return (await navigator.serviceWorker.getRegistrations()).length === 0;
    });
  });
  assert.deepEqual(await cacheNames(page), ['of another application']);
});

/** Fails unless browsers can install the page, and its menu offers that while the browser does. */
async function assertInstallable(page: Page, root: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  // The windows of tests are private ones.
  assert.deepEqual(
    installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'),
    [],
  );
  const { url, errors } = await session.send('Page.getAppManifest');
  assert.deepEqual([url, errors], [`${root}-/manifest.webmanifest`, []]);
  await session.detach();
  const menuItem = page.getByRole('menuitem', { name: 'Install app' });
  const openMenu = async () => {
    await button(page, 'Actions').or(button(page, 'More')).last().click();
    await page.getByRole('menu').waitFor();
  };
  await openMenu();
  assert.equal(await menuItem.count(), 0);
  await page.keyboard.press('Escape');
  const isCancelled = await page.evaluate(() => {
    const prompt = () => void (document.title = 'asked');
    const offer = Object.assign(new Event('beforeinstallprompt', { cancelable: true }), { prompt });
    return !window.dispatchEvent(offer);
  });
  assert.ok(isCancelled, 'The browser shows no question of its own.');
  await openMenu();
  await menuItem.click();
  assert.equal(await page.title(), 'asked');
  await openMenu();
  assert.equal(await menuItem.count(), 0);
  await page.keyboard.press('Escape');
}

/** Fails unless the colours of the window before the page has started are those of the page, in both themes. */
async function assertColoursBeforeStart(page: Page): Promise<void> {
  for (const theme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    const [sent, shown] = await page.evaluate(async (scheme) => {
      const response = await fetch('./', { headers: { accept: 'text/html' } });
      const selector = new RegExp(`media="\\(prefers-color-scheme: ${scheme}\\)" content="(#\\w+)"`);
      const content = selector.exec(await response.text())?.[1] ?? '';
      const context = new OffscreenCanvas(1, 1).getContext('2d');
      return [content, getComputedStyle(document.documentElement).backgroundColor].map((colour) => {
        if (context) context.fillStyle = colour;
        context?.fillRect(0, 0, 1, 1);
        return context?.getImageData(0, 0, 1, 1).data.join();
      });
    }, theme);
    assert.equal(sent, shown, theme);
  }
}

/** Returns the number of shares in the browser. Their database can be empty: a page that reads it creates it. */
function countShares(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const resultOf = <Result>(pending: IDBRequest<Result>) =>
      new Promise<Result>((resolve, reject) => {
        pending.addEventListener('success', () => resolve(pending.result));
        pending.addEventListener('error', () => reject(pending.error ?? new Error('The request failed.')));
      });
    const databases = (await indexedDB.databases()).filter(({ name }) => name?.startsWith('holdall-shares'));
    const counts = databases.map(async ({ name = '' }) => {
      const database = await resultOf(indexedDB.open(name));
      if (!database.objectStoreNames.contains('shares')) return 0;
      return resultOf(database.transaction('shares').objectStore('shares').count());
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  });
}

it('What another app shares is uploaded to the chosen folder, and deleted when the user signs out', async (t) => {
  const site = await startSite(t, { store: 'disk', files: FILES, access: ACCESS, settings: PARTS_AND_TRASH });
  const foreign = 'http://apps.example.org';
  const page = await openPage(t, {
    ...WITH_WORKER,
    url: site.url,
    allowedOrigins: [foreign],
    expectedErrors: [UNAUTHORIZED],
  });
  const root = site.url;
  await waitForWorker(page);

  // After signing in, the user chooses a folder.
  await share(page, { root, files: [testFile('IMG 1.txt', 'one'), testFile('Übersicht.txt', 'two')] });
  await signInHeading(page).waitFor();
  await fillSignInForm(page, ANN);
  await button(page, 'Sign in').click();
  const files = page.getByRole('dialog', { name: 'Save 2 files to…' });
  await files.getByText('Übersicht.txt').waitFor();
  await files.getByText('Another app or website sent this.').waitFor();
  await files.getByRole('option', { name: 'Docs' }).click();
  await files.getByRole('navigation').getByText('Docs').waitFor();
  assert.equal(await site.exists('Docs/IMG 1.txt'), false);
  await button(files, 'Save here').click();
  await trayShows(page, '2 files uploaded');
  await row(page, 'Docs/IMG 1.txt').waitFor();
  assert.deepEqual(
    [await storedText(site, 'Docs/IMG 1.txt'), await storedText(site, 'Docs/Übersicht.txt')],
    ['one', 'two'],
  );

  // A page of another site can't share.
  await page.route(`${foreign}/`, (route) => route.fulfill({ contentType: 'text/html', body: '' }));
  await share(page, { root, from: `${foreign}/`, files: [testFile('hostile.txt', 'x')] });
  await waitForMessage(page, 'Couldn’t receive the shared files.');
  assert.equal(await page.getByRole('dialog').count(), 0);

  // Signing out deletes what is not saved.
  await share(page, { root, files: [testFile('secret.txt', 'x')] });
  await page.getByRole('dialog', { name: /^Save .*secret\.txt.* to…$/ }).waitFor();
  assert.notEqual(await countShares(page), 0);
  await page.goto(root);
  await signOut(page);
  await signInHeading(page).waitFor();
  assert.equal(await countShares(page), 0);
});
