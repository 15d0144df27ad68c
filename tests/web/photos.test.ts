import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import sharp from 'sharp';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { boxOf, button, row, selectedPaths, waitForFocus, waitForNoOverflow } from './elements.ts';
import { openSite, visitSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

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
        name,
        await image
          .withExif({ IFD2: { DateTimeOriginal: takenAt } })
          .jpeg()
          .toBuffer(),
      ] as const;
    }),
  );
  return { ...Object.fromEntries(files), 'notes.txt': 'The notes.', 'raw/x.txt': 'x' };
}

const shownPaths = (page: Page) =>
  page.locator('[data-path]').evaluateAll((all) => {
    const box = (element: Element) => element.getBoundingClientRect();
    const sorted = all.toSorted((a, b) => box(a).top - box(b).top || box(a).left - box(b).left);
    return sorted.map((element) => element.getAttribute('data-path'));
  });

it('A folder of photos shows them by date, in their natural aspect ratios', async (t) => {
  const { page } = await openSite(t, { files: await album() });
  const order = ['raw/', ...TAKEN.map(([name]) => name), 'notes.txt'];
  await becomes(() => shownPaths(page), order);
  await becomes(
    () => page.getByRole('rowheader').allTextContents(),
    ['June 2026', 'March 2026', 'December 2025', 'Other files'],
  );
  for (const [name, width, height] of TAKEN) {
    const box = await boxOf(row(page, name));
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
  await assertAccessible(page, t, { state: 'photos' });

  // The keyboard and the rubber band follow the rows.
  await row(page, 'k.jpg').click();
  await page.keyboard.press('ArrowRight');
  await waitForFocus(page, 'b.jpg');
  await page.keyboard.press('ArrowDown');
  await becomes(async () => ['a.jpg', 'd.jpg'].includes((await selectedPaths(page))[0] ?? ''), true);
  await page.keyboard.press('Home');
  await waitForFocus(page, 'raw/');
  const [first, last] = [await boxOf(row(page, 'd.jpg')), await boxOf(row(page, 'a.jpg'))];
  await page.mouse.move(last.x + last.width + 40, last.y + last.height - 4);
  await page.mouse.down();
  await page.mouse.move(first.x + first.width - 5, first.y + 5, { steps: 4 });
  await page.mouse.up();
  await becomes(() => selectedPaths(page), ['a.jpg', 'd.jpg']);

  // Larger tiles are higher.
  const before = (await boxOf(row(page, 'e.jpg'))).height;
  const slider = page.getByRole('slider', { name: 'Tile size' });
  await slider.press('ArrowRight');
  await becomes(async () => (await boxOf(row(page, 'e.jpg'))).height > before * 1.2, true);
  // After a click on the slider, the keys are for the photos again.
  await slider.click();
  await page.keyboard.press('ControlOrMeta+a');
  await becomes(async () => (await selectedPaths(page)).length > 5, true);

  // The viewer shows the photos in the same order.
  await row(page, 'k.jpg').dblclick();
  await page.getByRole('dialog').locator('.picture.loaded').waitFor();
  await page.keyboard.press('ArrowRight');
  await becomes(() => new URL(page.url()).searchParams.get('preview'), 'b.jpg');

  if (!isFullForm) return;
  // A rotated photo keeps its place, also before its details are read again.
  const reading = Promise.withResolvers<void>();
  await page.route('**/-/media', async (route) => {
    await reading.promise;
    await route.continue();
  });
  const request = page.waitForRequest('**/-/media');
  await page.keyboard.press('r');
  await request;
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const names = await page
    .locator('.filmstrip .frame')
    .evaluateAll((all) => all.map((each) => each.getAttribute('title')));
  assert.deepEqual(names, [...TAKEN.map(([name]) => name), 'notes.txt']);
  reading.resolve();
  await page.keyboard.press('Escape');

  // The folder keeps the view that the user chooses.
  await button(page, 'List').click();
  await becomes(
    () => shownPaths(page),
    order.toSorted((left, right) => sortKey(left).localeCompare(sortKey(right))),
  );
  await page.reload();
  await row(page, 'k.jpg').waitFor();
  assert.equal(await page.locator('.photo').count(), 0);
  await page.getByRole('searchbox').fill('NOT');
  await becomes(() => page.locator('mark').allTextContents(), ['not']);
});

it('The focus returns from the viewer to a photo that another row shows now, as after full screen', async (t) => {
  const { page } = await openSite(t, { files: await album() });
  await row(page, 'f.jpg').click();
  const clicked = await page.evaluateHandle(() => document.activeElement);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').locator('.picture.loaded').waitFor();
  await page.setViewportSize({ width: 320, height: 700 });
  await becomes(() => clicked.evaluate((element) => element?.isConnected), false);
  await page.keyboard.press('Escape');
  await waitForFocus(page, 'f.jpg');
});

it('A large folder of photos is sorted once, when the dates of all photos are known', IN_FULL_FORM_ONLY, async (t) => {
  const create = { width: 30, height: 20, channels: 3, background: '#468' } as const;
  const plain = await sharp({ create }).jpeg().toBuffer();
  const dated = sharp({ create }).withExif({ IFD2: { DateTimeOriginal: '2001:01:01 12:00:00' } });
  const names = Array.from({ length: 205 }, (_, index) => `p${index}.jpg`);
  const files = { ...Object.fromEntries(names.map((name) => [name, plain])), 'a.jpg': await dated.jpeg().toBuffer() };
  const { page, site } = await visitSite(t, { files, path: '-/session' });
  await utimes(join(site.root ?? '', 'a.jpg'), new Date(), new Date(Date.now() + 3_600_000));
  const requests = Array.from({ length: 2 }, () => Promise.withResolvers<Route>());
  let count = 0;
  await page.route('**/-/media', (route) => requests[count++]?.resolve(route));
  await page.goto(site.url);
  const isShown = async () => (await shownPaths(page)).includes('a.jpg');
  const [first, second] = requests;
  await (await first?.promise)?.continue();
  const last = await second?.promise;
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal(await isShown(), true);
  await last?.continue();
  await becomes(isShown, false);
});

/** Folders are first. */
const sortKey = (path: string) => (path.endsWith('/') ? ` ${path}` : path);
