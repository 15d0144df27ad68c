import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { contents, enterFolder } from './elements.ts';
import { requestsOf } from './intercept.ts';
import { EXCEL, MAIL, openDocument, WORD } from './office-samples.ts';
import { visitSite } from './open-site.ts';
import { CSV, HOSTILE_MARKDOWN, JSON_TEXT, photo, SOURCE_CODE } from './samples.ts';
import type { Site } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const HTML = `<!doctype html><script>alert('ran')</script><p>words</p>`;

const LINE_BYTES = 1_024;

/** Numbered lines of 1 KiB, because browsers lay out a few long lines faster than many short ones. */
function longLines(count: number): Buffer {
  const text = Buffer.alloc(count * LINE_BYTES, ' and so on');
  for (let line = 1; line <= count; line++) text.write(`\nline ${line} `, (line - 1) * LINE_BYTES);
  return text;
}

const FORMATS = {
  '0.txt': longLines(300),
  'a.ts': SOURCE_CODE,
  'b.html': HTML,
  'c.json': JSON_TEXT,
  'd.csv': CSV,
  'e.json': '{"broken": 1,}',
  'f.csv': `number\n${Array.from({ length: 1500 }, (_, index) => `${index}\n`).join('')}`,
};

const BIDI_SOURCE = 'let isAdmin = false; /*\u202e } \u2066if (isAdmin)\u2069 \u2066 begin */\nlet next = 1;';
const BIDI = {
  'a.js': BIDI_SOURCE,
  'b.txt': BIDI_SOURCE,
  'c.json': JSON.stringify({ 'a\u202eb': 'c\u2066d' }),
  'd.csv': 'n\u202ea,m\nx\u2067y,z\n',
  'e.json': JSON.stringify({ a: '\u202ex'.repeat(15_000) }),
};

const MARKDOWN = {
  'x.md': HOSTILE_MARKDOWN,
  // The image of the file fails, so that its handler would run.
  x: 'no image',
  'y.md': '# Top\n\n[file](b.txt) [folder](sub/) [up](../) [root](/c.txt) [below](#far-below)\n\n## Far below\n',
  'b.txt': 'the file b',
  'sub/s.txt': 's',
};

const CELLS =
  '<table:table><table:table-row table:number-rows-repeated="900"><table:table-cell table:number-columns-repeated="200"><text:p>x</text:p></table:table-cell></table:table-row></table:table>';
const OFFICE = {
  '1.docx': WORD,
  '2.xlsx': EXCEL,
  '3.eml': MAIL,
  '4.docx': 'no archive',
  '5.ods': openDocument(CELLS),
};

const inFolder = (folder: string, files: Readonly<Record<string, string | Uint8Array>>) =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));

const next = (page: Page) => page.getByRole('button', { name: 'Next file' }).click();

