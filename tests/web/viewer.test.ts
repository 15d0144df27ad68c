import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import {
  button,
  enterFolder,
  focusedPath,
  renameByKeyboard,
  row,
  selectedPaths,
  waitForMessage,
  waitForTitle,
} from './elements.ts';
import { requestsOf } from './intercept.ts';
import { PARTS_AND_TRASH, visitSite } from './open-site.ts';
import { photo } from './samples.ts';
import type { Site } from './site.ts';
import { assertIsolatedStyles } from './styles.ts';

export const needs: readonly Need[] = ['browser'];

/** A photo that is too large for the viewer to show as it is. */
async function largePhoto(seed: number): Promise<Buffer> {
  const drawn = await photo(seed, { width: 2400, height: 1600, format: 'png' });
  return sharp(drawn).jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer();
}

const viewer = (page: Page, name?: string) =>
  page.getByRole('dialog', { ...(name !== undefined && { name, exact: true }) });

async function leave(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await viewer(page).waitFor({ state: 'detached' });
}

test('The viewer shows large photos by their previews, rotates, deletes, renames and moves files with undo, and a quick look follows the focus', async (t) => {
  const small = await photo(1, { width: 60, height: 40 });
  const large = {
    '1.jpg': await largePhoto(1),
    '2.jpg': await largePhoto(2),
    '3.png': await photo(3, { format: 'png' }),
  };
  const files = {
    ...Object.fromEntries(Object.entries(large).map(([name, content]) => [`Large/${name}`, content])),
    ...Object.fromEntries(['1.jpg', '2.jpg', '3.jpg', '4.jpg'].map((name) => [`Small/${name}`, small])),
    'Small/other/': '',
    'Quick/a/1.txt': 'one',
    'Quick/a/2.txt': 'twotwo',
    'Quick/b.txt': 'content of b',
    'Quick/c.jpg': small,
  };
  const { page, site } = await visitSite(t, {
    files,
    settings: PARTS_AND_TRASH,
    visit: { expectedErrors: [/preview\/Large\/2\.jpg/, /412.*file\/Large\/1\.jpg/] },
  });
  await enterFolder(page, 'Quick');
  await looksQuickly(page);

  await enterFolder(page, 'Large');
  await showsPreviewUntilZoomed(page);
  await assertAccessible(page, t, { state: 'a photo with its filmstrip' });
  await assertIsolatedStyles(page);
  await rotates(page, site, large);
  await showsOriginal(page);
  await leave(page);

  await enterFolder(page, 'Small');
  await changesFiles(page, site);
  await showsSlides(page);
});

/** Space opens a quick look, which follows the focus, and closes it. */
async function looksQuickly(page: Page): Promise<void> {
  await row(page, 'Quick/a/').click();
  await page.keyboard.press('Space');
  await viewer(page, 'a').getByText('2 items · 9 bytes').waitFor();
  await page.keyboard.press('ArrowDown');
  await viewer(page, 'b.txt').getByText('content of b').waitFor();
  await assertState(page, 'Quick/b.txt');
  await page.keyboard.press('ArrowDown');
  await viewer(page, 'c.jpg').locator('.picture.loaded').waitFor();
  await page.keyboard.press('Space');
  await viewer(page).waitFor({ state: 'detached' });
  await assertState(page, 'Quick/c.jpg');

  await page.keyboard.press('Space');
  await viewer(page, 'c.jpg').waitFor();
  await leave(page);
  await assertState(page, 'Quick/c.jpg');
  await page.keyboard.press('Space');
  await viewer(page, 'c.jpg').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('dialog.viewer').waitFor();
  await becomes(() => viewer(page).count(), 1);
  await leave(page);

  // Other programs select by Ctrl and Space.
  await row(page, 'Quick/b.txt').click();
  await page.keyboard.press('Control+Space');
  await becomes(() => selectedPaths(page), []);
}

async function assertState(page: Page, path: string): Promise<void> {
  await becomes(() => focusedPath(page), path);
  await becomes(() => selectedPaths(page), [path]);
}

const picture = (page: Page) => page.locator('.picture.loaded');

/** Returns the size in pixels of the picture, a canvas for a preview and an image for an original. */
const sizeOf = (page: Page) => () =>
  picture(page).evaluate((element: HTMLImageElement | HTMLCanvasElement) =>
    'naturalWidth' in element ? [element.naturalWidth, element.naturalHeight] : [element.width, element.height],
  );

async function showsPreviewUntilZoomed(page: Page): Promise<void> {
  const originals = requestsOf(page, '/file/');
  const previews = requestsOf(page, '/-/preview/');
  await row(page, 'Large/1.jpg').dblclick();
  await becomes(sizeOf(page), [1600, 1067]);
  await until('the next photo is loaded', () => previews().some(({ url }) => url.includes('2.jpg?width=1600')));
  assert.deepEqual(
    originals().filter(({ url }) => url.includes('.jpg')),
    [],
  );
  const detail = page.locator('img.detail.decoded');
  for (let steps = 0; steps < 3; steps++) await page.keyboard.press('+');
  await becomes(() => detail.evaluate(({ naturalWidth }: HTMLImageElement) => naturalWidth), 2400);
  await page.keyboard.press('0');
  await detail.waitFor({ state: 'detached' });
}

