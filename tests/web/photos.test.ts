import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { boxOf, button, enterFolder, row, selectedPaths, waitForFocus, waitForNoOverflow } from './elements.ts';
import { requestsOf } from './intercept.ts';
import { visitSite } from './open-site.ts';
import { photo } from './samples.ts';
import type { Site } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const ALBUM = 'Album/';

/** The photos from the newest to the oldest. The names are in another order. */
const TAKEN: readonly (readonly [name: string, width: number, height: number, takenAt: string])[] = [
  ['k.jpg', 300, 200, '2026:06:20 18:00:00'],
  ['b.jpg', 200, 300, '2026:06:20 09:30:00'],
  ['j.jpg', 400, 200, '2026:06:02 12:00:00'],
  ['d.jpg', 300, 200, '2026:03:11 12:00:00'],
  ['a.jpg', 200, 200, '2026:03:10 12:00:00'],
  ['c.jpg', 300, 200, '2025:12:31 23:00:00'],
  ['e.jpg', 300, 200, '2025:12:24 20:00:00'],
  ['f.jpg', 200, 300, '2025:12:24 19:00:00'],
];

async function album(): Promise<Record<string, Buffer | string>> {
  const files = await Promise.all(
    TAKEN.map(async ([name, width, height, takenAt], index) => {
      const background = { r: 20 * index, g: 120, b: 200 - 20 * index };
      const image = sharp({ create: { width, height, channels: 3, background } });
      return [
        ALBUM + name,
        await image
          .withExif({ IFD2: { DateTimeOriginal: takenAt } })
          .jpeg()
          .toBuffer(),
      ] as const;
    }),
  );
  return { ...Object.fromEntries(files), [`${ALBUM}notes.txt`]: 'The notes.', [`${ALBUM}raw/x.txt`]: 'x' };
}

const shownPaths = (page: Page) =>
  page.locator('[data-path]').evaluateAll((all) => {
    const box = (element: Element) => element.getBoundingClientRect();
    const sorted = all.toSorted((a, b) => box(a).top - box(b).top || box(a).left - box(b).left);
    return sorted.map((element) => element.getAttribute('data-path'));
  });

test('A folder of photos shows them by date in their aspect ratios, and thumbnails are requested as far as they are visible', async (t) => {
  const files = {
    ...(await album()),
    ...(await pictures()),
    ...(await manyPhotos()),
    'Broken/broken.jpg': 'no picture',
  };
  const { page, site } = await visitSite(t, {
    files,
    visit: { expectedErrors: [/^console error: .*\b400\b.*\/thumb\/Broken\/broken\.jpg/] },
  });
  await replacesBrokenThumbnail(page);
  await sortsOnce(page, site);

  await enterFolder(page, 'Album');
  await showsPhotosByDate(page);
  await assertAccessible(page, t, { state: 'photos' });
  await selectsPhotos(page);
  await changesSize(page);
  await keepsOrderInViewer(page);
  await returnsFocus(page);
  await keepsChosenView(page);
  await requestsVisibleThumbnails(page, site);
});

const PICTURES = 'Pictures/';

async function pictures(): Promise<Record<string, Buffer | string>> {
  const picture = await photo(1, { width: 320, height: 320 });
  return {
    [`${PICTURES}100.jpg`]: await photo(1, { width: 480, height: 320 }),
    [`${PICTURES}101.png`]: await photo(2, { width: 480, height: 320, format: 'png' }),
    [`${PICTURES}102.txt`]: 'no image',
    ...Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`${PICTURES}${1000 + index}.jpg`, picture])),
  };
}

