import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { HOSTILE_FILES, PAGE, startHostileSite } from './hostile-site.ts';

export const needs: readonly Need[] = ['browser'];

test('A hostile file never acts on the service: opened, framed, or loaded as a script, style or worker', async (t) => {
  const expectedErrors = [
    /^console error: (Refused to|Failed to load) .*\/file\//,
    /^console error: A bad HTTP response code \(403\)/,
  ];
  const { page, url, urlOf, acts } = await startHostileSite(t, HOSTILE_FILES, {
    expectedErrors,
    hasServiceWorker: true,
  });
  const errors: string[] = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  for (const file of HOSTILE_FILES) {
    const { name, shownAs } = file;
    const download = shownAs === undefined ? page.waitForEvent('download') : undefined;
    // A navigation that becomes a download fails.
    await page.goto(urlOf(file)).catch((error: unknown) => assert.ok(download, String(error)));
    if (download) assert.equal((await download).url(), urlOf(file));
    else assert.equal(await page.evaluate(() => document.contentType), shownAs, name);
  }
  assert.deepEqual(acts(), []);

  await page.goto(`${url}-/health/live`);
  const addresses = HOSTILE_FILES.map(urlOf);
  const downloaded: string[] = [];
  const shown: string[] = [];
  page.on('download', (download) => downloaded.push(download.url()));
  page.on('framenavigated', (frame) => shown.push(frame.url()));
  await page.evaluate((sources) => {
    const frames = sources.map((src) => Object.assign(document.createElement('iframe'), { src }));
    document.body.replaceChildren(...frames);
  }, addresses);
  const addressesWhere = (isShown: boolean) =>
    addresses.filter((_address, index) => (HOSTILE_FILES[index]?.shownAs !== undefined) === isShown).toSorted();
  await becomes(() => downloaded.toSorted(), addressesWhere(false));
  await becomes(() => shown.filter((address) => addresses.includes(address)).toSorted(), addressesWhere(true));
  assert.deepEqual([acts(), errors], [[], []]);

  const isLoaded = ({ outcome }: Outcome) => outcome === 'loaded';
  const parts = await page.evaluate(loadAsParts, addresses);
  assert.deepEqual(parts.filter(isLoaded), []);
  const workers = await page.evaluate(
    startAsWorkers,
    addresses.filter((address) => /(code\.js|image\.gif)$/.test(address)),
  );
  assert.deepEqual(workers.filter(isLoaded), []);
  assert.deepEqual([parts.length, workers.length], [addresses.length * 3, 2 * 3]);
  assert.deepEqual(acts(), []);

  // Control: the same content does act when it is a page of the service itself.
  await page.route(`${url}control`, (route) => route.fulfill({ contentType: 'text/html', body: PAGE }));
  await page.goto(`${url}control`);
  await until('the cookie is reported', () => acts().some((act) => act.includes('canary%3Dsings')));
});

interface Outcome {
  readonly address: string;
  readonly as: string;
  /** On a busy machine, Chromium can omit the event of a refused worker. `silent`: the worker did not start in 20 s. */
  readonly outcome: 'loaded' | 'refused' | 'silent';
}

/** Runs in the page. */
async function loadAsParts(addresses: readonly string[]): Promise<Outcome[]> {
  const load = (element: HTMLElement, address: string, as: string) =>
    new Promise<Outcome>((resolve) => {
      element.addEventListener('load', () => resolve({ address, as, outcome: 'loaded' }));
      element.addEventListener('error', () => resolve({ address, as, outcome: 'refused' }));
      document.head.append(element);
    });
  const parts = addresses.flatMap((address) => [
    load(Object.assign(document.createElement('script'), { src: address }), address, 'script'),
    load(Object.assign(document.createElement('script'), { src: address, type: 'module' }), address, 'module'),
    load(Object.assign(document.createElement('link'), { href: address, rel: 'stylesheet' }), address, 'style'),
  ]);
  return await Promise.all(parts);
}

/** Runs in the page. */
async function startAsWorkers(addresses: readonly string[]): Promise<Outcome[]> {
  const deadline = new Promise<'silent'>((resolve) => setTimeout(resolve, 20_000, 'silent'));
  const start = (worker: Worker | SharedWorker, address: string, as: string) =>
    new Promise<Outcome>((resolve) => {
      worker.addEventListener('error', () => resolve({ address, as, outcome: 'refused' }));
      worker.addEventListener('message', () => resolve({ address, as, outcome: 'loaded' }));
      void deadline.then((outcome) => resolve({ address, as, outcome }));
    });
  const register = async (address: string): Promise<Outcome> => {
    const registered = navigator.serviceWorker.register(address).then(
      () => 'loaded' as const,
      () => 'refused' as const,
    );
    return { address, as: 'service worker', outcome: await Promise.race([registered, deadline]) };
  };
  const workers = addresses.flatMap((address) => [
    start(new Worker(address), address, 'worker'),
    start(new SharedWorker(address), address, 'shared worker'),
    register(address),
  ]);
  return await Promise.all(workers);
}