async function leave(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

test('Texts are shown in their formats and as source, in parts, and hostile ones run nothing', async (t) => {
  const files = {
    ...inFolder('formats', FORMATS),
    ...inFolder('bidi', BIDI),
    ...inFolder('notes', MARKDOWN),
    'photos/coast.jpg': await photo(1, { width: 300, height: 200 }),
    ...inFolder('office', OFFICE),
    'c.txt': 'the file c',
  };
  const { page, site } = await visitSite(t, { files });
  await enterFolder(page, 'formats');
  await loadsInParts(page);
  await formatsCode(page);
  await showsSource(page);
  await formatsJson(page);
  await formatsTables(page);
  await leave(page);

  await enterFolder(page, 'bidi');
  await marksControlCharacters(page);
  await leave(page);

  await enterFolder(page, 'notes');
  await showsMarkdown(page);
  await followsLinks(page, site);
  await rereadsText(page, site);
  await leave(page);

  await enterFolder(page, 'office');
  await showsDocuments(page);
});

async function loadsInParts(page: Page): Promise<void> {
  const region = contents(page);
  const requested = requestsOf(page, '/file/formats/0.txt');
  await page.locator('[data-path="formats/0.txt"]').dblclick();
  await page.getByText('Showing the first \u2068262 kB\u2069 of \u2068307 kB\u2069').waitFor();
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
  // No line is lost or split between the parts, except the first one, which is empty.
  const tornLines = () =>
    lines().evaluateAll((all, length) => {
      const whole = all.slice(1, -1).map(({ textContent }) => textContent ?? '');
      const torn = whole.filter((line, index) => line.length !== length || !line.startsWith(`line ${index + 1} `));
      return [whole.length, torn];
    }, LINE_BYTES - 1);
  await becomes(tornLines, [299, []]);
  assert.match(requested().at(-1)?.range ?? '', /^bytes=262144-/);
  await page.keyboard.press('End');
  await until('it is scrolled', () => region.evaluate((element) => element.scrollTop > 10_000));
}

async function formatsCode(page: Page): Promise<void> {
  await next(page);
  await page.locator('.hljs-keyword', { hasText: 'export' }).waitFor();
  await becomes(() => copied(page), SOURCE_CODE.trimEnd());
}

async function showsSource(page: Page): Promise<void> {
  const wrap = page.getByRole('button', { name: 'Wrap lines' });
  assert.equal(await wrap.getAttribute('aria-pressed'), 'true');
  await page.keyboard.press('w');
  await until('lines run on', async () => (await wrap.getAttribute('aria-pressed')) === 'false');
  await next(page);
  await page.getByRole('dialog', { name: 'b.html' }).waitFor();
  await until('the source is shown', async () => (await copied(page)) === HTML);
}

async function formatsJson(page: Page): Promise<void> {
  const region = contents(page);
  await next(page);
  await region.getByText('"Holdall"').waitFor();
  await region.getByText('a<b>').waitFor();
  await region.getByText('nested').click();
  await until('it is folded', async () => !(await region.getByText('a<b>').isVisible()));
  await page.keyboard.press('s');
  await until('the source is shown', async () => (await copied(page)) === JSON_TEXT.trimEnd());
}

async function formatsTables(page: Page): Promise<void> {
  await next(page);
  await page.getByRole('columnheader', { name: 'price' }).waitFor();
  const second = contents(page).getByRole('row').nth(2).getByRole('cell');
  await becomes(() => second.allInnerTexts(), ['2', '咖啡', '3', 'two\nlines']);
  await page.getByRole('cell', { name: `<img src=x onerror=alert('csv')>` }).waitFor();

  await next(page);
  await page.getByText('This file isn’t valid JSON.').waitFor();
  await next(page);
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
}

/** Control characters are visible, reorder nothing and are copied. */
async function marksControlCharacters(page: Page): Promise<void> {
  const controls = () =>
    page
      .locator('.bidi-control')
      .evaluateAll((all) => all.map((each) => getComputedStyle(each, '::before').content.slice(1, -1)));
  await page.locator('[data-path="bidi/a.js"]').dblclick();
  await page.locator('.hljs-keyword').first().waitFor();
  for (const name of ['a.js', 'b.txt']) {
    await page.getByRole('dialog', { name }).waitFor();
    await becomes(controls, ['⟨U+202E⟩', '⟨U+2066⟩', '⟨U+2069⟩', '⟨U+2066⟩']);
    assert.equal(await copied(page), BIDI_SOURCE);
    await next(page);
  }
  await becomes(controls, ['⟨U+202E⟩', '⟨U+2066⟩']);
  await next(page);
  await becomes(controls, ['⟨U+202E⟩', '⟨U+2067⟩']);

  // One element for each of them would block the page for a minute.
  await next(page);
  await becomes(async () => (await controls()).length, 100);
  const value = contents(page).locator('.value');
  const isLong = async () => ((await value.textContent()) ?? '').length > 20_000;
  assert.equal(await isLong(), false);
  assert.match((await value.textContent()) ?? '', /^"(\u202ex){100}(⟨U\+202E⟩x)+⟨?[^\u202e]*…$/);
  await page.getByRole('button', { name: 'Show more' }).click();
  await becomes(isLong, true);
}

async function showsMarkdown(page: Page): Promise<void> {
  const article = page.getByRole('article');
  await page.locator('[data-path="notes/x.md"]').dblclick();
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
}

async function followsLinks(page: Page, site: Site): Promise<void> {
  const article = page.getByRole('article');
  const source = page.getByRole('button', { name: 'Show source' });
  await source.click();
  await page.getByText(`<script>alert('script')</script>`).waitFor();
  await source.click();
  await article.waitFor();

  await next(page);
  await article.getByRole('heading', { name: 'Far below' }).waitFor();
  const href = (name: string) => article.getByRole('link', { name }).getAttribute('href');
  assert.deepEqual(await Promise.all(['file', 'folder', 'up', 'root'].map(href)), [
    `${site.url}notes/?preview=b.txt`,
    `${site.url}notes/sub/`,
    site.url,
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
}

/** A text is shown completely after another program replaced it by a longer one. */
async function rereadsText(page: Page, site: Site): Promise<void> {
  const long = 'long '.repeat(10_000);
  await site.place({ 'notes/b.txt': long });
  await page.reload();
  await becomes(async () => (await contents(page).innerText()).trim().length, long.trim().length);
}

/** The text of office documents and e-mails is shown, and nothing of them is loaded. */
async function showsDocuments(page: Page): Promise<void> {
  const viewer = page.getByRole('dialog');
  await page.locator('[data-path="office/1.docx"]').dblclick();
  await viewer.getByRole('heading', { name: 'Plan & goals' }).waitFor();
  await viewer.getByRole('cell', { name: 'c', exact: true }).waitFor();
  await viewer.getByText('Text only, and possibly incomplete. Download the file to see all of it.').waitFor();

  await page.keyboard.press('ArrowRight');
  await viewer.getByRole('cell', { name: 'Coffee' }).waitFor();
  await viewer.getByRole('columnheader', { name: 'C' }).getByRole('button').click();
  await viewer.getByRole('button', { name: 'Empty' }).click();
  await viewer.getByRole('cell', { name: 'Coffee' }).waitFor({ state: 'detached' });
  await next(page);
  await viewer.getByText('Jürgen <j@example.org>').waitFor();
  await viewer.getByText('Hello <Ann>').waitFor();
  await viewer.getByText('invoice.pdf').waitFor();
  await next(page);
  await viewer.getByText('The text of this document can’t be shown').waitFor();

  // A sheet with many cells has only the visible rows.
  await next(page);
  await becomes(() => viewer.getByRole('table').getAttribute('aria-rowcount'), '901');
  const rowCount = await viewer.locator('tr').count();
  assert.ok(rowCount < 100, `${rowCount} rows are rendered.`);
}

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
