import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../process/until.ts';
import { assertAccessible } from './axe.ts';
import { openPage, type Visit } from './browser.ts';
import { CSV, HOSTILE_MARKDOWN, JSON_TEXT, longText, pdf, photo, SCRIPTED_SVG, SOURCE_CODE, wav } from './samples.ts';
import { fillFolder, type Site, startSite } from './site.ts';
import { video } from './video.ts';

test('A preview opens from its link, leads to the files beside it, and going back leads to the folder', async (t) => {
  const files = { 'a/1.txt': 'one', 'a/2.txt': 'two', 'a/between/x.txt': 'x', 'a/10.txt': 'ten' };
  const { page } = await visit(t, files, 'a/');
  await page.locator('[data-path="a/1.txt"]').dblclick();
  const viewer = page.getByRole('dialog', { name: '1.txt' });
  await viewer.getByText('one').waitFor();
  assert.equal(new URL(page.url()).searchParams.get('preview'), '1.txt');
  await viewer.getByText('1 of 3').filter({ visible: true }).waitFor();
  assert.ok(await viewer.getByRole('button', { name: 'Previous file' }).isDisabled());

  await page.keyboard.press('ArrowRight');
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();
  await page.getByRole('button', { name: 'Next file' }).click();
  const last = page.getByRole('dialog', { name: '10.txt' });
  await last.getByText('ten').waitFor();
  // The button that was pressed can't be pressed any more, and keys go on.
  await page.keyboard.press('ArrowLeft');
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();

  await page.reload();
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).search, '');
  assert.equal(new URL(page.url()).pathname, '/a/');
});

test('Escape closes a preview once, and the focus is on the file that was shown last', async (t) => {
  const { page, site } = await visit(t, { 'a/1.txt': 'one', 'a/2.txt': 'two' }, '');
  await page.locator('[data-path="a/"]').dblclick();
  await page.locator('[data-path="a/1.txt"]').click();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: '1.txt' }).waitFor();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();
  // As Escape does, twice before the browser has gone back.
  await page.getByRole('dialog').evaluate((dialog) => {
    for (let times = 0; times < 2; times++) dialog.dispatchEvent(new Event('cancel', { cancelable: true }));
  });
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await focusIsOn(page, 'a/2.txt');
  assert.equal(page.url(), `${site.url}a/`);

  await page.goto(`${site.url}a/?preview=2.txt`);
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await focusIsOn(page, 'a/2.txt');
  assert.equal(page.url(), `${site.url}a/`);
});

test('An image is fitted, enlarged by keys, wheel and double click, and moved', async (t) => {
  const files = { '1.jpg': await photo(1, { width: 2400, height: 1600 }), '2.jpg': await photo(2), '3.txt': 'three' };
  const { page } = await visit(t, files, '?preview=1.jpg');
  const asked = requestsOf(page, '/file/');
  const image = page.getByRole('img', { name: '1.jpg' });
  const box = () => boxOf(image);
  await until('the image is there', () => image.evaluate((element: HTMLImageElement) => element.naturalWidth === 2400));
  const fitted = await box();
  assert.ok(fitted.width <= 1440 && fitted.height <= 860 && fitted.width > 1000, JSON.stringify(fitted));
  await until('the next image is asked for', () => asked().some(({ url }) => url.endsWith('/file/2.jpg')) || undefined);

  await page.keyboard.press('+');
  await until('it is larger', async () => (await box()).width > fitted.width * 1.4);
  await page.getByText(/^Zoom \d+%$/).waitFor();
  const before = (await box()).x;
  await page.keyboard.press('ArrowRight');
  await until('it is moved', async () => (await box()).x < before - 20);
  // It is still the same image: the arrow did not lead on.
  await page.getByRole('dialog', { name: '1.jpg' }).waitFor();
  await assertAccessible(page, t, { state: 'an enlarged image' });
  await page.keyboard.press('0');
  await until('it is fitted', async () => Math.abs((await box()).width - fitted.width) < 1);

  await page.mouse.move(720, 450);
  await page.mouse.wheel(0, -400);
  await until('it is larger', async () => (await box()).width > fitted.width * 1.5);
  const dragged = (await box()).y;
  await page.mouse.down();
  await page.mouse.move(720, 400, { steps: 3 });
  await page.mouse.up();
  await until('it is dragged', async () => (await box()).y < dragged - 30);
  await page.mouse.dblclick(720, 450);
  await until('it is fitted', async () => Math.abs((await box()).width - fitted.width) < 1);
  await page.mouse.dblclick(720, 450);
  await until('it has its own size', async () => Math.abs((await box()).width - 2400) < 1);
});

