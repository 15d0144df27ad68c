import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { boxOf, button, row, selectedPaths, waitForFocus, waitForNoOverflow } from './elements.ts';
import { openSite } from './open-site.ts';

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

test('A folder of photos shows them by date in their aspect ratios, follows keys and the size, and keeps the chosen view', async (t) => {
  const { page } = await openSite(t, { files: await album(), folder: ALBUM });
  await showsPhotosByDate(page);
  await assertAccessible(page, t, { state: 'photos' });
  await selectsPhotos(page);
  await changesSize(page);
  await keepsOrderInViewer(page);
  await returnsFocus(page);
  await keepsChosenView(page);
});

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
