import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { openPage } from './browser.ts';
import { boxOf, contents } from './elements.ts';
import { requestsOf } from './intercept.ts';
import { DESKTOP, visitSite } from './open-site.ts';
import { longText, photo, SCRIPTED_SVG, wav } from './samples.ts';
import { fillFolder, startSite } from './site.ts';
import { video } from './video.ts';

export const needs: readonly Need[] = ['browser'];

test('A preview opens by link and by key, shows the next and previous files, and returns to the folder', async (t) => {
  const files = { 'a/1.txt': 'one', 'a/2.txt': 'two', 'a/between/x.txt': 'x', 'a/10.txt': 'ten' };
  const { page, site } = await visitSite(t, { files });
  await page.locator('[data-path="a/"]').dblclick();
  await page.locator('[data-path="a/1.txt"]').dblclick();
  const viewer = page.getByRole('dialog', { name: '1.txt' });
  await viewer.getByText('one').waitFor();
  await becomes(() => new URL(page.url()).searchParams.get('preview'), '1.txt');
  await viewer.getByText('1 of 3').filter({ visible: true }).waitFor();
  await becomes(() => viewer.getByRole('button', { name: 'Previous file' }).isDisabled(), true);

  await page.keyboard.press('ArrowRight');
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();
  await page.getByRole('button', { name: 'Next file' }).click();
  const last = page.getByRole('dialog', { name: '10.txt' });
  await last.getByText('ten').waitFor();
  // The pressed button is disabled now, but keys still work.
  await page.keyboard.press('ArrowLeft');
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();

  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await becomes(() => page.url(), `${site.url}a/`);

  await page.locator('[data-path="a/1.txt"]').click();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: '1.txt' }).waitFor();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();
  // Presses Escape twice before the browser has gone back.
  await page.getByRole('dialog').evaluate((dialog) => {
    for (let times = 0; times < 2; times++) dialog.dispatchEvent(new Event('cancel', { cancelable: true }));
  });
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await focusIsOn(page, 'a/2.txt');
  await becomes(() => page.url(), `${site.url}a/`);

  await page.goto(`${site.url}a/?preview=2.txt`);
  await page.getByRole('dialog', { name: '2.txt' }).getByText('two').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await focusIsOn(page, 'a/2.txt');
  await becomes(() => page.url(), `${site.url}a/`);
});

test('An image fits into the window, and can be zoomed by keys, wheel and double click, and dragged', async (t) => {
  const small = await photo(2, { width: 300, height: 200 });
  const files = {
    '1.jpg': await photo(1, { width: 2400, height: 1600 }),
    '2.jpg': small,
    '3.jpg': small,
    '4.txt': 'four',
  };
  const { page } = await visitSite(t, { files });
  const requested = requestsOf(page, '/file/');
  await page.locator('[data-path="1.jpg"]').dblclick();
  const image = page.getByRole('dialog').getByRole('img', { name: '1.jpg' });
  const box = () => boxOf(image);
  await until('the image is there', () => image.evaluate((element: HTMLImageElement) => element.naturalWidth === 2400));
  const fitted = await until('it is fitted', async () => {
    const { width, height } = await box();
    return width <= 1440 && height <= 860 && width > 1000 ? { width, height } : undefined;
  });
  await until(
    'the next image is asked for',
    () => requested().some(({ url }) => url.includes('/file/2.jpg?')) || undefined,
  );

  await page.keyboard.press('+');
  await until('it is larger', async () => (await box()).width > fitted.width * 1.4);
  await page.getByText(/^Zoom \u2068\d+%\u2069$/).waitFor();
  const before = (await box()).x;
  await page.keyboard.press('ArrowRight');
  await until('it is moved', async () => (await box()).x < before - 20);
  // The arrow key moved the image, and did not show the next file.
  await page.getByRole('dialog', { name: '1.jpg' }).waitFor();
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

  for (const name of ['2.jpg', '3.jpg']) {
    await page.keyboard.press('0');
    await page.getByText(/^Zoom \u2068\d+%\u2069$/).waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowRight');
    await page.locator(`img.picture.loaded[alt="${name}"]`).waitFor();
    await page.getByRole('button', { name: 'Zoom in' }).waitFor();
    await page.keyboard.press('+');
    await page.getByText(/^Zoom \u2068\d+%\u2069$/).waitFor();
  }
  await page.keyboard.press('0');
  await page.getByText(/^Zoom \u2068\d+%\u2069$/).waitFor({ state: 'detached' });
  await page.keyboard.press('ArrowRight');
  await page.getByText('four').waitFor();
  await page.getByRole('button', { name: 'Wrap lines' }).waitFor();
  await page.getByRole('button', { name: 'Zoom in' }).waitFor({ state: 'detached' });
});