/** Requests the thumbnails of the visible entries, and of one more row of tiles. */
async function requestsVisibleThumbnails(page: Page, site: Site): Promise<void> {
  // A stream that lasts as long as the page would keep the network from being idle.
  await page.route('**/-/changes?*', (route) => route.fulfill({ contentType: 'text/event-stream', body: 'id: 1\n\n' }));
  // Few tiles are in view.
  await page.setViewportSize({ width: 800, height: 500 });
  await page.evaluate(`localStorage.setItem('holdall-folders', '{"/Pictures/":{"view":"grid"}}')`);
  await page.goto(`${site.url}${PICTURES}`);
  const loaded = page.locator('.thumbnail.loaded img');
  const imagesInView = async () => (await entriesInView(page)) - 1;
  await until('the thumbnails in view are loaded', async () => {
    const inView = await imagesInView();
    return inView > 0 && (await loaded.count()) >= inView;
  });
  await page.waitForLoadState('networkidle');
  const columns = await page.locator('.tile-row').first().locator('.tile').count();
  assert.equal(await requestedThumbnails(page), (await imagesInView()) + columns);
  const widths = await loaded.evaluateAll((all) => all.map((image) => (image as HTMLImageElement).naturalWidth));
  assert.deepEqual(new Set(widths), new Set([320]));
  for (const [name, count] of [
    ['100.jpg', 1],
    ['101.png', 1],
    ['102.txt', 0],
  ] as const) {
    assert.equal(
      await row(page, PICTURES + name)
        .locator('.thumbnail.loaded img')
        .count(),
      count,
      name,
    );
  }
}

