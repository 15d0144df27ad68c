import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { button, focusedPath, renameByKeyboard, row, selectedPaths, waitForMessage } from './elements.ts';
import { requestsOf } from './intercept.ts';
import { openSite, visitSite } from './open-site.ts';
import { photo } from './samples.ts';

export const needs: readonly Need[] = ['browser'];

/** A photo that is too large for the viewer to show as it is. */
async function largePhoto(seed: number): Promise<Buffer> {
  const drawn = await photo(seed, { width: 2400, height: 1600, format: 'png' });
  return sharp(drawn).jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer();
}

test('Large photos are shown by their previews until the user zooms in, and rotated without loss', async (t) => {
  const files = {
    '1.jpg': await largePhoto(1),
    '2.jpg': await largePhoto(2),
    '3.png': await photo(3, { format: 'png' }),
  };
  const { page, site } = await visitSite(t, {
    files,
    path: '-/session',
    visit: { expectedErrors: isFullForm ? [/preview\/2\.jpg/, /412.*file\/1\.jpg/] : [] },
  });
  const originals = requestsOf(page, '/file/');
  const previews = requestsOf(page, '/-/preview/');
  await page.goto(`${site.url}?preview=1.jpg`);
  const picture = page.locator('.picture.loaded');
  /** Returns the size in pixels of the picture, a canvas for a preview and an image for an original. */
  const sizeOf = () =>
    picture.evaluate((element: HTMLImageElement | HTMLCanvasElement) =>
      'naturalWidth' in element ? [element.naturalWidth, element.naturalHeight] : [element.width, element.height],
    );
  await becomes(sizeOf, [1600, 1067]);
  await until('the next photo is loaded', () => previews().some(({ url }) => url.includes('2.jpg?width=1600')));
  assert.deepEqual(
    originals().filter(({ url }) => url.includes('.jpg')),
    [],
  );
  await assertAccessible(page, t, { state: 'a photo with its filmstrip' });

  const detail = page.locator('img.detail.decoded');
  for (let steps = 0; steps < 3; steps++) await page.keyboard.press('+');
  await becomes(() => detail.evaluate(({ naturalWidth }: HTMLImageElement) => naturalWidth), 2400);
  await page.keyboard.press('0');
  await detail.waitFor({ state: 'detached' });

  // Several turns without a pause are one change.
  await page.evaluate(() => {
    for (const key of ['r', 'R', 'r']) {
      const init = { key, code: 'KeyR', shiftKey: key === 'R', bubbles: true, cancelable: true };
      document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', init));
    }
  });
  await becomes(sizeOf, [1600, 2400]);
  assert.ok(site.root !== undefined, 'The site is on disk.');
  const stored = join(site.root, '1.jpg');
  assert.equal((await sharp(await readFile(stored)).metadata()).orientation, 6);
  assert.ok((await readFile(stored)).includes(files['1.jpg'].subarray(200)), 'all other bytes are the same');
  await page.keyboard.press('Control+z');
  await becomes(sizeOf, [1600, 1067]);
  assert.deepEqual(await readFile(stored), files['1.jpg']);

  if (!isFullForm) return;
  // By another program, so that the page does not know the new version.
  const held = Promise.withResolvers<void>();
  await page.route('**/file/1.jpg', async (route) => {
    await held.promise;
    await route.continue();
  });
  await button(page, 'Rotate right').click();
  await writeFile(stored, files['2.jpg']);
  held.resolve();
  await waitForMessage(page, '“\u20681.jpg\u2069” wasn’t rotated');
  await becomes(() => picture.evaluate((element) => element.style.rotate), '');
  assert.deepEqual(await readFile(stored), files['2.jpg']);
  await page.unroute('**/file/1.jpg');

  // If the service can't create the preview, the original is shown.
  await page.route('**/-/preview/2.jpg*', (route) => route.fulfill({ status: 503 }));
  await page.goto(`${site.url}?preview=2.jpg`);
  await becomes(sizeOf, [2400, 1600]);
  await page.keyboard.press('ArrowRight');
  await page.getByRole('dialog', { name: '3.png' }).waitFor();
  assert.ok(await button(page, 'Rotate right (JPEG photos only)').isDisabled());
});

