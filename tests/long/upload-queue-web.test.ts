/*
 * 10,000 files in one queue, and a file of 2 GiB that continues after the service was killed. The ordinary tests upload 80 files,
 * and six parts: only here would a queue that lists folders for each file, or sends acknowledged gigabytes again, take too long.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from '../web/browser.ts';
import { DESKTOP, openSite } from '../web/open-site.ts';
import { startSite } from '../web/site.ts';
import { openFileChooser, trayShows, uploadFolder, uploadRow } from '../web/uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = 10_000;
const FOLDERS = 20;

/** The maximum number of uploads at a time. */
const MAX_PARALLEL = 6;

describe('A folder of 10,000 small files', () => {
  it('is uploaded with a few requests at a time, and without listing folders again for each file', async (t) => {
    const local = join(await temporaryFolder(t), 'many');
    for (let folder = 0; folder < FOLDERS; folder++) {
      const path = join(local, `folder ${folder}`);
      await mkdir(path, { recursive: true });
      for (let file = 0; file < FILES / FOLDERS; file++) await writeFile(join(path, `${file}.txt`), `file ${file}`);
    }
    const { site, page } = await openSite(t, { isOwn: true });
    let [active, mostActive, listings] = [0, 0, 0];
    const isUpload = (url: string) => url.endsWith('/upload');
    page.on('request', (request) => {
      if (request.method() === 'GET' && new URL(request.url()).searchParams.has('prefix')) listings++;
      if (isUpload(request.url())) mostActive = Math.max(mostActive, ++active);
    });
    page.on('requestfinished', (request) => {
      if (isUpload(request.url())) active--;
    });
    await watchLongTasks(page);
    const start = performance.now();
    await uploadFolder(page, local);
    await trayShows(page, `${FILES.toLocaleString('en-US')} files uploaded`, { timeoutMs: 0 });
    const seconds = (performance.now() - start) / 1000;
    t.diagnostic(`${seconds.toFixed(1)} s, at most ${mostActive} at a time, ${listings} listings`);
    t.diagnostic(JSON.stringify(await readLongTasks(page)));
    assert.ok(mostActive >= 3 && mostActive <= MAX_PARALLEL, `${mostActive} uploads at a time`);
    assert.ok(listings <= 2, `${listings} listings`);
    assert.equal((await site.paths()).filter((path) => !path.endsWith('/')).length, FILES);
  });
});

const GIB = 2 ** 30;

describe('A file of 2 GiB', () => {
  it('is complete after the service was killed and the page reloaded, and no acknowledged byte was sent again', async (t) => {
    const path = join(await temporaryFolder(t), 'large.bin');
    await writeLarge(path, 2 * GIB);
    const site = await startSite(t, { store: 'disk', isProcess: true });
    const proxy = await startCountingProxy(t, Number(new URL(site.url).port));
    const page = await openPage(t, { ...DESKTOP, url: proxy.url, expectedErrors: [/.*/] });
    page.on('dialog', (dialog) => void dialog.accept());
    let acknowledged = 0;
    const repeated: number[] = [];
    page.on('request', (request) => {
      const offset = Number(request.headers()['upload-offset'] ?? Number.NaN);
      if (offset < acknowledged) repeated.push(offset);
    });
    page.on('response', (response) => {
      const offset = Number(response.headers()['upload-offset'] ?? Number.NaN);
      if (response.ok() && offset > acknowledged) acknowledged = offset;
    });
    const choose = async (name: string) => {
      const button = page.getByRole('button', { name, exact: true });
      await (await openFileChooser(page, () => button.click())).setFiles(path);
    };
    await page.locator('html[data-listing="complete"]').waitFor();
    const start = performance.now();
    await choose('Upload');
    await until('a third is stored', () => acknowledged > GIB / 2);
    await site.kill();
    await trayShows(page, 'Waiting for a connection…');
    // The service is still down, so that the page can't be loaded.
    await page.reload().catch(() => {});
    await site.restart();
    await page.goto(proxy.url);
    await uploadRow(page, 'large.bin')
      .getByText(/ of .* GB/)
      .waitFor();
    const before = acknowledged;
    const chooser = await openFileChooser(page, () =>
      uploadRow(page, 'large.bin')
        .getByRole('button', { name: /Choose file/ })
        .click(),
    );
    await chooser.setFiles(path);
    await trayShows(page, '1 file uploaded', { timeoutMs: 0 });
    const sent = proxy.received();
    t.diagnostic(
      `${((performance.now() - start) / 1000).toFixed(0)} s; ${before} bytes acknowledged before; ` +
        `${sent} bytes received, ${sent - 2 * GIB} more than the file`,
    );
    assert.deepEqual(repeated, []);
    assert.ok(before >= GIB / 2);
    assert.equal(await hashOf(join(String(site.root), 'large.bin')), await hashOf(path));
    // At most the part that was on its way when the service was killed is sent again, and the headers.
    assert.ok(sent < 2 * GIB + 65 * 2 ** 20, `${sent} bytes`);
  });
});

/** Writes a file that differs in each MiB, without using as much space. */
async function writeLarge(path: string, size: number): Promise<void> {
  const file = await open(path, 'w');
  await file.truncate(size);
  for (let at = 0; at < size; at += 2 ** 20) await file.write(`at ${at}`, at);
  await file.close();
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), hash);
  return hash.digest('hex');
}

/** Starts a TCP proxy that counts the bytes of the clients that the service received. */
async function startCountingProxy(t: TestContext, port: number): Promise<{ url: string; received: () => number }> {
  let received = 0;
  const server = createServer((client) => {
    const service = connect(port, '127.0.0.1');
    client.on('data', (chunk) => {
      received += chunk.length;
    });
    client.pipe(service).pipe(client);
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(t, () => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received: () => received };
}

/** Records the tasks of the page that take 50 ms or longer, and its greatest heap. */
function watchLongTasks(page: Page): Promise<void> {
  return page.evaluate(() => {
    const tasks: number[] = [];
    const figures = { tasks, heap: 0 };
    Object.assign(window, { figures });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: 'longtask', buffered: true });
    setInterval(() => {
      const memory: unknown = Reflect.get(performance, 'memory');
      figures.heap = Math.max(figures.heap, Number(Reflect.get(Object(memory), 'usedJSHeapSize')));
    }, 1000);
  });
}

interface Figures {
  readonly tasks: readonly number[];
  readonly heap: number;
}

/** Returns the number of long tasks, their longest and total milliseconds, and the greatest heap in megabytes. */
async function readLongTasks(page: Page) {
  const { tasks, heap } = await page.evaluate(() => Reflect.get(window, 'figures') as Figures);
  return {
    longTasks: tasks.length,
    longestMs: Math.round(Math.max(0, ...tasks)),
    totalMs: Math.round(tasks.reduce((sum, task) => sum + task, 0)),
    heapMb: Math.round(heap / 1e6),
  };
}
