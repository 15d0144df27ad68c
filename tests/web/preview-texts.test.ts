import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessibleInBothSchemes } from './axe.ts';
import { becomes } from './becomes.ts';
import { contents } from './elements.ts';
import { requestsOf } from './intercept.ts';
import { visitSite } from './open-site.ts';
import { CSV, HOSTILE_MARKDOWN, JSON_TEXT, photo, SOURCE_CODE } from './samples.ts';

export const needs: readonly Need[] = ['browser'];

const HTML = `<!doctype html><script>alert('ran')</script><p>words</p>`;

const LINE_BYTES = 1_024;

/** Numbered lines of 1 KiB, because browsers lay out a few long lines faster than many short ones. */
function longLines(count: number): Buffer {
  const text = Buffer.alloc(count * LINE_BYTES, ' and so on');
  for (let line = 1; line <= count; line++) text.write(`\nline ${line} `, (line - 1) * LINE_BYTES);
  return text;
}

test('Text loads in parts; code, JSON and tables are formatted, and also available as text', async (t) => {
  const files = {
    '0.txt': longLines(2_000),
    'a.ts': SOURCE_CODE,
    'b.html': HTML,
    'c.json': JSON_TEXT,
    'd.csv': CSV,
    'e.json': '{"broken": 1,}',
    'f.csv': `number\n${Array.from({ length: 1500 }, (_, index) => `${index}\n`).join('')}`,
  };
  // The browser may have cached a file of an earlier test at the same URL.
  const { page } = await visitSite(t, { files, visit: { isCacheEmpty: true } });
  const next = () => page.getByRole('button', { name: 'Next file' }).click();
  const region = contents(page);
  const requested = requestsOf(page, '/file/0.txt');
  await page.locator('[data-path="0.txt"]').dblclick();
  await page.getByText('Showing the first \u2068262 kB\u2069 of \u20682 MB\u2069').waitFor();
  assert.deepEqual(
    requested().map(({ range }) => range),
    ['bytes=0-262143'],
  );
  const lines = () => region.locator('.line');
  await becomes(() => lines().count(), 257);
  const showMore = page.getByRole('button', { name: 'Show more' });
  // By key: the button moves while the browser lays out the lines above it, and a click could miss it.
  await becomes(() => showMore.isEnabled(), true);
  await showMore.press('Enter');
  await page.getByText('Showing the first \u20681.3 MB\u2069 of \u20682 MB\u2069').waitFor();
  assert.equal(requested().at(-1)?.range, 'bytes=262144-1310719');
  // No line is lost or split between the parts, except the last one, which continues in the next part.
  const tornLines = () =>
    lines().evaluateAll((all, length) => {
      const whole = all.slice(1, -1).map(({ textContent }) => textContent ?? '');
      const torn = whole.filter((line, index) => line.length !== length || !line.startsWith(`line ${index + 1} `));
      return [whole.length, torn];
    }, LINE_BYTES - 1);
  await becomes(tornLines, [1_279, []]);
  await page.keyboard.press('End');
  await until('it is scrolled', () => region.evaluate((element) => element.scrollTop > 10_000));

  await next();
  await page.locator('.hljs-keyword', { hasText: 'export' }).waitFor();
  await becomes(() => copied(page), SOURCE_CODE.trimEnd());
  await assertAccessibleInBothSchemes(page, t, { state: 'code', isAlwaysDark: true });
  const wrap = page.getByRole('button', { name: 'Wrap lines' });
  assert.equal(await wrap.getAttribute('aria-pressed'), 'true');
  await page.keyboard.press('w');
  await until('lines run on', async () => (await wrap.getAttribute('aria-pressed')) === 'false');
  await next();
  await page.getByRole('dialog', { name: 'b.html' }).waitFor();
  await until('the source is shown', async () => (await copied(page)) === HTML);

  await next();
  await region.getByText('"Holdall"').waitFor();
  await region.getByText('a<b>').waitFor();
  await region.getByText('nested').click();
  await until('it is folded', async () => !(await region.getByText('a<b>').isVisible()));
  if (isFullForm) await assertAccessibleInBothSchemes(page, t, { state: 'JSON' });
  await page.keyboard.press('s');
  await until('the source is shown', async () => (await copied(page)) === JSON_TEXT.trimEnd());

  await next();
  await page.getByRole('columnheader', { name: 'price' }).waitFor();
  const second = contents(page).getByRole('row').nth(2).getByRole('cell');
  await becomes(() => second.allInnerTexts(), ['2', '咖啡', '3', 'two\nlines']);
  await page.getByRole('cell', { name: `<img src=x onerror=alert('csv')>` }).waitFor();
  if (isFullForm) await assertAccessibleInBothSchemes(page, t, { state: 'a table' });

  await next();
  await page.getByText('This file isn’t valid JSON.').waitFor();
  await next();
  await becomes(() => contents(page).getByRole('table').getAttribute('aria-rowcount'), '1501');
  const rowCount = await contents(page).getByRole('row').count();
  assert.ok(rowCount < 150, `${rowCount} rows are rendered.`);
  const cells = () => contents(page).getByRole('row').nth(1).getByRole('cell').allInnerTexts();
  const before = await cells();
  const header = contents(page).getByRole('columnheader').first();
  await header.getByRole('button').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await becomes(() => header.getAttribute('aria-sort'), 'descending');
  await until('the last row is the first one', async () => (await cells())[0] === '1500');
  await page.keyboard.press('End');
  await contents(page).getByRole('cell', { name: '1', exact: true }).first().waitFor();
  await header.getByRole('button').press('Enter');
  await page.keyboard.press('Home');
  await becomes(cells, before);
});

