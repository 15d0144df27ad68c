import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import { openFileChooser, testFile, throttleUploads, tray, trayShows, uploadFiles, uploadRow } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

describe('Uploads in progress', () => {
  it('show their progress and completed files, delay leaving the page, and store nothing after Cancel', async (t) => {
    const { site, page } = await openSite(t);
    const requested: string[] = [];
    page.on('dialog', (dialog) => {
      requested.push(dialog.type());
      void dialog.dismiss();
    });
    // Slow enough that the large file is never complete before the test cancels it.
    await throttleUploads(page, 250_000);
    await uploadFiles(page, [testFile('one.bin', Buffer.alloc(6_000_000)), testFile('small.txt', 'done')]);
    await trayShows(page, /Uploading \d of 2.*%.*kB\/s.*left/);
    await page.evaluate(() => setTimeout(() => window.location.reload()));
    await becomes(() => [...requested], ['beforeunload']);
    const parts: number[] = [];
    await until('progress is made', async () => {
      parts.push(Number(await tray(page).locator('> .progress-bar').getAttribute('aria-valuenow')));
      return (parts.at(-1) ?? 0) > (parts[0] ?? 0);
    });
    assert.deepEqual(
      parts,
      parts.toSorted((left, right) => left - right),
    );
    await row(page, 'small.txt').waitFor();
    await page.getByRole('button', { name: /Cancel .*one\.bin/ }).click();
    await uploadRow(page, 'one.bin').getByText('Cancelled').waitFor();
    await trayShows(page, '1 cancelled');
    await until(
      'the service has ended the upload',
      () => site.log().filter(({ route }) => route === '/upload').length === 2,
    );
    assert.deepEqual(await site.paths(), ['small.txt']);
    assert.equal(await row(page, 'one.bin').count(), 0);
    await page.reload();
    assert.equal(requested.length, 1);
  });

  it('continue large files where they were, after the service is killed and the page is reloaded', async (t) => {
    const settings = { UPLOAD_CHUNK_SIZE: '128KiB' };
    const { site, page } = await openSite(t, { settings, isOwn: true, visit: { expectedErrors: [/.*/] } });
    const content = randomBytes(3_000_000);
    const path = join(await temporaryFolder(t), 'large ü.bin');
    await writeFile(path, content);
    const choose = async () => {
      const upload = page.getByRole('button', { name: 'Upload', exact: true });
      await (await openFileChooser(page, () => upload.click())).setFiles(path);
    };
    const parts = () => site.log().filter(({ method, status }) => method === 'PATCH' && status === 204).length;
    const offsets: number[] = [];
    page.on('request', (request) => {
      const offset = request.headers()['upload-offset'];
      if (offset !== undefined) offsets.push(Number(offset));
    });
    page.on('dialog', (dialog) => void dialog.accept());
    // Slow enough that the file is not complete before the page is reloaded.
    const session = await throttleUploads(page, 400_000);
    await choose();
    await until('two parts are stored', () => parts() >= 2);
    await site.kill();
    await site.restart();
    await until('the page continues by itself', () => parts() >= 1);
    const before = offsets.at(-1) ?? 0;
    await page.reload();
    await page.locator('html[data-listing="complete"]').waitFor();
    assert.deepEqual(await site.paths(), [], 'nothing is visible before the end');
    await session.detach();
    await choose();
    await row(page, 'large ü.bin').waitFor();
    assert.ok((await site.read('large ü.bin')).equals(content));
    assert.deepEqual(
      offsets,
      offsets.toSorted((left, right) => left - right),
      'no acknowledged byte is sent again',
    );
    assert.ok(before > 0 && offsets.filter((offset) => offset === 0).length === 1);
    // The same file again is a new upload.
    await choose();
    await page.getByText('already exists').first().waitFor();
  });

  it('wait while the device is offline, and close the tray after success unless the pointer is over it', async (t) => {
    const { site, page } = await openSite(t);
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
    assert.deepEqual(await site.paths(), ['first.txt']);
    await setOnline(page, true);
    await trayShows(page, '1 file uploaded');
    assert.deepEqual(await site.paths(), ['first.txt', 'second.txt']);
  });

  it('wait while the service is unreachable, and complete by themselves', IN_FULL_FORM_ONLY, async (t) => {
    const expectedErrors = [/ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE|ERR_SOCKET/];
    const { site, page } = await openSite(t, { visit: { expectedErrors } });
    await page.clock.install();
    // Slow enough that the file is never complete before the service is killed: a retry of a stored file gets a 412.
    const session = await throttleUploads(page, 100_000);
    const bytes = Buffer.alloc(3_000_000, 'holdall');
    await uploadFiles(page, testFile('one.bin', bytes));
    await until('a part was sent', async () => Number(await barOf(page, 'one.bin')) > 0);
    await site.kill();
    await trayShows(page, 'Waiting for a connection…');
    await uploadRow(page, 'one.bin').getByText('Can’t reach the server.').waitFor();
    // Longer than any number of retries takes.
    for (let minutes = 0; minutes < 5; minutes++) await page.clock.runFor(60_000);
    await trayShows(page, 'Waiting for a connection…');
    assert.equal(await site.exists('one.bin'), false);
    await site.restart();
    await session.detach();
    await until('the upload is complete', async () => {
      await page.clock.runFor(1_000);
      return (await tray(page).getByText('1 file uploaded').count()) > 0;
    });
    assert.ok(bytes.equals(await site.read('one.bin')));
  });
});

async function barOf(page: Page, name: string): Promise<string | null> {
  const bar = uploadRow(page, name).getByRole('progressbar');
  return (await bar.count()) > 0 ? await bar.getAttribute('aria-valuenow') : null;
}

/** Reports to the page that the device is online or offline, as the browser does. */
function setOnline(page: Page, isOnline: boolean): Promise<void> {
  return page.evaluate((value) => {
    Object.defineProperty(navigator, 'onLine', { configurable: true, get: () => value });
    window.dispatchEvent(new Event(value ? 'online' : 'offline'));
  }, isOnline);
}