const requestedThumbnails = (page: Page) =>
  page.evaluate(() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/thumb/')).length);

/** Returns the number of entries that are visible, at least partly. */
const entriesInView = (page: Page) =>
  page.locator('[data-path]').evaluateAll((entries) => {
    const { bottom = 0 } = document.querySelector('.scroller')?.getBoundingClientRect() ?? {};
    return entries.filter((entry) => entry.getBoundingClientRect().top < bottom).length;
  });

/** A thumbnail that fails to load becomes an icon, and is requested again. */
async function replacesBrokenThumbnail(page: Page): Promise<void> {
  const requests = requestsOf(page, '/thumb/Broken/');
  const isShown = Promise.withResolvers<void>();
  await page.route('**/thumb/Broken/**', async (route) => {
    if (requests().length > 1) await isShown.promise;
    await route.continue();
  });
  await enterFolder(page, 'Broken');
  await row(page, 'Broken/broken.jpg').locator('.entry-icon').waitFor();
  isShown.resolve();
  await until('the thumbnail is requested again', () => requests().length === 2);
  await row(page, 'Broken/broken.jpg').locator('.entry-icon').waitFor();
  await page.unrouteAll();
}

const MANY = 'Many/';

async function manyPhotos(): Promise<Record<string, Buffer>> {
  const create = { width: 30, height: 20, channels: 3, background: '#468' } as const;
  const plain = await sharp({ create }).jpeg().toBuffer();
  const dated = sharp({ create }).withExif({ IFD2: { DateTimeOriginal: '2001:01:01 12:00:00' } });
  const names = Array.from({ length: 205 }, (_, index) => `${MANY}p${index}.jpg`);
  return { ...Object.fromEntries(names.map((name) => [name, plain])), [`${MANY}a.jpg`]: await dated.jpeg().toBuffer() };
}

/** A large folder of photos is sorted once, when the dates of all photos are known. */
async function sortsOnce(page: Page, site: Site): Promise<void> {
  await utimes(join(site.root ?? '', MANY, 'a.jpg'), new Date(), new Date(Date.now() + 3_600_000));
  const held = Promise.withResolvers<void>();
  let count = 0;
  await page.route('**/-/media', async (route) => {
    count += 1;
    if (count > 1) await held.promise;
    await route.continue();
  });
  await enterFolder(page, 'Many');
  const isFirst = async () => (await shownPaths(page))[0] === `${MANY}a.jpg`;
  // The page reads the dates of a part of the photos after those of the previous part.
  await until('the other dates are requested', () => count > 1);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal(await isFirst(), true);
  held.resolve();
  await becomes(isFirst, false);
  await page.unrouteAll();
}

const ORDER = ['raw/', ...TAKEN.map(([name]) => name), 'notes.txt'].map((name) => ALBUM + name);
const inAlbum = (page: Page, name: string) => row(page, ALBUM + name);
const names = (paths: readonly (string | null)[]) => paths.map((path) => path?.slice(ALBUM.length) ?? '');

async function showsPhotosByDate(page: Page): Promise<void> {
  await becomes(() => shownPaths(page), ORDER);
  await becomes(
    () => page.getByRole('rowheader').allTextContents(),
    ['June 2026', 'March 2026', 'December 2025', 'Other files'],
  );
  for (const [name, width, height] of TAKEN) {
    const box = await boxOf(inAlbum(page, name));
    assert.ok(
      Math.abs(box.width / (box.height * (width / height)) - 1) < 0.06,
      `${name}: ${box.width} × ${box.height}`,
    );
  }
  await page
    .locator('.photo .thumbnail.loaded')
    .nth(TAKEN.length - 1)
    .waitFor();
  await waitForNoOverflow(page);
}

/** The keyboard and the rubber band follow the rows. */
async function selectsPhotos(page: Page): Promise<void> {
  await inAlbum(page, 'k.jpg').click();
  await page.keyboard.press('ArrowRight');
  await waitForFocus(page, `${ALBUM}b.jpg`);
  await page.keyboard.press('ArrowDown');
  await becomes(async () => ['a.jpg', 'd.jpg'].includes(names(await selectedPaths(page))[0] ?? ''), true);
  await page.keyboard.press('Home');
  await waitForFocus(page, `${ALBUM}raw/`);
  const [first, last] = [await boxOf(inAlbum(page, 'd.jpg')), await boxOf(inAlbum(page, 'a.jpg'))];
  await page.mouse.move(last.x + last.width + 40, last.y + last.height - 4);
  await page.mouse.down();
  await page.mouse.move(first.x + first.width - 5, first.y + 5, { steps: 4 });
  await page.mouse.up();
  await becomes(async () => names(await selectedPaths(page)), ['a.jpg', 'd.jpg']);
}

async function changesSize(page: Page): Promise<void> {
  const before = (await boxOf(inAlbum(page, 'e.jpg'))).height;
  const slider = page.getByRole('slider', { name: 'Tile size' });
  await slider.press('ArrowRight');
  await becomes(async () => (await boxOf(inAlbum(page, 'e.jpg'))).height > before * 1.2, true);
  // After a click on the slider, the keys are for the photos again.
  await slider.click();
  await page.keyboard.press('ControlOrMeta+a');
  await becomes(async () => (await selectedPaths(page)).length > 5, true);
}

/** A rotated photo keeps its place, also before its details are read again. */
async function keepsOrderInViewer(page: Page): Promise<void> {
  await inAlbum(page, 'k.jpg').dblclick();
  await page.getByRole('dialog').locator('.picture.loaded').waitFor();
  await page.keyboard.press('ArrowRight');
  await becomes(() => new URL(page.url()).searchParams.get('preview'), 'b.jpg');
  const reading = Promise.withResolvers<void>();
  await page.route('**/-/media', async (route) => {
    await reading.promise;
    await route.continue();
  });
  const request = page.waitForRequest('**/-/media');
  await page.keyboard.press('r');
  await request;
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const titles = await page
    .locator('.filmstrip .frame')
    .evaluateAll((all) => all.map((each) => each.getAttribute('title')));
  assert.deepEqual(titles, [...TAKEN.map(([name]) => name), 'notes.txt']);
  reading.resolve();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.unrouteAll();
}

/** The focus returns from the viewer to a photo that another row shows now, as after full screen. */
async function returnsFocus(page: Page): Promise<void> {
  await inAlbum(page, 'f.jpg').click();
  const clicked = await page.evaluateHandle(() => document.activeElement);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').locator('.picture.loaded').waitFor();
  await page.setViewportSize({ width: 320, height: 700 });
  await becomes(() => clicked.evaluate((element) => element?.isConnected), false);
  await page.keyboard.press('Escape');
  await waitForFocus(page, `${ALBUM}f.jpg`);
  await page.setViewportSize({ width: 1440, height: 900 });
}

/** The folder keeps the view that the user chooses. */
async function keepsChosenView(page: Page): Promise<void> {
  await button(page, 'List').click();
  await becomes(
    () => shownPaths(page),
    ORDER.toSorted((left, right) => sortKey(left).localeCompare(sortKey(right))),
  );
  await page.reload();
  await inAlbum(page, 'k.jpg').waitFor();
  assert.equal(await page.locator('.photo').count(), 0);
  await page.getByRole('searchbox').fill('NOT');
  await becomes(() => page.locator('mark').allTextContents(), ['not']);
}

/** Folders are first. */
const sortKey = (path: string) => (path.endsWith('/') ? ` ${path}` : path);