test('Markdown runs no scripts of a hostile file, and links to files, folders and headings', async (t) => {
  const text = '# Top\n\n[file](b.txt) [folder](sub/) [up](../) [root](/c.txt) [below](#far-below)\n\n## Far below\n';
  const files = {
    'a/notes/x.md': HOSTILE_MARKDOWN,
    // The image of the file fails, so that its handler would run.
    'a/notes/x': 'no image',
    'a/notes/y.md': text,
    'a/notes/b.txt': 'the file b',
    'a/notes/sub/s.txt': 's',
    'a/photos/coast.jpg': await photo(1, { width: 300, height: 200 }),
    'c.txt': 'the file c',
  };
  const { page, site } = await visitSite(t, { files, path: 'a/notes/?preview=x.md' });
  const article = page.getByRole('article');
  await article.getByRole('heading', { name: 'Harmless heading', level: 2 }).waitFor();
  await article.getByRole('table').waitFor();
  await until('the picture is there', () =>
    article.getByRole('img', { name: 'local' }).evaluate((image: HTMLImageElement) => image.naturalWidth > 0),
  );
  assert.equal(
    await article.locator('script, iframe, form, style, base, meta, svg:not(.icon), [onerror], [style]').count(),
    0,
  );
  const links = await article.locator('a').evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).protocol));
  assert.deepEqual([...new Set(links)], ['https:']);
  const outward = article.getByRole('link', { name: 'link', exact: true }).first();
  assert.equal(await outward.getAttribute('rel'), 'noopener noreferrer');
  assert.equal(await outward.getAttribute('target'), '_blank');
  assert.equal(
    await article.getByRole('link', { name: 'Image: \u2068image\u2069' }).getAttribute('href'),
    'https://attacker.example/pixel.png',
  );
  // The code block is highlighted last.
  await article.locator('.hljs-name').first().waitFor();
  await assertAccessibleInBothSchemes(page, t, { state: 'Markdown' });
  const source = page.getByRole('button', { name: 'Show source' });
  await source.click();
  await page.getByText(`<script>alert('script')</script>`).waitFor();
  await source.click();
  await article.waitFor();

  await page.getByRole('button', { name: 'Next file' }).click();
  await article.getByRole('heading', { name: 'Far below' }).waitFor();
  const href = (name: string) => article.getByRole('link', { name }).getAttribute('href');
  assert.deepEqual(await Promise.all(['file', 'folder', 'up', 'root'].map(href)), [
    `${site.url}a/notes/?preview=b.txt`,
    `${site.url}a/notes/sub/`,
    `${site.url}a/`,
    `${site.url}?preview=c.txt`,
  ]);
  await article.getByRole('link', { name: 'below' }).click();
  await until('the heading has the focus', () =>
    page.evaluate(() => document.activeElement?.textContent === 'Far below'),
  );
  await article.getByRole('link', { name: 'root' }).click();
  await page.getByRole('dialog', { name: 'c.txt' }).getByText('the file c').waitFor();
  await page.goBack();
  await article.getByRole('link', { name: 'file' }).click();
  await page.getByText('the file b').waitFor();
});

test('Bidirectional control characters in files are visible, reorder nothing and are copied', async (t) => {
  const source = 'let isAdmin = false; /*\u202e } \u2066if (isAdmin)\u2069 \u2066 begin */\nlet next = 1;';
  const files = {
    'a.js': source,
    'b.txt': source,
    'c.json': JSON.stringify({ 'a\u202eb': 'c\u2066d' }),
    'd.csv': 'n\u202ea,m\nx\u2067y,z\n',
    'e.json': JSON.stringify({ a: '\u202ex'.repeat(100_000) }),
  };
  const { page } = await visitSite(t, { files });
  const controls = () =>
    page
      .locator('.bidi-control')
      .evaluateAll((all) => all.map((each) => getComputedStyle(each, '::before').content.slice(1, -1)));
  const next = () => page.getByRole('button', { name: 'Next file' }).click();
  await page.locator('[data-path="a.js"]').dblclick();
  await page.locator('.hljs-keyword').first().waitFor();
  for (const name of ['a.js', 'b.txt']) {
    await page.getByRole('dialog', { name }).waitFor();
    await becomes(controls, ['⟨U+202E⟩', '⟨U+2066⟩', '⟨U+2069⟩', '⟨U+2066⟩']);
    assert.equal(await copied(page), source);
    await next();
  }
  await becomes(controls, ['⟨U+202E⟩', '⟨U+2066⟩']);
  await next();
  await becomes(controls, ['⟨U+202E⟩', '⟨U+2067⟩']);

  // One element for each of them would block the page for a minute.
  await next();
  await becomes(async () => (await controls()).length, 100);
  const value = contents(page).locator('.value');
  const isLong = async () => ((await value.textContent()) ?? '').length > 20_000;
  assert.equal(await isLong(), false);
  assert.match((await value.textContent()) ?? '', /^"(\u202ex){100}(⟨U\+202E⟩x)+⟨?[^\u202e]*…$/);
  await page.getByRole('button', { name: 'Show more' }).click();
  await becomes(isLong, true);
});

/** Returns the lines of a text as the browser copies them. */
function copied(page: Page): Promise<string> {
  return contents(page)
    .locator('.lines')
    .evaluate((lines) => {
      const selection = getSelection();
      selection?.selectAllChildren(lines);
      return String(selection).trimEnd();
    });
}
