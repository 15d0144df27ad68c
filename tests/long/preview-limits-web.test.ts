// Texts at the limits of previews, with workers that are busy, fail or are stopped. The rules are proven in tests/web/models; only this
// file finds a limit that the page does not apply. Its texts are large.
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import { contents } from '../web/elements.ts';
import { openSite } from '../web/open-site.ts';

export const needs: readonly Need[] = ['browser'];

// A regular expression that lets spaces, digits and separators alternate backtracks for minutes on this cell.
const SLOW_CELL = `${' '.repeat(2_000)}${'0,'.repeat(2_000)}${' '.repeat(2_000)}x`;
const LIMITS = {
  '1.csv': `n,x\n"${SLOW_CELL}",1\n`,
  '2.md': '*a_ '.repeat(20_000),
  '3.md': `${'> '.repeat(1_000)}x`,
  '4.md': '<div>\n<!-- a comment -->\n</div>\n',
  '5.json': '['.repeat(100_000) + ']'.repeat(100_000),
  '6.json': `[${'1,'.repeat(200_000)}1]`,
  '7.json': '{"huge": 1e400, "x": "first", "x": "second", "y": 1.0}',
  '8.csv': 'name,price\ntea,1\n',
};

const MARKDOWN_FALLBACK = 'This file is too long or complex to format. Showing the source.';
const TABLE_FALLBACK = 'This table is too large or complex. Showing the source.';

const next = (page: Page) => page.getByRole('button', { name: 'Next file' }).click();

test('A text that is hostile, too large or not rendered is shown as its source', async (t) => {
  const files = Object.fromEntries(Object.entries(LIMITS).map(([name, content]) => [`limits/${name}`, content]));
  const { page } = await openSite(t, { files, folder: 'limits/' });
  await fallsBackToSource(page);
});

async function fallsBackToSource(page: Page): Promise<void> {
  const started = page.waitForEvent('worker');
  await page.locator('[data-path="limits/1.csv"]').dblclick();
  await contents(page).getByRole('columnheader', { name: 'x' }).waitFor();
  await started;
  await until('the worker has ended', () => page.workers().length === 0);

  // The worker would take minutes, so its timeout ends it.
  await page.clock.install();
  const busy = page.waitForEvent('worker');
  await next(page);
  await busy;
  const fallback = page.getByRole('dialog', { name: '2.md' }).getByText(MARKDOWN_FALLBACK);
  await until('the timeout has ended the worker', async () => {
    await page.clock.fastForward(5_000);
    return page.workers().length === 0 && (await fallback.isVisible());
  });
  await contents(page).locator('.line').first().waitFor();
  await next(page);
  await page.getByRole('dialog', { name: '3.md' }).getByText(MARKDOWN_FALLBACK).waitFor();
  await contents(page).locator('.line').first().waitFor();
  await next(page);
  await page.getByText('This file has no text to show').waitFor();
  await contents(page).getByText('<!-- a comment -->').waitFor();

  await next(page);
  await page.getByText('This JSON is nested too deeply for a tree. Showing it as text.').waitFor();
  await contents(page).locator('.line').first().waitFor();
  await next(page);
  await contents(page).getByText('200,001 items').waitFor();
  await next(page);
  await contents(page).getByText('1e400').waitFor();
  await becomes(() => contents(page).locator('.value').allInnerTexts(), ['1e400', '"first"', '"second"', '1.0']);

  const failing = "postMessage({ kind: 'ready' }); onmessage = () => { throw new Error('fails'); };";
  await page.route('**/worker-*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: failing }));
  await next(page);
  await page.getByText(TABLE_FALLBACK).waitFor();
  await contents(page).getByText('tea,1').waitFor();
}