test('The viewer deletes, renames and moves files, shows the next one, and returns to a file after its undo', async (t) => {
  const small = await photo(1, { width: 60, height: 40 });
  const files = { '1.jpg': small, '2.jpg': small, '3.jpg': small, '4.jpg': small, 'other/': '' };
  const { page, site } = await visitSite(t, { files, path: '?preview=2.jpg', settings: { TRASH_DAYS: '30' } });
  const shows = async (name: string) => {
    await page.getByRole('dialog', { name, exact: true }).locator('.picture.loaded').waitFor();
    await becomes(() => new URL(page.url()).searchParams.get('preview'), name);
  };
  await shows('2.jpg');
  // A change can be undone once the service has responded, so that each one is awaited.
  for (const [name, next] of [
    ['2.jpg', '3.jpg'],
    ['3.jpg', '4.jpg'],
    ['4.jpg', '1.jpg'],
  ] as const) {
    await page.keyboard.press('Delete');
    await shows(next);
    await waitForMessage(page, `“\u2068${name}\u2069” moved to trash`);
  }
  for (const name of ['4.jpg', '3.jpg', '2.jpg']) {
    await page.keyboard.press('Control+z');
    await shows(name);
    await until('it is restored', () => site.exists(name));
  }

  await renameByKeyboard(page, 'renamed');
  await shows('renamed.jpg');
  await until('it is renamed', () => site.exists('renamed.jpg'));
  await waitForMessage(page, /2\.jpg.* renamed to .*renamed\.jpg/);
  await page.keyboard.press('Control+z');
  await shows('2.jpg');

  await page.keyboard.press('Alt+Shift+M');
  const picker = page.getByRole('dialog').last();
  await picker.getByText('other').click();
  await picker.getByRole('button', { name: 'Move' }).click();
  await shows('3.jpg');
  await until('it is moved', () => site.exists('other/2.jpg'));
  await waitForMessage(page, /2\.jpg.* moved to .*other/);
  await page.keyboard.press('Control+z');
  await shows('2.jpg');

  await page.keyboard.press('i');
  await page.getByRole('complementary', { name: 'Details' }).waitFor();
  await page.keyboard.press('i');
  await page.getByRole('complementary', { name: 'Details' }).waitFor({ state: 'detached' });

  const strip = page.getByRole('navigation', { name: 'Files in this folder' });
  await strip.getByRole('button', { name: '4.jpg' }).click();
  await shows('4.jpg');
  await becomes(() => strip.locator('[aria-current="true"]').getAttribute('aria-label'), '4.jpg');

  // After the last photo, the slideshow continues with the first one.
  await page.clock.install();
  await button(page, 'Start slideshow').click();
  const bar = page.getByRole('toolbar', { name: 'Slideshow' });
  // Longer than any step of the test takes, also on a busy machine.
  await button(bar, 'Time per photo').click();
  await page.getByRole('menuitemradio', { name: '60 seconds' }).click();
  await page.locator('dialog.viewer .stage').focus();
  await button(bar, 'Pause').waitFor();
  await page.clock.runFor(60_000);
  await shows('1.jpg');
  await page.keyboard.press('Space');
  await button(bar, 'Resume').waitFor();
  await page.clock.runFor(120_000);
  await shows('1.jpg');
  await page.keyboard.press('x');
  await bar.waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('Space opens a quick look, which follows the focus, and closes it', async (t) => {
  const files = {
    'a/1.txt': 'one',
    'a/2.txt': 'twotwo',
    'b.txt': 'content of b',
    'c.jpg': await photo(1, { width: 60, height: 40 }),
  };
  const { page } = await openSite(t, { files });
  const look = (name: string): Locator => page.getByRole('dialog', { name, exact: true });
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await look('a').getByText('2 items · 9 bytes').waitFor();
  await page.keyboard.press('ArrowDown');
  await look('b.txt').getByText('content of b').waitFor();
  await assertState(page, 'b.txt');
  await assertAccessible(page, t, { state: 'a quick look' });
  await page.keyboard.press('ArrowDown');
  await look('c.jpg').locator('.picture.loaded').waitFor();
  await page.keyboard.press('Space');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await assertState(page, 'c.jpg');

  await page.keyboard.press('Space');
  await look('c.jpg').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await assertState(page, 'c.jpg');
  await page.keyboard.press('Space');
  await look('c.jpg').waitFor();
  await page.keyboard.press('Enter');
  await page.locator('dialog.viewer').waitFor();
  await becomes(() => page.getByRole('dialog').count(), 1);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  // Other programs select by Ctrl and Space.
  await row(page, 'b.txt').click();
  await page.keyboard.press('Control+Space');
  await becomes(() => selectedPaths(page), []);
});

async function assertState(page: Page, path: string): Promise<void> {
  await becomes(() => focusedPath(page), path);
  await becomes(() => selectedPaths(page), [path]);
}
