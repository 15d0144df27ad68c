// Only this file proves in a browser that uploads wait while the service is down, and that the user chooses the same files again
// after a reload. It kills and starts a service of its own. tests/web/models has the rules.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import { row } from '../web/elements.ts';
import { assertAscending, holdUploads, PART, partsOf, recordOffsets, SIZE, untilHeld } from '../web/held-uploads.ts';
import { openSite, PARTS_AND_TRASH } from '../web/open-site.ts';
import { openFileChooser, tray, trayShows, uploadRow } from '../web/uploading.ts';

export const needs: readonly Need[] = ['browser'];

describe('Unfinished uploads', () => {
  it('wait while the service is down, continue where they were, and need the same files again after a reload', async (t) => {
    const { site, page } = await openSite(t, {
      settings: PARTS_AND_TRASH,
      isProcess: true,
      visit: { expectedErrors: [/.*/] },
    });
    page.on('dialog', (dialog) => void dialog.accept());
    const local = await temporaryFolder(t);
    const write = async (name: string, size: number) => {
      await writeFile(join(local, name), randomBytes(size));
      return join(local, name);
    };
    const small = await Promise.all(['a.txt', 'b.txt', 'c.txt'].map((name) => write(name, 10)));
    const large = await Promise.all(['large ü.bin', 'discarded.bin', 'gone.bin'].map((name) => write(name, SIZE)));
    const offsets = recordOffsets(page, 'large ü.bin');
    const held = await holdUploads(page);
    await choose(page, page.getByRole('button', { name: 'Upload', exact: true }), [...large, ...small]);
    await untilHeld(page, site, held, 3);
    await site.kill();
    held.release(3 * PART);
    await trayShows(page, 'Waiting for a connection…');
    await uploadRow(page, 'large ü.bin').getByText('Can’t reach the server.').waitFor();
    await site.restart();
    await until('the page continues each by itself', () => partsOf(site).size === 3);
    assert.deepEqual(await site.paths(), [], 'nothing is visible before the end');

    // The service has one of them no longer.
    const gone = await page.evaluate(() => {
      const uploads = JSON.parse(localStorage.getItem('holdall.uploads') ?? '[]') as [string, string][];
      return uploads.find(([key]) => key.includes('gone.bin'))?.[1] ?? '';
    });
    const headers = { 'tus-resumable': '1.0.0' };
    assert.equal((await fetch(new URL(gone, site.url), { method: 'DELETE', headers })).status, 204);
    held.drop();
    await page.reload();
    await trayShows(page, '5 unfinished uploads');
    assert.equal(await uploadRow(page, 'gone.bin').count(), 0);
    await uploadRow(page, 'a.txt').getByText('Not uploaded').waitFor();
    await uploadRow(page, 'large ü.bin')
      .getByText(/ of .*kB/)
      .waitFor();
    await uploadRow(page, 'discarded.bin')
      .getByRole('button', { name: /^Discard/ })
      .press('Enter');
    await becomes(() => page.evaluate(() => document.activeElement?.className), 'upload-list');
    await becomes(() => site.log().filter(({ method, status }) => method === 'DELETE' && status === 204).length, 2);
    await trayShows(page, '4 unfinished uploads');

    const other = join(await temporaryFolder(t), 'large ü.bin');
    await writeFile(other, randomBytes(SIZE));
    const chooseLarge = uploadRow(page, 'large ü.bin').getByRole('button', { name: 'Choose file' });
    await choose(page, chooseLarge, [other]);
    await page.getByText('is another file, or has changed').first().waitFor();
    await choose(page, chooseLarge, large.slice(0, 1));
    await row(page, 'large ü.bin').waitFor();
    assertAscending(offsets);
    assert.equal(offsets.filter((offset) => offset === 0).length, 1);
    // A file chosen with the usual button counts, too.
    await choose(page, page.getByRole('button', { name: 'Upload', exact: true }), small.slice(0, 1));
    await row(page, 'a.txt').waitFor();
    await choose(page, tray(page).getByRole('button', { name: 'Choose files' }), small.slice(1));
    await row(page, 'c.txt').waitFor();
    assert.deepEqual(await site.paths(), ['a.txt', 'b.txt', 'c.txt', 'large ü.bin']);
    assert.ok((await site.read('large ü.bin')).equals(await readFile(large[0] ?? '')));
    // The same file again is a new upload.
    await choose(page, page.getByRole('button', { name: 'Upload', exact: true }), large.slice(0, 1));
    await page.getByText('already exists').first().waitFor();
  });
});

async function choose(page: Page, button: Locator, files: readonly string[]): Promise<void> {
  await (await openFileChooser(page, () => button.click())).setFiles([...files]);
}
