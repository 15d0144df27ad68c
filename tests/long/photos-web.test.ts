// What the page requests and draws while the thumbnails and dates of many photos load: a folder of 200 photos takes as long as a
// whole journey. The order, the sizes and the view of photos are proven in tests/web.
import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import { enterFolder, row } from '../web/elements.ts';
import { requestsOf } from '../web/intercept.ts';
import { visitSite } from '../web/open-site.ts';
import { photo } from '../web/samples.ts';
import type { Site } from '../web/site.ts';

export const needs: readonly Need[] = ['browser'];

const shownPaths = (page: Page) =>
  page.locator('[data-path]').evaluateAll((all) => {
    const box = (element: Element) => element.getBoundingClientRect();
    const sorted = all.toSorted((a, b) => box(a).top - box(b).top || box(a).left - box(b).left);
    return sorted.map((element) => element.getAttribute('data-path'));
  });

test('Thumbnails are requested as far as they are visible, and again after a failure, and many photos are sorted once', async (t) => {
  const files = { ...(await pictures()), ...(await manyPhotos()), 'Broken/broken.jpg': 'no picture' };
  const { page, site } = await visitSite(t, {
    files,
    visit: { expectedErrors: [/^console error: .*\b400\b.*\/thumb\/Broken\/broken\.jpg/] },
  });
  await replacesBrokenThumbnail(page);
  await sortsOnce(page, site);
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