test('An SVG is drawn and runs nothing, and what is no image says so', async (t) => {
  const files = { 'a.svg': SCRIPTED_SVG, 'b.jpg': 'not an image' };
  const { page, site } = await visit(t, files, '?preview=a.svg', { expectedErrors: [/thumb\/b\.jpg/] });
  const image = page.getByRole('img', { name: 'a.svg' });
  await until('it is drawn', () => image.evaluate((element: HTMLImageElement) => element.naturalWidth === 300));
  await image.click();
  await page.goto(`${site.url}?preview=b.jpg`);
  await page.getByText('This image can’t be shown.').waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('link', { name: 'Download' }).last().click();
  assert.equal((await download).suggestedFilename(), 'b.jpg');
  await assertAccessible(page, t, { state: 'a broken image' });
});

test('A large video is sought in by ranges, a sound plays, and what can’t be played says so', async (t) => {
  const files = { 'a.webm': await video({ seconds: 20, minimumBytes: 8e6 }), 'b.wav': wav(3), 'c.mp4': 'no video' };
  const { page, site } = await visit(t, files, '?preview=a.webm');
  const player = page.locator('video');
  await until('its length is known', () => player.evaluate((element: HTMLVideoElement) => element.duration > 19));
  assert.ok(await player.evaluate((element: HTMLVideoElement) => element.paused));
  const ranges = requestsOf(page, '/-/signed/');
  await player.evaluate((element: HTMLVideoElement) => {
    element.currentTime = 15;
  });
  await until('it is there', () =>
    player.evaluate(
      (element: HTMLVideoElement) => !element.seeking && element.currentTime === 15 && element.readyState >= 2,
    ),
  );
  assert.ok(
    ranges().every(({ range }) => range !== undefined && range.startsWith('bytes=')),
    JSON.stringify(ranges()),
  );
  await assertAccessible(page, t, { state: 'a video' });

  await page.goto(`${site.url}?preview=b.wav`);
  await until('its length is known', () =>
    page.locator('audio').evaluate((element: HTMLAudioElement) => Math.round(element.duration) === 3),
  );
  await page.goto(`${site.url}?preview=c.mp4`);
  await page.getByText('This browser can’t play the file.').waitFor();
});

test('A PDF is shown in the viewer of the browser, a large one too', async (t) => {
  const files = { 'a.pdf': pdf('Small'), 'b.pdf': Buffer.concat([pdf('Large'), Buffer.alloc(7e6, '\n')]) };
  const { page, site } = await visit(t, files, '?preview=a.pdf');
  for (const name of ['a.pdf', 'b.pdf']) {
    await page.goto(`${site.url}?preview=${name}`);
    const frame = page.frameLocator(`iframe[title="${name}"]`);
    await frame.locator('embed, pdf-viewer, body').first().waitFor({ state: 'attached' });
    const found = await until(
      'the frame has the file',
      () =>
        page.frames().some((each) => each.url().includes(name === 'a.pdf' ? '/file/a.pdf' : '/-/signed/')) || undefined,
    );
    assert.ok(found);
  }
});

