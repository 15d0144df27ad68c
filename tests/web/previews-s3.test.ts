import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { longText, pdf, photo } from './samples.ts';
import { type Site, startSite } from './site.ts';
import { video } from './video.ts';

export const needs: readonly Need[] = ['browser', 'bucket'];

test('Large files of a bucket are loaded in parts directly from the store, and a bucket without CORS is reported', async (t) => {
  const small = await photo(1, { width: 640, height: 480 });
  const files = {
    'closed/a.txt': longText(7_000_000),
    'closed/b.jpg': Buffer.concat([small, Buffer.alloc(7e6)]),
    'a.txt': longText(7_000_000),
    'b.webm': await video({ seconds: 20, framesPerSecond: 2, minimumBytes: 8e6 }),
    'c.jpg': Buffer.concat([small, Buffer.alloc(7e6)]),
    'd.txt': 'small',
    'e.pdf': Buffer.concat([pdf('Large'), Buffer.alloc(7e6, '\n')]),
  };
  const { page, site } = await visit(t, files);
  await reportsMissingCors(page, site);
  await site.allowCors();
  const [store = ''] = site.bucketOrigins;
  const next = () => page.getByRole('button', { name: 'Next file' }).click();
  const sent: (string | undefined)[] = [];
  page.on('response', (response) => {
    if (response.url().startsWith(store)) sent.push(response.headers()['content-range']);
  });

  // The browser of this test has no PDF viewer: it would save the file that the frame loads.
  await page.addInitScript(() => Object.defineProperty(navigator, 'pdfViewerEnabled', { value: true }));
  await page.goto(`${site.url}?preview=a.txt`);
  await page.getByText('Showing the first \u2068262 kB\u2069 of \u20687 MB\u2069').waitFor();
  await page.getByText('line 40on and so on').waitFor();
  await becomes(() => [...sent], ['bytes 0-262143/7000000']);

  await next();
  const player = page.locator('video');
  await until('its length is known', () => player.evaluate((element: HTMLVideoElement) => element.duration > 19));
  await player.evaluate((element: HTMLVideoElement) => {
    element.currentTime = 15;
  });
  await until('it is there', () =>
    player.evaluate((element: HTMLVideoElement) => !element.seeking && element.readyState >= 2),
  );

  await next();
  const image = page.getByRole('img', { name: 'c.jpg' });
  await until('it is drawn', () => image.evaluate(isDrawn));
  await next();
  await page.getByText('small', { exact: true }).waitFor();

  const framed = page.waitForResponse(
    (response) => response.url().startsWith(store) && response.url().includes('e.pdf'),
  );
  await next();
  const { 'content-type': type, 'content-disposition': disposition } = (await framed).headers();
  assert.deepEqual([type, disposition], ['application/pdf', 'inline']);
});

/** Images are displayed without CORS, too. */
async function reportsMissingCors(page: Page, site: Site): Promise<void> {
  await page.goto(`${site.url}closed/?preview=a.txt`);
  await page.getByText('Couldn’t load this file from the storage').waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('link', { name: 'Download' }).last().click();
  assert.equal((await download).suggestedFilename(), 'a.txt');
  await page.getByRole('button', { name: 'Next file' }).click();
  const image = page.getByRole('img', { name: 'b.jpg' });
  await until('it is drawn', () => image.evaluate(isDrawn));
}

/** A preview is drawn on a canvas, and an original is an image. */
const isDrawn = (element: HTMLImageElement | HTMLCanvasElement) =>
  ('naturalWidth' in element ? element.naturalWidth : element.width) === 640;

async function visit(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<{ page: Page; site: Site }> {
  const site = await startSite(t, { store: 's3', files, cors: false });
  const page = await openPage(t, {
    url: `${site.url}-/session`,
    width: 'desktop',
    theme: 'dark',
    language: 'en',
    allowedOrigins: site.bucketOrigins,
    expectedErrors: [/CORS policy/, /closed\/a\.txt/],
  });
  return { page, site };
}