/** Rotates without loss. Several turns without a pause are one change. */
async function rotates(
  page: Page,
  site: Site,
  large: { readonly '1.jpg': Buffer; readonly '2.jpg': Buffer },
): Promise<void> {
  await page.evaluate(() => {
    for (const key of ['r', 'R', 'r']) {
      const init = { key, code: 'KeyR', shiftKey: key === 'R', bubbles: true, cancelable: true };
      document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', init));
    }
  });
  await becomes(sizeOf(page), [1600, 2400]);
  assert.ok(site.root !== undefined, 'The site is on disk.');
  const stored = join(site.root, 'Large/1.jpg');
  assert.equal((await sharp(await readFile(stored)).metadata()).orientation, 6);
  assert.ok((await readFile(stored)).includes(large['1.jpg'].subarray(200)), 'all other bytes are the same');
  await page.keyboard.press('Control+z');
  await becomes(sizeOf(page), [1600, 1067]);
  assert.deepEqual(await readFile(stored), large['1.jpg']);

  // By another program, so that the page does not know the new version.
  const held = Promise.withResolvers<void>();
  await page.route('**/file/Large/1.jpg', async (route) => {
    await held.promise;
    await route.continue();
  });
  await button(page, 'Rotate right').click();
  await writeFile(stored, large['2.jpg']);
  held.resolve();
  await waitForMessage(page, '“\u20681.jpg\u2069” wasn’t rotated');
  await becomes(() => picture(page).evaluate((element) => element.style.rotate), '');
  assert.deepEqual(await readFile(stored), large['2.jpg']);
  await page.unrouteAll();
}

/** If the service can't create the preview, the original is shown. */
async function showsOriginal(page: Page): Promise<void> {
  await page.route('**/-/preview/Large/2.jpg*', (route) => route.fulfill({ status: 503 }));
  await page.reload();
  await picture(page).waitFor();
  await page.keyboard.press('ArrowRight');
  await viewer(page, '2.jpg').waitFor();
  await becomes(sizeOf(page), [2400, 1600]);
  await page.keyboard.press('ArrowRight');
  await viewer(page, '3.png').waitFor();
  assert.ok(await button(page, 'Rotate right (JPEG photos only)').isDisabled());
  await page.unrouteAll();
}

async function shows(page: Page, name: string): Promise<void> {
  await viewer(page, name).locator('.picture.loaded').waitFor();
  await becomes(() => new URL(page.url()).searchParams.get('preview'), name);
}

/** Deletes, renames and moves files, shows the next one, and returns to a file after its undo. */
async function changesFiles(page: Page, site: Site): Promise<void> {
  await row(page, 'Small/3.jpg').dblclick();
  await shows(page, '3.jpg');
  // A change can be undone once the service has responded, so that each one is awaited.
  for (const [name, next] of [
    ['3.jpg', '4.jpg'],
    ['4.jpg', '2.jpg'],
  ] as const) {
    await page.keyboard.press('Delete');
    await shows(page, next);
    await waitForMessage(page, `“\u2068${name}\u2069” moved to trash`);
  }
  for (const name of ['4.jpg', '3.jpg']) {
    await page.keyboard.press('Control+z');
    await shows(page, name);
    await until('it is restored', () => site.exists(`Small/${name}`));
  }

  await renameByKeyboard(page, 'renamed');
  await shows(page, 'renamed.jpg');
  await until('it is renamed', () => site.exists('Small/renamed.jpg'));
  await waitForMessage(page, /3\.jpg.* renamed to .*renamed\.jpg/);
  await page.keyboard.press('Control+z');
  await shows(page, '3.jpg');

  await page.keyboard.press('Alt+Shift+M');
  const picker = page.getByRole('dialog').last();
  await picker.getByText('other').click();
  await picker.getByRole('button', { name: 'Move' }).click();
  await shows(page, '4.jpg');
  await until('it is moved', () => site.exists('Small/other/3.jpg'));
  await waitForMessage(page, /3\.jpg.* moved to .*other/);
  await page.keyboard.press('Control+z');
  await shows(page, '3.jpg');

  await page.keyboard.press('i');
  await page.getByRole('complementary', { name: 'Details' }).waitFor();
  await page.keyboard.press('i');
  await page.getByRole('complementary', { name: 'Details' }).waitFor({ state: 'detached' });

  const strip = page.getByRole('navigation', { name: 'Files in this folder' });
  await strip.getByRole('button', { name: '4.jpg' }).click();
  await shows(page, '4.jpg');
  await becomes(() => strip.locator('[aria-current="true"]').getAttribute('aria-label'), '4.jpg');
}

/** After the last photo, the slideshow continues with the first one. */
async function showsSlides(page: Page): Promise<void> {
  await page.clock.install();
  await button(page, 'Start slideshow').click();
  const bar = page.getByRole('toolbar', { name: 'Slideshow' });
  // Longer than any step of the test takes, also on a busy machine.
  await button(bar, 'Time per photo').click();
  await page.getByRole('menuitemradio', { name: '60 seconds' }).click();
  await page.locator('dialog.viewer .stage').focus();
  await button(bar, 'Pause').waitFor();
  await page.clock.runFor(60_000);
  await shows(page, '1.jpg');
  await page.keyboard.press('Space');
  await button(bar, 'Resume').waitFor();
  await page.clock.runFor(120_000);
  await shows(page, '1.jpg');
  await page.keyboard.press('x');
  await bar.waitFor({ state: 'detached' });
  await leave(page);
  await waitForTitle(page, 'Small');
}