test('A text of 20 MB is read from its beginning, in parts', async (t) => {
  const { page } = await visit(t, { 'a.txt': longText(20_000_000) }, '');
  const asked = requestsOf(page, '/file/a.txt');
  await page.locator('[data-path="a.txt"]').dblclick();
  await page.getByText('Showing the first 262 kB of 20 MB').waitFor();
  assert.deepEqual(
    asked().map(({ range }) => range),
    ['bytes=0-262143'],
  );
  const region = contents(page);
  const lines = () => region.locator('.line').allTextContents();
  assert.equal((await lines()).length, 3278);
  await assertAccessible(page, t, { state: 'a long text' });
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByText('Showing the first 1.3 MB of 20 MB').waitFor();
  assert.equal(asked().at(-1)?.range, 'bytes=262144-1310719');
  // No line was lost or torn where the parts meet, but the last one, of which more is to come.
  const numbers = (await lines()).slice(1, -1).map((line) => Number.parseInt(line.slice('line '.length), 10));
  assert.deepEqual(
    numbers,
    Array.from({ length: 16_383 }, (_, index) => index + 1),
  );
  await page.keyboard.press('End');
  await until('it is scrolled', () => region.evaluate((element) => element.scrollTop > 10_000));
});

test('Code is coloured and numbered, HTML is shown as source, and old encodings are read', async (t) => {
  const files = {
    'a.ts': SOURCE_CODE,
    'b.html': `<!doctype html><script>alert('ran')</script><p>words</p>\n`,
    'c.txt': Buffer.from('\ufeffwide characters ✓', 'utf16le'),
    'd.txt': Buffer.from('caf\xe9', 'latin1'),
    Dockerfile: 'FROM scratch\n',
  };
  const { page, site } = await visit(t, files, '?preview=a.ts');
  await page.locator('.hljs-keyword', { hasText: 'export' }).waitFor();
  assert.equal(await copied(page), SOURCE_CODE.trimEnd());
  await assertAccessible(page, t, { state: 'code' });
  const wrap = page.getByRole('button', { name: 'Wrap lines' });
  assert.equal(await wrap.getAttribute('aria-pressed'), 'true');
  await page.keyboard.press('w');
  await until('lines run on', async () => (await wrap.getAttribute('aria-pressed')) === 'false');

  for (const [name, words] of [
    ['b.html', `<!doctype html><script>alert('ran')</script><p>words</p>`],
    ['c.txt', 'wide characters ✓'],
    ['d.txt', 'café'],
    ['Dockerfile', 'FROM scratch'],
  ] as const) {
    await page.goto(`${site.url}?preview=${name}`);
    await until(`${name} is read`, async () => (await copied(page)) === words);
  }
});

test('Hostile Markdown does nothing, and what is harmless in it is shown', async (t) => {
  const files = {
    'a/notes/x.md': HOSTILE_MARKDOWN,
    'a/photos/coast.jpg': await photo(1),
    'a/notes/other.txt': 'other',
  };
  const { page } = await visit(t, files, 'a/notes/?preview=x.md');
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
    await article.getByRole('link', { name: 'Image: image' }).getAttribute('href'),
    'https://attacker.example/pixel.png',
  );
  await assertAccessible(page, t, { state: 'Markdown' });

  await page.getByRole('button', { name: 'Show the source' }).click();
  await page.getByText(`<script>alert('script')</script>`).waitFor();
});

