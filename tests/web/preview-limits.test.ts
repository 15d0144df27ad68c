import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { contents } from './elements.ts';
import { requestsOf } from './intercept.ts';
import { DESKTOP, visitSite } from './open-site.ts';
import { NESTED_SVG } from './samples.ts';
import { startSite } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const MARKDOWN_FALLBACK = 'This file is too long or complex to format. Showing the source.';
const TABLE_FALLBACK = 'This table is too large or complex. Showing the source.';

test('A text that is hostile, too large or not rendered falls back to its source', async (t) => {
  // A regular expression that lets spaces, digits and separators alternate backtracks for minutes on this cell.
  const cell = `${' '.repeat(2_000)}${'0,'.repeat(2_000)}${' '.repeat(2_000)}x`;
  const files = {
    '1.csv': `n,x\n"${cell}",1\n`,
    '2.md': '*a_ '.repeat(20_000),
    '3.md': `${'> '.repeat(1_000)}x`,
    '4.md': '<div>\n<!-- a comment -->\n</div>\n',
    '5.json': '['.repeat(100_000) + ']'.repeat(100_000),
    '6.json': `[${'1,'.repeat(200_000)}1]`,
    '7.json': '{"huge": 1e400, "x": "first", "x": "second", "y": 1.0}',
    '8.csv': 'name,price\ntea,1\n',
  };
  const { page } = await visitSite(t, { files });
  const next = () => page.getByRole('button', { name: 'Next file' }).click();
  const started = page.waitForEvent('worker');
  await page.locator('[data-path="1.csv"]').dblclick();
  await contents(page).getByRole('columnheader', { name: 'x' }).waitFor();
  await started;
  await until('the worker has ended', () => page.workers().length === 0);

  // The worker would take minutes, so its timeout ends it.
  await page.clock.install();
  const busy = page.waitForEvent('worker');
  await next();
  await busy;
  const fallback = page.getByRole('dialog', { name: '2.md' }).getByText(MARKDOWN_FALLBACK);
  await until('the timeout has ended the worker', async () => {
    await page.clock.fastForward(5_000);
    return page.workers().length === 0 && (await fallback.isVisible());
  });
  await contents(page).locator('.line').first().waitFor();
  await next();
  await page.getByRole('dialog', { name: '3.md' }).getByText(MARKDOWN_FALLBACK).waitFor();
  await contents(page).locator('.line').first().waitFor();
  await next();
  await page.getByText('This file has no text to show').waitFor();
  await contents(page).getByText('<!-- a comment -->').waitFor();

  await next();
  await page.getByText('This JSON is nested too deeply for a tree. Showing it as text.').waitFor();
  await contents(page).locator('.line').first().waitFor();
  await next();
  await contents(page).getByText('200,001 items').waitFor();
  await next();
  await contents(page).getByText('1e400').waitFor();
  await becomes(() => contents(page).locator('.value').allInnerTexts(), ['1e400', '"first"', '"second"', '1.0']);

  const failing = "postMessage({ kind: 'ready' }); onmessage = () => { throw new Error('fails'); };";
  await page.route('**/worker-*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: failing }));
  await next();
  await page.getByText(TABLE_FALLBACK).waitFor();
  await contents(page).getByText('tea,1').waitFor();
});

test('A text is shown completely after another program replaced it by a longer one', IN_FULL_FORM_ONLY, async (t) => {
  const { page, site } = await visitSite(t, { files: { 'a.txt': 'short' }, path: '?preview=a.txt' });
  await contents(page).getByText('short').waitFor();
  await writeFile(join(site.root ?? '', 'a.txt'), 'long '.repeat(10_000));
  await page.reload();
  await becomes(async () => (await contents(page).innerText()).trim().length, 'long '.repeat(10_000).trim().length);
});

test('A thumbnail that fails to load becomes an icon, and is requested again', IN_FULL_FORM_ONLY, async (t) => {
  const site = await startSite(t, { store: 'disk', files: { 'broken.jpg': 'not a picture' } });
  const expectedErrors = [/^console error: .*\b400\b.*\/thumb\/broken\.jpg/];
  const page = await openPage(t, { ...DESKTOP, url: `${site.url}-/session`, expectedErrors });
  const requests = requestsOf(page, '/thumb/');
  const isShown = Promise.withResolvers<void>();
  await page.route('**/thumb/**', async (route) => {
    if (requests().length > 1) await isShown.promise;
    await route.continue();
  });
  // The load event would wait for the held request.
  await page.goto(site.url, { waitUntil: 'domcontentloaded' });
  const row = page.locator('[data-path="broken.jpg"]');
  await row.locator('.entry-icon').waitFor();
  isShown.resolve();
  await until('the thumbnail is requested again', () => requests().length === 2);
  await row.locator('.entry-icon').waitFor();
});

test(
  'An SVG that would freeze the page is neither preloaded nor drawn, until the user asks for it',
  IN_FULL_FORM_ONLY,
  async (t) => {
    const turbulence = '<filter id="f"><feTurbulence/></filter><rect width="60" height="40" filter="url(#f)"/>';
    const files = {
      'a.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><rect width="9" height="9"/></svg>',
      'b.svg': NESTED_SVG,
      'c.svg': `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40">${turbulence}</svg>`,
      'd.md': '![drawing](b.svg) ![](c.svg)',
    };
    const { page, site } = await visitSite(t, { files });
    const requests = requestsOf(page, '/file/');
    const viewer = page.getByRole('dialog');
    const next = () => viewer.getByRole('button', { name: 'Next file' }).click();
    const isDrawn = (name: string, width: number) =>
      until(`${name} is drawn`, () =>
        viewer
          .getByRole('img', { name })
          .evaluate((image: HTMLImageElement, wanted) => image.naturalWidth === wanted, width),
      );
    await page.locator('[data-path="a.svg"]').dblclick();
    await isDrawn('a.svg', 30);
    await next();
    await viewer.getByText('This image is complex').waitFor();
    assert.deepEqual(
      requests().map(({ url }) => url),
      ['a.svg', 'b.svg'].map((name) => `${site.url}file/${name}`),
    );
    await next();
    await viewer.getByRole('button', { name: 'Show anyway' }).click();
    await isDrawn('c.svg', 60);

    await next();
    const link = page.getByRole('article').getByRole('link', { name: 'Image: \u2068drawing\u2069' });
    assert.equal(await link.getAttribute('href'), `${site.url}?preview=b.svg`);
    assert.equal(await page.getByRole('article').getByRole('img').count(), 0);
  },
);