test('A video seeks by ranges, audio plays, an SVG runs no scripts, and a file without a preview shows a notice', async (t) => {
  const tiff = await sharp(await photo(1, { width: 300, height: 200 }))
    .tiff()
    .toBuffer();
  const files = {
    'a.webm': await video({ seconds: 20, framesPerSecond: 1, minimumBytes: 8e6 }),
    'b.wav': wav(3),
    'c.mp4': 'no video',
    'd.webm': await video({ seconds: 1, width: 180, height: 320 }),
    'e.svg': SCRIPTED_SVG,
    'f.jpg': 'not an image',
    'g.bin': Buffer.from([0, 1, 2, 3]),
    'h.txt': '',
    'i.iso': Buffer.alloc(2e6),
    'j.tiff': tiff,
  };
  const { page, site } = await visitSite(t, {
    files,
    path: '?preview=a.webm',
    visit: { expectedErrors: [/thumb\/f\.jpg/, /preview\/j\.tiff/] },
  });
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

  const next = () => page.getByRole('button', { name: 'Next file' }).click();
  await next();
  await until('its length is known', () =>
    page.locator('audio').evaluate((element: HTMLAudioElement) => Math.round(element.duration) === 3),
  );
  await next();
  await page.getByText('Couldn’t play this file').waitFor();

  // A portrait video and its controls are as wide as its picture.
  await next();
  await until('its size is known', () => player.evaluate((element: HTMLVideoElement) => element.videoHeight === 320));
  for (const size of [
    { width: 360, height: 740 },
    { width: 1440, height: 900 },
  ]) {
    await page.setViewportSize(size);
    await until(`the player has the shape of the picture at ${size.width} pixels`, async () => {
      const box = await player.boundingBox();
      return box !== null && box.width >= 180 && Math.abs(box.width / box.height - 180 / 320) < 0.02;
    });
  }

  const viewer = page.getByRole('dialog');
  await next();
  const image = viewer.getByRole('img', { name: 'e.svg' });
  await until('it is drawn', () => image.evaluate((element: HTMLImageElement) => element.naturalWidth === 300));
  await image.click();

  await next();
  await viewer.getByText('Couldn’t show this image').waitFor();
  const download = page.waitForEvent('download');
  await viewer.getByRole('link', { name: 'Download' }).last().click();
  assert.equal((await download).suggestedFilename(), 'f.jpg');
  if (isFullForm) await assertAccessible(page, t, { state: 'a notice' });

  await next();
  await viewer.getByText('No preview available').waitFor();
  await viewer.getByText('\u2068BIN\u2069 file · 4 bytes').waitFor();
  await next();
  await viewer.getByText('This file is empty').waitFor();
  const requested = requestsOf(page, '/file/');
  await next();
  await page.getByRole('dialog', { name: 'i.iso' }).getByText('No preview available').waitFor();
  assert.deepEqual(requested(), []);

  await next();
  // Few browsers show the format, but the service has a preview of it.
  const scan = page.getByRole('dialog', { name: 'j.tiff' });
  await scan.locator('.picture.loaded').waitFor();
  await page.route('**/-/preview/j.tiff*', (route) => route.fulfill({ status: 503 }));
  await page.reload();
  await scan.getByText('No preview available').waitFor();
  await scan.locator('.preview-notice .thumbnail.loaded img').waitFor();
  await scan.locator('.preview-notice').getByRole('link', { name: 'Download' }).waitFor();
  assert.equal(await scan.getByText('damaged').count(), 0);

  await page.goto(`${site.url}?preview=missing.txt`);
  await viewer.getByText('This file doesn’t exist').waitFor();
  await viewer.getByRole('button', { name: 'Back to folder' }).click();
  await viewer.waitFor({ state: 'detached' });
  await becomes(() => page.url(), site.url);
});

test('A file waits for the part of the listing that contains it', IN_FULL_FORM_ONLY, async (t) => {
  const site = await startSite(t, { store: 'disk' });
  await fillFolder(site, 'a/', 1500);
  const names = (await site.paths()).toSorted();
  const last = names.at(-1)?.slice('a/'.length) ?? '';
  const page = await openPage(t, { ...DESKTOP, url: `${site.url}-/session` });
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

test('A preview that fails shows the reason and a way to continue', IN_FULL_FORM_ONLY, async (t) => {
  const files = { '1.txt': longText(600_000), '2.md': '# Words' };
  const expectedErrors = [/file\/1\.txt/, /file\/2\.md/, /markdown-preview/];
  const site = await startSite(t, { store: 'disk', files });
  const page = await openPage(t, { ...DESKTOP, url: `${site.url}-/session`, expectedErrors });
  await page.route('**/markdown-preview-*.js', (route) => route.abort());
  await page.goto(`${site.url}?preview=1.txt`);
  const viewer = page.getByRole('dialog');
  await viewer.getByText('Showing the first \u2068262 kB\u2069').waitFor();
  // By another program, so that the page does not know it.
  assert.ok(site.root !== undefined, 'The site is on disk.');
  await rm(join(site.root, '1.txt'));
  await viewer.getByRole('button', { name: 'Show more' }).click();
  await viewer.getByText('This file doesn’t exist').waitFor();

  await page.getByRole('button', { name: 'Next file' }).click();
  await viewer.getByText('Couldn’t load the preview').waitFor();
  await page.unroute('**/markdown-preview-*.js');
  await page.route('**/file/2.md', (route) => route.abort());
  await viewer.getByRole('button', { name: 'Retry' }).click();
  await viewer.getByText('Can’t reach the server.').waitFor();
  await page.unroute('**/file/2.md');
  await viewer.getByRole('button', { name: 'Retry' }).click();
  await viewer.getByRole('heading', { name: 'Words' }).waitFor();
});

async function focusIsOn(page: Page, path: string): Promise<void> {
  await until(`the focus is on ${path}`, () =>
    page.evaluate((wanted) => document.activeElement?.getAttribute('data-path') === wanted, path),
  );
}