test('Links of Markdown lead to files, folders and headings', async (t) => {
  const text = '# Top\n\n[file](b.txt) [folder](sub/) [up](../) [root](/c.txt) [below](#far-below)\n\n## Far below\n';
  const { page, site } = await visit(
    t,
    { 'a/x.md': text, 'a/b.txt': 'the file b', 'a/sub/s.txt': 's', 'c.txt': 'the file c' },
    '',
  );
  const href = (name: string) => page.getByRole('article').getByRole('link', { name }).getAttribute('href');
  await page.goto(`${site.url}a/?preview=x.md`);
  await page.getByRole('article').waitFor();
  assert.deepEqual(await Promise.all(['file', 'folder', 'up', 'root'].map(href)), [
    `${site.url}a/?preview=b.txt`,
    `${site.url}a/sub/`,
    site.url,
    `${site.url}?preview=c.txt`,
  ]);
  await page.getByRole('article').getByRole('link', { name: 'below' }).click();
  await until('the heading has the focus', () =>
    page.evaluate(() => document.activeElement?.textContent === 'Far below'),
  );
  await page.getByRole('article').getByRole('link', { name: 'root' }).click();
  await page.getByRole('dialog', { name: 'c.txt' }).getByText('the file c').waitFor();
  await page.goBack();
  await page.getByRole('article').getByRole('link', { name: 'file' }).click();
  await page.getByText('the file b').waitFor();
});

test('JSON is a tree, separated values are a table, and both can be seen as text', async (t) => {
  const files = {
    'a.json': JSON_TEXT,
    'b.csv': CSV,
    'c.json': '{"broken": 1,}',
    'd.json': '{"long": 12345678901234567890}',
    'e.csv': `number\n${'7\n'.repeat(1500)}`,
  };
  const { page, site } = await visit(t, files, '?preview=a.json');
  const region = contents(page);
  await region.getByText('"Holdall"').waitFor();
  assert.ok(await region.getByText('a<b>').isVisible());
  await region.getByText('nested').click();
  await until('it is folded', async () => !(await region.getByText('a<b>').isVisible()));
  await assertAccessible(page, t, { state: 'JSON' });
  await page.keyboard.press('s');
  await until('the source is shown', async () => (await copied(page)) === JSON_TEXT.trimEnd());

  await page.goto(`${site.url}?preview=b.csv`);
  await page.getByRole('columnheader', { name: 'price' }).waitFor();
  assert.deepEqual(await contents(page).getByRole('row').nth(2).getByRole('cell').allInnerTexts(), [
    '2',
    '咖啡',
    '3',
    'two\nlines',
  ]);
  await page.getByRole('cell', { name: `<img src=x onerror=alert('csv')>` }).waitFor();
  await assertAccessible(page, t, { state: 'a table' });

  await page.goto(`${site.url}?preview=c.json`);
  await page.getByText('This is no valid JSON.').waitFor();
  await page.goto(`${site.url}?preview=d.json`);
  await page.getByText('12345678901234567890').waitFor();
  await page.goto(`${site.url}?preview=e.csv`);
  await page.getByText('Showing the first 1,000 of 1,500 rows').waitFor();
  assert.equal(await contents(page).getByRole('row').count(), 1001);
});

test('Files of no known type, empty and missing ones say what they are', async (t) => {
  const files = { 'a.bin': Buffer.from([0, 1, 2, 3]), 'b.txt': '', 'c.iso': Buffer.alloc(2e6) };
  const { page, site } = await visit(t, files, '?preview=a.bin');
  const viewer = page.getByRole('dialog');
  await viewer.getByText('There is no preview of files of this type.').waitFor();
  await viewer.getByText('BIN file · 4 bytes').waitFor();
  await assertAccessible(page, t, { state: 'an unknown type' });
  await page.goto(`${site.url}?preview=b.txt`);
  await viewer.getByText('This file is empty.').waitFor();
  const asked = requestsOf(page, '/file/');
  await page.goto(`${site.url}?preview=c.iso`);
  await viewer.getByText('There is no preview of files of this type.').waitFor();
  assert.deepEqual(asked(), []);

  await page.goto(`${site.url}?preview=missing.txt`);
  await viewer.getByText('There is no such file.').waitFor();
  await assertAccessible(page, t, { state: 'a missing file' });
  await viewer.getByRole('button', { name: 'Back to the folder' }).click();
  await viewer.waitFor({ state: 'detached' });
  assert.equal(page.url(), site.url);
});

