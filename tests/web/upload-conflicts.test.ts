import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import { photo } from './samples.ts';
import { storedText, testFile, trayShows, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const question = (page: Page) => page.getByRole('dialog');

it('A name conflict shows both files, and is resolved by Replace, Keep both or Escape', async (t) => {
  const [mine, theirs] = await Promise.all([1, 2].map((seed) => photo(seed, { width: 40, height: 30, format: 'png' })));
  assert.ok(mine && theirs);
  const { site, page } = await openSite(t, { files: { 'a.txt': 'old a', 'b.txt': 'old b', 'view.png': theirs } });
  const files = ['a.txt', 'b.txt', 'd.txt'].map((name) => testFile(name, `new ${name[0]}`));
  await uploadFiles(page, [...files, { name: 'view.png', mimeType: 'image/png', buffer: mine }]);
  // "d.txt" does not conflict.
  await question(page).getByRole('checkbox', { name: '2 other conflicts' }).waitFor();
  for (const [name, verb] of [
    ['a.txt', 'Replace'],
    ['b.txt', 'Keep both'],
  ] as const) {
    await question(page).filter({ hasText: name }).getByRole('button', { name: verb }).click();
  }
  const sides = question(page).filter({ hasText: 'view.png' }).locator('.side');
  for (const [index, bytes] of [theirs, mine].entries()) {
    const side = sides.nth(index);
    await side.getByText(new RegExp(`${(bytes.length / 1000).toFixed(1)}|${bytes.length} B`)).waitFor();
    await side.getByText('·').waitFor();
    const picture = side.locator('img');
    await becomes(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth > 0), true);
  }
  assert.equal(await question(page).getByRole('checkbox').count(), 0);
  await page.keyboard.press('Escape');
  await trayShows(page, '3 files uploaded');
  await trayShows(page, '1 skipped');
  assert.equal(await question(page).count(), 0);
  assert.deepEqual(await site.paths(), ['a.txt', 'b (2).txt', 'b.txt', 'd.txt', 'view.png']);
  assert.equal(await storedText(site, 'a.txt'), 'new a');
  assert.equal(await storedText(site, 'b.txt'), 'old b');
  assert.equal(await storedText(site, 'b (2).txt'), 'new b');
  assert.ok(theirs.equals(await site.read('view.png')));
  await row(page, 'b (2).txt').waitFor();
});
