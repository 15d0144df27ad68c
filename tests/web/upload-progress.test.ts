import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import { chooserAfter, picked, throttleUploads, tray, trayTells, upload, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

describe('Uploads in progress', () => {
  it('show their progress and completed files, ask before the page is left, and store nothing once cancelled', async (t) => {
    const { site, page } = await openSite(t);
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.dismiss();
    });
    await throttleUploads(page, 250_000);
    await uploadFiles(page, [picked('one.bin', Buffer.alloc(3_000_000)), picked('small.txt', 'done')]);
    await trayTells(page, /Uploading \d of 2.*%.*kB\/s.*left/);
    await page.reload({ timeout: 1_000 }).catch(() => {});
    await becomes(() => [...asked], ['beforeunload']);
    const parts: number[] = [];
    await until('a fifth is sent', async () => {
      parts.push(Number(await tray(page).locator('> .progress-bar').getAttribute('aria-valuenow')));
      return (parts.at(-1) ?? 0) >= 20;
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
    assert.equal(asked.length, 1);
  });

  it('wait while the device is offline, and leave the tray after success, except while it is pointed at', async (t) => {
    const { site, page } = await openSite(t);
    // Offline, what the page loads in an idle moment would fail, and the clock of the test would hold it back.
    await page.waitForFunction(() => {
      const loaded = performance.getEntriesByType('resource').map(({ name }) => name);
      const late = [/all-changes.*js$/, /all-changes.*css$/, /new-folder-question.*js$/, /new-folder-question.*css$/];
      return late.every((file) => loaded.some((name) => file.test(name)));
    });
    await page.clock.install();
    // So would the request for the folder after an upload.
    const listed = page.waitForResponse((response) => response.url().includes('prefix='));
    await uploadFiles(page, picked('first.txt', '1'));
    await trayTells(page, '1 file uploaded');
    await tray(page).hover();
    await page.clock.runFor(20_000);
    assert.equal(await tray(page).count(), 1);
    await page.mouse.move(200, 300);
    await page.clock.runFor(20_000);
    await tray(page).waitFor({ state: 'detached' });

    await (await listed).finished();
    await page.context().setOffline(true);
    await uploadFiles(page, picked('second.txt', '2'));
    await trayTells(page, 'Waiting for a connection');
    await page.context().setOffline(false);
    await trayTells(page, '1 file uploaded');
    assert.deepEqual(await site.paths(), ['first.txt', 'second.txt']);
  });

  it('fail with a reason when the service is unreachable, and complete after Retry', async (t) => {
    const expectedErrors = [/ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE|ERR_SOCKET/];
    const { site, page } = await openSite(t, { visit: { expectedErrors } });
    await page.clock.install();
    const session = await throttleUploads(page, 300_000);
    const bytes = Buffer.alloc(1_500_000, 'holdall');
    await uploadFiles(page, [picked('one.bin', bytes), picked('two.bin', 'two')]);
    await until('some of it was sent', async () => Number(await barOf(page, 'one.bin')) > 0);
    await site.kill();
    await until('it has failed', async () => {
      await page.clock.runFor(2_000);
      return (await tray(page).getByText('1 failed').or(tray(page).getByText('2 failed')).count()) > 0;
    });
    await upload(page, 'one.bin').getByText('The service can’t be reached.').waitFor();
    assert.equal(await site.exists('one.bin'), false);
    await site.restart();
    await session.detach();
    await tray(page)
      .getByRole('button', { name: /^Retry/ })
      .first()
      .click();
    await trayTells(page, /[12] files? uploaded/);
    await until('it is stored', () => site.exists('one.bin'));
    assert.ok(bytes.equals(await site.read('one.bin')));
  });
});

describe('The tray', () => {
  it('is collapsed on a phone, and expands to the files', async (t) => {
    const { page } = await openSite(t, { visit: { width: 'phone' } });
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    const chooser = await chooserAfter(page, () => page.getByRole('menuitem', { name: 'Upload files' }).click());
    await chooser.setFiles([picked('a.txt', 'a'), picked('b.txt', 'b')]);
    await trayTells(page, '2 files uploaded');
    assert.equal(await upload(page, 'a.txt').count(), 0);
    await assertAccessible(page, t, { state: 'The folded tray on a phone' });
    await tray(page).getByRole('button', { expanded: false }).click();
    await upload(page, 'a.txt').waitFor();
    await assertAccessible(page, t, { state: 'The open tray on a phone' });
  });
});

async function barOf(page: Page, name: string): Promise<string | null> {
  const bar = upload(page, name).getByRole('progressbar');
  return (await bar.count()) > 0 ? await bar.getAttribute('aria-valuenow') : null;
}
