// Only this file proves that the PDF viewer of Chromium shows PDF files, also from their own origin, and that a PDF acts on
// nothing. It needs all of Chromium, whose start and pages take twice the CPU time of the headless shell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from '../web/browser.ts';
import { HOSTILE_PDFS, startHostileSite } from '../web/hostile-site.ts';
import { DESKTOP } from '../web/open-site.ts';
import { pdf } from '../web/samples.ts';
import { startSite } from '../web/site.ts';

export const needs: readonly Need[] = ['chromium'];

test('The preview of a PDF shows the PDF viewer of the browser', async (t) => {
  const files = { 'small.pdf': pdf('Small'), 'large.pdf': Buffer.concat([pdf('Large'), Buffer.alloc(7e6, '\n')]) };
  const site = await startSite(t, { store: 'disk', files });
  const contentOrigin = `http://localhost:${new URL(site.url).port}`;
  const page = await openPage(t, {
    ...DESKTOP,
    url: `${site.url}?preview=small.pdf`,
    hasPdfViewer: true,
    allowedOrigins: [contentOrigin],
  });
  await showsPdf(page, `${site.url}file/small.pdf`);
  await page.getByRole('button', { name: 'Previous file' }).click();
  await showsPdf(page, `${site.url}-/signed/`);

  // Otherwise requests of the page could fail while the service restarts.
  await page.goto('about:blank');
  await site.restart({ CONTENT_ORIGIN: contentOrigin });
  await page.goto(`${site.url}?preview=small.pdf`);
  await showsPdf(page, contentOrigin);
});

test('A hostile PDF never acts on the service, opened or framed', async (t) => {
  const { page, acts, urlOf } = await startHostileSite(t, HOSTILE_PDFS, { hasPdfViewer: true });
  for (const file of HOSTILE_PDFS) {
    await page.goto(urlOf(file));
    assert.equal(await page.evaluate(() => document.contentType), 'application/pdf', file.name);
  }
  await page.goto(urlOf({ name: '../-/health/live' }));
  await page.evaluate((sources) => {
    document.body.replaceChildren(...sources.map((src) => Object.assign(document.createElement('iframe'), { src })));
  }, HOSTILE_PDFS.map(urlOf));
  for (const file of HOSTILE_PDFS) await showsPdf(page, urlOf(file));
  assert.deepEqual(acts(), []);
});

/** Waits until a frame of the page has a document whose URL starts with this, and the PDF viewer shows it. */
async function showsPdf(page: Page, url: string): Promise<void> {
  const hasFrame = (start: string) => page.frames().some((frame) => frame.url().startsWith(start));
  await until(`a frame has ${url}`, () => hasFrame(url));
  await until(`the viewer shows ${url}`, () => hasFrame('chrome-extension:'));
}
