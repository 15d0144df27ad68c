import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { boxOf, enterFolder, row, waitForFocus } from './elements.ts';
import { requestsOf } from './intercept.ts';
import { visitSite } from './open-site.ts';
import { NESTED_SVG, photo, SCRIPTED_SVG, wav } from './samples.ts';
import type { Site } from './site.ts';
import { video } from './video.ts';

export const needs: readonly Need[] = ['browser'];

const NOISE = '<filter id="f"><feTurbulence/></filter><rect width="60" height="40" filter="url(#f)"/>';

const next = (page: Page) => page.getByRole('button', { name: 'Next file' }).click();
const viewer = (page: Page, name?: string) => page.getByRole('dialog', { ...(name !== undefined && { name }) });

async function leave(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await viewer(page).waitFor({ state: 'detached' });
}

test('Previews open by link and key, images zoom, media play, hostile drawings do nothing, and others show a notice', async (t) => {
  const small = await photo(2, { width: 300, height: 200 });
  const tiff = await sharp(small).tiff().toBuffer();
  const files = {
    'steps/1.txt': 'one',
    'steps/2.txt': 'two',
    'steps/between/x.txt': 'x',
    'steps/10.txt': 'ten',
    'images/1.jpg': await photo(1, { width: 2400, height: 1600 }),
    'images/2.jpg': small,
    'images/3.txt': 'three',
    'media/a.webm': await video({ seconds: 20, framesPerSecond: 1, minimumBytes: 8e6 }),
    'media/b.wav': wav(3),
    'media/c.mp4': 'no video',
    'media/d.webm': await video({ seconds: 1, width: 180, height: 320 }),
    'media/e.svg': SCRIPTED_SVG,
    'media/f.jpg': 'not an image',
    'media/g.bin': Buffer.from([0, 1, 2, 3]),
    'media/h.txt': '',
    'media/i.iso': Buffer.alloc(2e6),
    'media/j.tiff': tiff,
    'drawings/a.svg':
      '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><rect width="9" height="9"/></svg>',
    'drawings/b.svg': NESTED_SVG,
    'drawings/c.svg': `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40">${NOISE}</svg>`,
    'drawings/d.md': '![drawing](b.svg) ![](c.svg)',
  };
  const { page, site } = await visitSite(t, {
    files,
    visit: { expectedErrors: [/thumb\/media\/f\.jpg/, /preview\/media\/j\.tiff/] },
  });
  await stepsThroughFiles(page, site);
  await enterFolder(page, 'images');
  await zoomsImages(page);
  await leave(page);

  await enterFolder(page, 'drawings');
  await asksBeforeDrawing(page, site);
  await leave(page);

  await enterFolder(page, 'media');
  await playsMedia(page);
  await hasShapeOfVideo(page);
  await showsNotices(page);
  await replacesPreview(page);

  await page.goto(`${site.url}?preview=missing.txt`);
  await viewer(page).getByText('This file doesn’t exist').waitFor();
  await viewer(page).getByRole('button', { name: 'Back to folder' }).click();
  await viewer(page).waitFor({ state: 'detached' });
  await becomes(() => page.url(), site.url);
});

/** Shows the next and previous files, and returns to the folder. */
async function stepsThroughFiles(page: Page, site: Site): Promise<void> {
  await row(page, 'steps/').dblclick();
  await row(page, 'steps/1.txt').dblclick();
  const first = viewer(page, '1.txt');
  await first.getByText('one').waitFor();
  await becomes(() => new URL(page.url()).searchParams.get('preview'), '1.txt');
  await first.getByText('1 of 3').filter({ visible: true }).waitFor();
  await becomes(() => first.getByRole('button', { name: 'Previous file' }).isDisabled(), true);

  await page.keyboard.press('ArrowRight');
  await viewer(page, '2.txt').getByText('two').waitFor();
  await next(page);
  await viewer(page, '10.txt').getByText('ten').waitFor();
  // The pressed button is disabled now, but keys still work.
  await page.keyboard.press('ArrowLeft');
  await viewer(page, '2.txt').getByText('two').waitFor();

  await page.goBack();
  await viewer(page).waitFor({ state: 'detached' });
  await becomes(() => page.url(), `${site.url}steps/`);

  await row(page, 'steps/1.txt').click();
  await page.keyboard.press('Enter');
  await viewer(page, '1.txt').waitFor();
  await page.keyboard.press('ArrowRight');
  await viewer(page, '2.txt').getByText('two').waitFor();
  // Presses Escape twice before the browser has gone back.
  await viewer(page).evaluate((dialog) => {
    for (let times = 0; times < 2; times++) dialog.dispatchEvent(new Event('cancel', { cancelable: true }));
  });
  await viewer(page).waitFor({ state: 'detached' });
  await waitForFocus(page, 'steps/2.txt');
  await becomes(() => page.url(), `${site.url}steps/`);

  await page.goto(`${site.url}steps/?preview=2.txt`);
  await viewer(page, '2.txt').getByText('two').waitFor();
  await leave(page);
  await waitForFocus(page, 'steps/2.txt');
  await becomes(() => page.url(), `${site.url}steps/`);
}

