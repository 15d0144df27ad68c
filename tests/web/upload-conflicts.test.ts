import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { photo } from './samples.ts';
import { openSite, picked, row, storedText, trayTells, upload, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const question = (page: Page) => page.getByRole('dialog');

describe('A name that is taken', () => {
  const FILES = { 'a.txt': 'old a', 'b.txt': 'old b', 'c.txt': 'old c' };
  const NEW = ['a.txt', 'b.txt', 'c.txt', 'd.txt'].map((name) => picked(name, `new ${name[0]}`));

  it('is asked about before a byte is sent: replace, keep both or skip', async (t) => {
    const { site, page } = await openSite(t, { files: FILES });
    await uploadFiles(page, NEW);
    for (const [name, verb] of [
      ['a.txt', 'Replace'],
      ['b.txt', 'Keep both'],
      ['c.txt', 'Skip'],
    ] as const) {
      await question(page).filter({ hasText: name }).getByRole('button', { name: verb }).click();
    }
    await trayTells(page, '3 files uploaded');
    await trayTells(page, '1 skipped');
    assert.deepEqual(await site.paths(), ['a.txt', 'b (2).txt', 'b.txt', 'c.txt', 'd.txt']);
    assert.equal(await storedText(site, 'a.txt'), 'new a');
    assert.equal(await storedText(site, 'b.txt'), 'old b');
    assert.equal(await storedText(site, 'b (2).txt'), 'new b');
    assert.equal(await storedText(site, 'c.txt'), 'old c');
    await row(page, 'b (2).txt').waitFor();
  });

  it('is decided once for all that were added together', async (t) => {
    const { site, page } = await openSite(t, { files: FILES });
    await uploadFiles(page, NEW);
    // Of the three others, "d.txt" does not conflict.
    await question(page).getByRole('checkbox', { name: '2 other conflicts' }).check();
    await assertAccessible(page, t, { state: 'The question about a name that is taken' });
    await question(page).getByRole('button', { name: 'Replace' }).click();
    await trayTells(page, '4 files uploaded');
    for (const name of ['a', 'b', 'c', 'd']) assert.equal(await storedText(site, `${name}.txt`), `new ${name}`);
    // Another time is another question.
    await uploadFiles(page, picked('a.txt', 'newer'));
    await question(page).getByRole('button', { name: 'Skip' }).click();
    await trayTells(page, '1 skipped');
    assert.equal(await storedText(site, 'a.txt'), 'new a');
  });

  it('shows size, time and picture of both files', async (t) => {
    const [mine, theirs] = await Promise.all(
      [1, 2].map((seed) => photo(seed, { width: 40, height: 30, format: 'png' })),
    );
    assert.ok(mine && theirs);
    const { page } = await openSite(t, { files: { 'view.png': theirs } });
    await uploadFiles(page, { name: 'view.png', mimeType: 'image/png', buffer: mine });
    const sides = question(page).locator('.side');
    for (const [index, bytes] of [theirs, mine].entries()) {
      const side = sides.nth(index);
      await side.getByText(new RegExp(`${(bytes.length / 1000).toFixed(1)}|${bytes.length} B`)).waitFor();
      await side.getByText('·').waitFor();
      const picture = side.locator('img');
      await becomes(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth > 0), true);
    }
    assert.equal(await question(page).getByRole('checkbox').count(), 0);
    await question(page).getByRole('button', { name: 'Skip' }).click();
  });

  it('is found out by the service where the page can’t know, and numbered on until it is free', async (t) => {
    const { site, page } = await openSite(t, { visit: { expectedErrors: [/status of 412/] } });
    await site.place({ 'a.txt': 'theirs', 'a (2).txt': 'theirs too' });
    await uploadFiles(page, picked('a.txt', 'mine'));
    await question(page).getByRole('button', { name: 'Keep both' }).click();
    await upload(page, 'a.txt').getByText('Uploaded as').waitFor();
    assert.equal(await storedText(site, 'a (3).txt'), 'mine');
    assert.equal(await storedText(site, 'a.txt'), 'theirs');
    assert.equal(await storedText(site, 'a (2).txt'), 'theirs too');
  });

  it('of a folder is told as an error', async (t) => {
    const { page } = await openSite(t, { files: { 'notes/x.txt': '' }, visit: { expectedErrors: [/status of 409/] } });
    await uploadFiles(page, picked('notes', 'a file'));
    await trayTells(page, '1 failed');
    await upload(page, 'notes').getByText('something that is no file').waitFor();
  });

  it('leaves everything as it is when the question is left by Escape', async (t) => {
    const { site, page } = await openSite(t, { files: FILES });
    await uploadFiles(page, NEW);
    await question(page).waitFor();
    await page.keyboard.press('Escape');
    await trayTells(page, '3 skipped');
    assert.equal(await question(page).count(), 0);
    assert.deepEqual(await site.paths(), ['a.txt', 'b.txt', 'c.txt', 'd.txt']);
    assert.equal(await storedText(site, 'a.txt'), 'old a');
  });
});
