import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import { picked, throttleUploads, tray, trayTells, upload, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

describe('Uploads in progress', () => {
  it('show their progress and completed files, ask before the page is left, and store nothing once cancelled', async (t) => {
    const { site, page } = await openSite(t);
    const requested: string[] = [];
    page.on('dialog', (dialog) => {
      requested.push(dialog.type());
      void dialog.dismiss();
    });
    // Slow enough that the large file is never complete before the test cancels it.
    await throttleUploads(page, 250_000);
    await uploadFiles(page, [picked('one.bin', Buffer.alloc(6_000_000)), picked('small.txt', 'done')]);
    await trayTells(page, /Uploading \d of 2.*%.*kB\/s.*left/);
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
    await upload(page, 'one.bin').getByText('Cancelled').waitFor();
    await trayTells(page, '1 cancelled');
    await until('the service knows', () => site.log().filter(({ route }) => route === '/upload').length === 2);
    assert.deepEqual(await site.paths(), ['small.txt']);
    assert.equal(await row(page, 'one.bin').count(), 0);
    await page.reload();
    assert.equal(requested.length, 1);
  });

  it('wait while the device is offline, and leave the tray after success, except while it is pointed at', async (t) => {
    const { site, page } = await openSite(t);
    await page.clock.install();
    const held = Promise.withResolvers<void>();
    await page.route('**/upload', (route) => held.promise.then(() => route.continue()));
    await uploadFiles(page, picked('first.txt', '1'));
    // The pointer is there before the upload ends, because the time until the tray leaves starts then.
    await upload(page, 'first.txt').hover();
    held.resolve();
    await trayTells(page, '1 file uploaded');
    await page.clock.runFor(20_000);
    assert.equal(await tray(page).count(), 1);
    await page.mouse.move(200, 300);
    await page.clock.runFor(20_000);
    await tray(page).waitFor({ state: 'detached' });

    // The page learns it as from the device. Without a network, its other requests would fail, too.
    await setOnline(page, false);
    await uploadFiles(page, picked('second.txt', '2'));
    await trayTells(page, 'Waiting for a connection…');
    assert.deepEqual(await site.paths(), ['first.txt']);
    await setOnline(page, true);
    await trayTells(page, '1 file uploaded');
    assert.deepEqual(await site.paths(), ['first.txt', 'second.txt']);
  });

  it('fail with a reason when the service is unreachable, and complete after Retry', async (t) => {
    const expectedErrors = [/ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE|ERR_SOCKET/];
    const { site, page } = await openSite(t, { visit: { expectedErrors } });
    await page.clock.install();
    // Slow enough that the file is never complete before the service is killed: a retry of a stored file gets a 412.
    const session = await throttleUploads(page, 100_000);
    const bytes = Buffer.alloc(3_000_000, 'holdall');
    await uploadFiles(page, picked('one.bin', bytes));
    await until('some of it was sent', async () => Number(await barOf(page, 'one.bin')) > 0);
    await site.kill();
    await until('it has failed', async () => {
      await page.clock.runFor(2_000);
      return (await tray(page).getByText('1 failed').count()) > 0;
    });
    await upload(page, 'one.bin').getByText('Can’t reach the server.').waitFor();
    assert.equal(await site.exists('one.bin'), false);
    await site.restart();
    await session.detach();
    await tray(page)
      .getByRole('button', { name: /^Retry/ })
      .first()
      .click();
    await trayTells(page, '1 file uploaded');
    assert.ok(bytes.equals(await site.read('one.bin')));
  });
});

async function barOf(page: Page, name: string): Promise<string | null> {
  const bar = upload(page, name).getByRole('progressbar');
  return (await bar.count()) > 0 ? await bar.getAttribute('aria-valuenow') : null;
}

/** Lets the browser tell the page that the device is online or offline. */
function setOnline(page: Page, isOnline: boolean): Promise<void> {
  return page.evaluate((value) => {
    Object.defineProperty(navigator, 'onLine', { configurable: true, get: () => value });
    window.dispatchEvent(new Event(value ? 'online' : 'offline'));
  }, isOnline);
}
