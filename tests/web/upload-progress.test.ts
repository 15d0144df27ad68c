import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import { openFileChooser, testFile, throttleUploads, tray, trayShows, uploadFiles, uploadRow } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

it('Uploads show their progress, delay leaving the page, can be cancelled, and wait while the device is offline', async (t) => {
  const { site, page } = await openSite(t);
  const requested: string[] = [];
  page.on('dialog', (dialog) => {
    requested.push(dialog.type());
    void dialog.dismiss();
  });
  const folder = await temporaryFolder(t);
  const [large, small] = [join(folder, 'large.bin'), join(folder, 'small.txt')];
  for (const [path, size] of [
    [large, 6_000_000],
    [small, 4],
  ] as const) {
    await using file = await open(path, 'w');
    await file.truncate(size);
  }
  // The large file would take minutes.
  const throttled = await throttleUploads(page, 30_000);
  const upload = page.getByRole('button', { name: 'Upload', exact: true });
  await (await openFileChooser(page, () => upload.click())).setFiles([large, small]);
  await trayShows(page, /Uploading \d of 2.*%.*kB\/s.*left/);
  await page.evaluate(() => setTimeout(() => window.location.reload()));
  await becomes(() => [...requested], ['beforeunload']);
  const bar = uploadRow(page, 'large.bin').getByRole('progressbar');
  const parts: number[] = [];
  await until('progress is made', async () => {
    parts.push(Number(await bar.getAttribute('aria-valuenow')));
    return (parts.at(-1) ?? 0) > (parts[0] ?? 0);
  });
  assert.deepEqual(
    parts,
    parts.toSorted((left, right) => left - right),
  );
  await row(page, 'small.txt').waitFor();
  await page.getByRole('button', { name: /Cancel .*large\.bin/ }).click();
  await uploadRow(page, 'large.bin').getByText('Cancelled').waitFor();
  await trayShows(page, '1 cancelled');
  await until(
    'the service has ended the upload',
    () => site.log().filter(({ route }) => route === '/upload').length === 2,
  );
  assert.deepEqual(await site.paths(), ['small.txt']);
  assert.equal(await row(page, 'large.bin').count(), 0);
  await throttled.detach();

  // The tray closes after success, except below the pointer.
  await page.clock.install();
  const held = Promise.withResolvers<void>();
  await page.route('**/upload', (route) => held.promise.then(() => route.continue()));
  await uploadFiles(page, testFile('first.txt', '1'));
  // Hovers before the upload ends, because the delay until the tray closes starts then.
  await uploadRow(page, 'first.txt').hover();
  held.resolve();
  await trayShows(page, '1 file uploaded');
  await page.clock.runFor(20_000);
  assert.equal(await tray(page).count(), 1);
  await page.mouse.move(200, 300);
  await page.clock.runFor(20_000);
  await tray(page).waitFor({ state: 'detached' });

  // Only reports to the page that it is offline: without a network, its other requests would also fail.
  await setOnline(page, false);
  await uploadFiles(page, testFile('second.txt', '2'));
  await trayShows(page, 'Waiting for a connection…');
  assert.deepEqual(await site.paths(), ['first.txt', 'small.txt']);
  await setOnline(page, true);
  await row(page, 'second.txt').waitFor();
  assert.deepEqual(await site.paths(), ['first.txt', 'second.txt', 'small.txt']);
  await page.reload();
  assert.equal(requested.length, 1);
});

/** Reports to the page that the device is online or offline, as the browser does. */
function setOnline(page: Page, isOnline: boolean): Promise<void> {
  return page.evaluate((value) => {
    Object.defineProperty(navigator, 'onLine', { configurable: true, get: () => value });
    window.dispatchEvent(new Event(value ? 'online' : 'offline'));
  }, isOnline);
}