test('A file that the listing has not come to yet is waited for', async (t) => {
  const { page, site } = await visit(t, {}, '');
  await fillFolder(site, 'a/', 1500);
  const names = (await site.paths()).toSorted();
  const last = names.at(-1)?.slice('a/'.length) ?? '';
  const held = Promise.withResolvers<void>();
  await page.route('**/?prefix=a*cursor=*', async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto(`${site.url}a/?preview=${last}`);
  const viewer = page.getByRole('dialog', { name: last });
  await viewer.getByText('Loading…').waitFor();
  held.resolve();
  await viewer.getByText('1,500 of 1,500').filter({ visible: true }).waitFor();
  await contents(page).waitFor();
});

test('In the dark and in Chinese, previews are as accessible', async (t) => {
  const files = { 'a.ts': SOURCE_CODE, 'b.md': HOSTILE_MARKDOWN, 'c.json': JSON_TEXT, 'd.csv': CSV };
  const { page, site } = await visit(t, files, '', { theme: 'dark', language: 'zh-CN' });
  for (const [name, part] of [
    ['a.ts', '.hljs-string'],
    ['b.md', '.markdown .hljs-name'],
    ['c.json', '.json .string'],
    ['d.csv', 'th[scope]'],
  ] as const) {
    await page.goto(`${site.url}?preview=${name}`);
    await page.locator(part).first().waitFor();
    await assertAccessible(page, t, { state: `${name} in the dark` });
  }
  await page.getByRole('dialog').getByRole('button', { name: '详细信息' }).click();
  await page.getByRole('dialog').getByText('CSV 表格').waitFor();
});

test('What is deleted, cut off or refused while it is looked at is told of, with a way on', async (t) => {
  const files = { '1.txt': longText(600_000), '2.md': '# Words' };
  const expectedErrors = [/file\/1\.txt/, /file\/2\.md/, /markdown-preview/];
  const { page, site } = await visit(t, files, '?preview=1.txt', { expectedErrors });
  const viewer = page.getByRole('dialog');
  await viewer.getByText('Showing the first 262 kB').waitFor();
  const answer = await fetch(`${site.url}delete/1.txt`, { method: 'DELETE' });
  assert.equal(answer.status, 200);
  await viewer.getByRole('button', { name: 'Show more' }).click();
  await viewer.getByText('There is no such file.').waitFor();

  // What shows it can't be loaded, at first.
  await page.route('**/markdown-preview-*.js', (route) => route.abort());
  await page.goto(`${site.url}?preview=2.md`);
  await viewer.getByText('What shows this file could not be loaded.').waitFor();
  await assertAccessible(page, t, { state: 'a preview that was not loaded' });
  await page.unroute('**/markdown-preview-*.js');
  await page.route('**/file/2.md', (route) => route.abort());
  await viewer.getByRole('button', { name: 'Retry' }).click();
  await viewer.getByText('The service can’t be reached.').waitFor();
  await page.unroute('**/file/2.md');
  await viewer.getByRole('button', { name: 'Retry' }).click();
  await viewer.getByRole('heading', { name: 'Words' }).waitFor();
});

test('Details tell what is known of what is selected', async (t) => {
  const files = { 'sub/a.txt': 'a', 'sub/b.txt': 'bb', 'photo.jpg': await photo(1), 'text.txt': 'x'.repeat(1234) };
  const { page, site } = await visit(t, files, '', { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.keyboard.press('Alt+Enter');
  const sheet = page.getByRole('complementary', { name: 'Details' });
  await sheet.getByText('3 items').waitFor();
  await page.locator('[data-path="text.txt"]').click();
  await sheet.getByText('Plain text').waitFor();
  await sheet.getByText('1,234 bytes').waitFor();
  await sheet.getByText('text/plain').waitFor();
  await assertAccessible(page, t, { state: 'details' });
  await sheet.getByRole('button', { name: 'Copy the link' }).click();
  await sheet.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${site.url}file/text.txt`);

  await page.locator('[data-path="sub/"]').click();
  await sheet.getByRole('button', { name: 'Count the items' }).click();
  await sheet.getByText('2 items').waitFor();
  await page.locator('[data-path="text.txt"]').click({ modifiers: ['ControlOrMeta'] });
  await sheet.getByText('2 selected').waitFor();
  await sheet.getByRole('button', { name: 'Close the details' }).click();
  await sheet.waitFor({ state: 'detached' });

  await page.locator('[data-path="photo.jpg"]').dblclick();
  await page.getByRole('dialog').getByRole('button', { name: 'Details' }).click();
  await page.getByRole('dialog').getByRole('complementary').getByText('JPEG image').waitFor();
  await assertAccessible(page, t, { state: 'a preview with details' });
});

test('On a phone, fingers lead on and out, and details come from below and go by going back', async (t) => {
  const files = { '1.jpg': await photo(1), '2.jpg': await photo(2) };
  const { page, site } = await visit(t, files, '', { width: 'phone' });
  await page.goto(`${site.url}?preview=1.jpg`);
  await page.getByRole('img', { name: '1.jpg' }).waitFor();
  await assertAccessible(page, t, { state: 'an image on a phone' });
  await swipe(page, [300, 350], [80, 360]);
  await page.getByRole('dialog', { name: '2.jpg' }).waitFor();
  await swipe(page, [80, 350], [300, 340]);
  await page.getByRole('dialog', { name: '1.jpg' }).waitFor();

  await page.getByRole('button', { name: 'Details' }).click();
  const sheet = page.getByRole('dialog', { name: 'Details' });
  await sheet.getByText('JPEG image').waitFor();
  await assertAccessible(page, t, { state: 'details on a phone' });
  await page.goBack();
  await sheet.waitFor({ state: 'detached' });
  await page.getByRole('dialog', { name: '1.jpg' }).waitFor();

  await swipe(page, [180, 300], [190, 520]);
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(page.url(), site.url);
});

async function visit(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
  place: string,
  options: Partial<Visit> = {},
): Promise<{ page: Page; site: Site }> {
  const site = await startSite(t, { store: 'disk', files });
  const page = await openPage(t, {
    url: site.url + place,
    width: 'desktop',
    theme: 'light',
    language: 'en',
    ...options,
  });
  return { page, site };
}

/** The requests that the page sends from now on, whose URL has `part` in it. */
function requestsOf(page: Page, part: string): () => readonly { url: string; range: string | undefined }[] {
  const requests: { url: string; range: string | undefined }[] = [];
  page.on('request', (request) => {
    if (request.url().includes(part)) requests.push({ url: request.url(), range: request.headers()['range'] });
  });
  return () => requests;
}

async function boxOf(locator: Locator) {
  const box = await locator.boundingBox();
  assert.ok(box, 'It is on the page.');
  return box;
}

/** The region in which a preview shows what is in the file. */
function contents(page: Page): Locator {
  return page.getByRole('region', { name: 'Contents of' });
}

/** The lines of a text as they come out of the clipboard. */
function copied(page: Page): Promise<string> {
  return contents(page)
    .locator('.lines')
    .evaluate((lines) => {
      const selection = getSelection();
      selection?.selectAllChildren(lines);
      return String(selection).trimEnd();
    });
}

async function focusIsOn(page: Page, path: string): Promise<void> {
  await until(`the focus is on ${path}`, () =>
    page.evaluate((wanted) => document.activeElement?.getAttribute('data-path') === wanted, path),
  );
}

/** One finger, from one point of the window to another. */
async function swipe(page: Page, from: readonly [number, number], to: readonly [number, number]): Promise<void> {
  const debug = await page.context().newCDPSession(page);
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', points: readonly (readonly [number, number])[]) =>
    debug.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y]) => ({ x, y })) });
  await send('touchStart', [from]);
  for (const part of [0.3, 0.6, 1]) {
    await send('touchMove', [[from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part]]);
  }
  await send('touchEnd', []);
  await debug.detach();
}