/** An image fits into the window. Keys, the wheel and a double click zoom it, and the mouse drags it. */
async function zoomsImages(page: Page): Promise<void> {
  const requested = requestsOf(page, '/file/');
  await row(page, 'images/1.jpg').dblclick();
  const image = viewer(page).getByRole('img', { name: '1.jpg' });
  const box = () => boxOf(image);
  const zoom = page.getByText(/^Zoom \u2068\d+%\u2069$/);
  await until('the image is there', () => image.evaluate((element: HTMLImageElement) => element.naturalWidth === 2400));
  const fitted = await until('it is fitted', async () => {
    const { width, height } = await box();
    return width <= 1440 && height <= 860 && width > 1000 ? { width, height } : undefined;
  });
  await until('the next image is requested', () => requested().some(({ url }) => url.includes('/file/images/2.jpg?')));

  await page.keyboard.press('+');
  await until('it is larger', async () => (await box()).width > fitted.width * 1.4);
  await zoom.waitFor();
  const before = (await box()).x;
  await page.keyboard.press('ArrowRight');
  await until('it is moved', async () => (await box()).x < before - 20);
  // The arrow key moved the image, and did not show the next file.
  await viewer(page, '1.jpg').waitFor();
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

  await page.keyboard.press('0');
  await zoom.waitFor({ state: 'detached' });
  await page.keyboard.press('ArrowRight');
  await page.locator('img.picture.loaded[alt="2.jpg"]').waitFor();
  await page.getByRole('button', { name: 'Zoom in' }).waitFor();
  await page.keyboard.press('+');
  await zoom.waitFor();
  await page.keyboard.press('0');
  await zoom.waitFor({ state: 'detached' });
  await page.keyboard.press('ArrowRight');
  await page.getByText('three').waitFor();
  await page.getByRole('button', { name: 'Wrap lines' }).waitFor();
  await page.getByRole('button', { name: 'Zoom in' }).waitFor({ state: 'detached' });
}

const isDrawn = (page: Page, name: string, width: number) =>
  until(`${name} is drawn`, () =>
    viewer(page)
      .getByRole('img', { name })
      .evaluate((image: HTMLImageElement, wanted) => image.naturalWidth === wanted, width),
  );

/** An SVG that would freeze the page is neither preloaded nor drawn, until the user asks for it. */
async function asksBeforeDrawing(page: Page, site: Site): Promise<void> {
  const requests = requestsOf(page, '/file/');
  await row(page, 'drawings/a.svg').dblclick();
  await isDrawn(page, 'a.svg', 30);
  await next(page);
  await viewer(page).getByText('This image is complex').waitFor();
  assert.deepEqual(
    requests().map(({ url }) => url),
    ['a.svg', 'b.svg'].map((name) => `${site.url}file/drawings/${name}`),
  );
  await next(page);
  await viewer(page).getByRole('button', { name: 'Show anyway' }).click();
  await isDrawn(page, 'c.svg', 60);

  await next(page);
  const link = page.getByRole('article').getByRole('link', { name: 'Image: \u2068drawing\u2069' });
  assert.equal(await link.getAttribute('href'), `${site.url}drawings/?preview=b.svg`);
  assert.equal(await page.getByRole('article').getByRole('img').count(), 0);
}

/** A video seeks by ranges. */
async function playsMedia(page: Page): Promise<void> {
  await row(page, 'media/a.webm').dblclick();
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
}

/** A portrait video and its controls are as wide as its picture. */
async function hasShapeOfVideo(page: Page): Promise<void> {
  await next(page);
  await until('its length is known', () =>
    page.locator('audio').evaluate((element: HTMLAudioElement) => Math.round(element.duration) === 3),
  );
  await next(page);
  await page.getByText('Couldn’t play this file').waitFor();

  await next(page);
  const player = page.locator('video');
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
}

/** The scripts of an SVG do not run. A file that can't be shown has a notice with a download. */
async function showsNotices(page: Page): Promise<void> {
  await next(page);
  await isDrawn(page, 'e.svg', 300);
  await viewer(page).getByRole('img', { name: 'e.svg' }).click();

  await next(page);
  await viewer(page).getByText('Couldn’t show this image').waitFor();
  const download = page.waitForEvent('download');
  await viewer(page).getByRole('link', { name: 'Download' }).last().click();
  assert.equal((await download).suggestedFilename(), 'f.jpg');

  await next(page);
  await viewer(page).getByText('No preview available').waitFor();
  await viewer(page).getByText('\u2068BIN\u2069 file · 4 bytes').waitFor();
  await next(page);
  await viewer(page).getByText('This file is empty').waitFor();
  const requested = requestsOf(page, '/file/');
  await next(page);
  await viewer(page, 'i.iso').getByText('No preview available').waitFor();
  assert.deepEqual(requested(), []);
}

/** Few browsers show TIFF, but the service has a preview of it. Without that, the notice has its thumbnail. */
async function replacesPreview(page: Page): Promise<void> {
  await next(page);
  const scan = viewer(page, 'j.tiff');
  await scan.locator('.picture.loaded').waitFor();
  await page.route('**/-/preview/media/j.tiff*', (route) => route.fulfill({ status: 503 }));
  await page.reload();
  await scan.getByText('No preview available').waitFor();
  await scan.locator('.preview-notice .thumbnail.loaded img').waitFor();
  await scan.locator('.preview-notice').getByRole('link', { name: 'Download' }).waitFor();
  assert.equal(await scan.getByText('damaged').count(), 0);
}
