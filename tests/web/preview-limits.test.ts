import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { until } from '../process/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { contents, requestsOf, visit } from './preview-visit.ts';
import { photo } from './samples.ts';

export const needs: readonly Need[] = ['browser'];

const MARKDOWN_FALLBACK = 'This Markdown is too long or too complex to display. Showing the source instead.';
const TABLE_FALLBACK = 'This table is too large or too complex to display. Showing the source instead.';

test('Each picture that one steps to can be enlarged', async (t) => {
  const places = ['1', '2', '3', '4', '5', '6'];
  const small = await photo(1, { width: 300, height: 200 });
  const files = Object.fromEntries(places.map((place) => [`${place}.jpg`, small]));
  const { page } = await visit(t, { ...files, '7.txt': 'seven' }, '?preview=1.jpg');
  for (const place of places) {
    await page.locator(`img.picture.loaded[alt="${place}.jpg"]`).waitFor();
    await page.getByRole('button', { name: 'Zoom in' }).waitFor();
    await page.keyboard.press('+');
    await page.getByText(/^Zoom \d+%$/).waitFor();
    await page.keyboard.press('0');
    await page.getByText(/^Zoom \d+%$/).waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowRight');
  }
  await page.getByText('seven').waitFor();
  await page.getByRole('button', { name: 'Wrap lines' }).waitFor();
  await page.getByRole('button', { name: 'Zoom in' }).waitFor({ state: 'detached' });
});

test('Texts that take long leave the page usable, and are shown as source', async (t) => {
  const files = {
    'emphasis.md': '*a_ '.repeat(20_000),
    'links.md': '[a](b) '.repeat(35_000),
    'quotes.md': `${'> '.repeat(1_000)}x`,
    'lists.md': Array.from({ length: 400 }, (_, depth) => `${'  '.repeat(depth)}- x`).join('\n'),
  };
  const { page, site } = await visit(t, files, '');
  for (const name of Object.keys(files)) {
    await page.goto(`${site.url}?preview=${name}`);
    await page.getByText(MARKDOWN_FALLBACK).waitFor({ timeout: 30_000 });
    await contents(page).locator('.line').first().waitFor();
  }
});

test('Markdown of a usual length is laid out, its code coloured, by a worker', async (t) => {
  const text = `&copy; 2026\n\n${'# Heading\n\nSome *words* with a [link](b.txt).\n\n'.repeat(300)}\n\`\`\`js\nconst a = 1;\n\`\`\`\n`;
  const { page } = await visit(t, { 'a.md': text }, '?preview=a.md');
  await page.getByRole('article').locator('.hljs-keyword', { hasText: 'const' }).waitFor();
  await becomes(() => page.getByRole('article').getByRole('heading').count(), 300);
  await page.getByRole('article').getByText('© 2026').waitFor();
  await until('the worker has gone', () => page.workers().length === 0);
});

test('A table with a hostile cell is parsed by a worker, within its time limit', async (t) => {
  // A regular expression that lets spaces, digits and separators alternate backtracks for minutes on this cell.
  const cell = `${' '.repeat(2_000)}${'0,'.repeat(2_000)}${' '.repeat(2_000)}x`;
  const { page } = await visit(t, { 'a.csv': `n,x\n"${cell}",1\n` }, '');
  const started = page.waitForEvent('worker');
  await page.locator('[data-path="a.csv"]').dblclick();
  await contents(page).getByRole('columnheader', { name: 'x' }).waitFor();
  await started;
  await until('the worker has gone', () => page.workers().length === 0);
});

test('A table that the worker does not return is shown as source', async (t) => {
  const { page } = await visit(t, { 'a.csv': 'name,price\ntea,1\n' }, '');
  const failing = "postMessage({ kind: 'ready' }); onmessage = () => { throw new Error('fails'); };";
  await page.route('**/worker-*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: failing }));
  await page.locator('[data-path="a.csv"]').dblclick();
  await page.getByText(TABLE_FALLBACK).waitFor();
  await contents(page).getByText('tea,1').waitFor();
});

test('Markdown that shows nothing is shown as source', async (t) => {
  const { page } = await visit(t, { 'a.md': '<div>\n<p>tags</p>\n</div>\n' }, '?preview=a.md');
  await page.getByText('This Markdown contains only HTML').waitFor();
  await contents(page).getByText('<p>tags</p>').waitFor();
});

test('JSON that is nested deeply is shown as text, and at once', async (t) => {
  const files = {
    'deep.json': '['.repeat(100_000) + ']'.repeat(100_000),
    'names.json': `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
    'long.json': `[${'1,'.repeat(900_000)}1]`,
  };
  const { page, site } = await visit(t, files, '');
  for (const name of ['deep.json', 'names.json'] as const) {
    await page.goto(`${site.url}?preview=${name}`);
    await page.getByText('This JSON is nested too deeply for a tree. Here is its text.').waitFor();
    await contents(page).locator('.line').first().waitFor();
  }
  await page.goto(`${site.url}?preview=long.json`);
  await contents(page).getByText('900,001 items').waitFor();
});

test('JSON is shown with its numbers and keys as they are written', async (t) => {
  const { page } = await visit(
    t,
    { 'a.json': '{"huge": 1e400, "x": "first", "x": "second", "y": 1.0}' },
    '?preview=a.json',
  );
  await contents(page).getByText('1e400').waitFor();
  const values = contents(page).locator('.value');
  await becomes(() => values.allInnerTexts(), ['1e400', '"first"', '"second"', '1.0']);
});

test('An image that browsers do not show says so, with its thumbnail', async (t) => {
  const tiff = await sharp(await photo(1, { width: 300, height: 200 }))
    .tiff()
    .toBuffer();
  const { page } = await visit(t, { 'a.tiff': tiff }, '?preview=a.tiff');
  const viewer = page.getByRole('dialog', { name: 'a.tiff' });
  await viewer.getByText('There is no preview of files of this type.').waitFor();
  await viewer.locator('.preview-notice .thumbnail.loaded img').waitFor();
  await viewer.locator('.preview-notice').getByRole('link', { name: 'Download' }).waitFor();
  assert.equal(await viewer.getByText('damaged').count(), 0);
});

test('Footnotes of Markdown are called so in Chinese', async (t) => {
  const { page } = await visit(t, { 'a.md': 'Words[^1]\n\n[^1]: The note\n' }, '?preview=a.md', { language: 'zh-CN' });
  await page.getByRole('article').getByRole('heading', { name: '脚注' }).waitFor();
  await page.getByRole('article').getByRole('link', { name: '返回正文' }).waitFor();
});

test('A thumbnail that does not come is an icon, and asked for once more', async (t) => {
  const { page } = await visit(t, { 'broken.jpg': 'not a picture' }, '', {
    expectedErrors: [/^console error: .*\b400\b.*\/thumb\/broken\.jpg/],
  });
  const asked = requestsOf(page, '/thumb/');
  const isShown = Promise.withResolvers<void>();
  await page.route('**/thumb/**', async (route) => {
    if (asked().length > 1) await isShown.promise;
    await route.continue();
  });
  await page.reload();
  const row = page.locator('[data-path="broken.jpg"]');
  await row.locator('.entry-icon').waitFor();
  isShown.resolve();
  await until('it is asked for again', () => asked().length === 2);
  await row.locator('.entry-icon').waitFor();
});
