/*
 * Whether tests of the web UI share a service and a browser without finding anything of each other. It tests the fixtures, and
 * not Holdall: a change of them is rare.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import { openPage, type Visit } from '../web/browser.ts';
import { type SiteOptions, startSite } from '../web/site.ts';

export const needs: readonly Need[] = ['browser'];

/** The state of a page that an earlier test could have left. */
function storageOf(page: Page) {
  return page.evaluate(async () => {
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      const opening = indexedDB.open('left');
      opening.addEventListener('success', () => resolve(opening.result));
      opening.addEventListener('error', () => reject(new Error('IndexedDB is not available.')));
    });
    // An open connection would block an upgrade.
    database.close();
    return {
      cookies: document.cookie,
      // The page remembers its own preferences.
      local: Object.keys(localStorage).filter((key) => key !== 'holdall'),
      session: Object.keys(sessionStorage),
      databaseVersion: database.version,
      caches: await caches.keys(),
      clipboard: (await navigator.permissions.query({ name: 'clipboard-read' as PermissionName })).state,
      width: innerWidth,
      isOnline: navigator.onLine,
      isDark: matchMedia('(prefers-color-scheme: dark)').matches,
    };
  });
}

/** Writes to every kind of storage. */
function fillStorage(page: Page): Promise<void> {
  return page.evaluate(async () => {
    document.cookie = 'left=1';
    localStorage.setItem('left', '1');
    sessionStorage.setItem('left', '1');
    const { promise: opened, resolve: open } = Promise.withResolvers<IDBDatabase>();
    const opening = indexedDB.open('left', 7);
    opening.addEventListener('success', () => open(opening.result));
    (await opened).close();
    await caches.open('left');
  });
}

describe('Two tests of the same file', () => {
  const site: SiteOptions = { store: 'disk', files: { 'a.txt': 'a', 'folder/b.txt': 'b' } };
  const visit: Omit<Visit, 'url'> = { width: 'desktop', theme: 'light', language: 'en' };
  const clean = {
    cookies: '',
    local: [],
    session: [],
    databaseVersion: 1,
    caches: [],
    clipboard: 'prompt',
    width: 1440,
    isOnline: true,
    isDark: false,
  };
  const seen: { url: string; browser: unknown }[] = [];

  it('start with an empty browser', async (t) => {
    const { url, place } = await startSite(t, site);
    await place({ 'left.txt': 'left', 'left/left.txt': 'left' });
    const page = await openPage(t, { ...visit, url: `${url}-/session`, expectedErrors: [/404.*left-behind/] });
    // A stream that lasts as long as the page would keep the network from being idle.
    await page.route('**/-/changes?*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: 'id: 1\n\n' }),
    );
    await page.goto(url);
    assert.deepEqual(await storageOf(page), clean);
    await fillStorage(page);
    const context = page.context();
    await context.grantPermissions(['clipboard-read']);
    await context.route('**/file/a.txt', (route) => route.fulfill({ body: 'intercepted' }));
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 500, height: 500 });
    await page.evaluate(async () => (await fetch('file/left-behind')).text());
    await page.evaluate(() => window.open('about:blank'));
    await page.waitForLoadState('networkidle');
    await context.setOffline(true);
    const { isOnline, isDark, clipboard, width, local } = await storageOf(page);
    assert.deepEqual(
      { isOnline, isDark, clipboard, width, local },
      { isOnline: false, isDark: true, clipboard: 'granted', width: 500, local: ['left'] },
    );
    seen.push({ url, browser: context });
  });

  it('share the service and the context, but no state', async (t) => {
    const { url, paths, exists, log } = await startSite(t, site);
    assert.deepEqual(log(), []);
    const page = await openPage(t, { ...visit, url });
    assert.equal(url, seen[0]?.url);
    assert.ok(page.context() === seen[0]?.browser);
    assert.deepEqual(await storageOf(page), clean);
    assert.deepEqual(page.context().pages(), [page]);
    assert.equal(await page.evaluate(async () => (await fetch('file/a.txt')).text()), 'a');
    assert.deepEqual(await paths(), ['a.txt', 'folder/b.txt']);
    assert.equal(await exists('left/'), false);
    await becomes(
      () =>
        log()
          .map(({ path }) => path)
          .includes('/file/a.txt'),
      true,
    );
    assert.ok(!JSON.stringify(log()).includes('left-behind'));

    // A test that opens two pages gets two contexts. It may change their clocks.
    const other = await openPage(t, { ...visit, url: `${url}-/session` });
    await fillStorage(page);
    assert.deepEqual(await storageOf(other), clean);
    for (const each of [page, other]) {
      await each.clock.install({ time: 0 });
      assert.equal(await each.evaluate(() => new Date().getFullYear()), 1970);
    }
  });

  it('use the real time after one of them changed the clock', async (t) => {
    const { url, stop } = await startSite(t, site);
    const page = await openPage(t, { ...visit, url: `${url}-/session` });
    assert.notEqual(await page.evaluate(() => new Date().getFullYear()), 1970);
    // The next test gets another service.
    assert.equal(url, seen[0]?.url);
    await stop();
  });

  it('use separate services after one of them stopped its own, and when their settings differ', async (t) => {
    const urls = [
      seen[0]?.url,
      (await startSite(t, site)).url,
      (await startSite(t, { ...site, settings: { READ_ONLY: 'true' } })).url,
      (await startSite(t, { ...site, isOwn: true })).url,
    ];
    assert.equal(new Set(urls).size, 4);
  });
});
