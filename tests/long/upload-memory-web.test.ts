// Unfinished uploads whose files the page may read again: after a reload, and in one of two tabs. It needs three pages and ten
// files. Files that the user chooses again: tests/long/unfinished-uploads-web.test.ts.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { row } from '../web/elements.ts';
import { assertAscending, holdUploads, recordOffsets, SIZE, untilHeld } from '../web/held-uploads.ts';
import { openSite, PARTS_AND_TRASH } from '../web/open-site.ts';
import { countRemembered, dropPaths, localFolder, tray, trayShows, uploadRow } from '../web/uploading.ts';

export const needs: readonly Need[] = ['browser'];

it('Unfinished uploads continue after a reload if the page may read the dropped files, or may again after a question in one tab', async (t) => {
  const { site, page } = await openSite(t, { settings: PARTS_AND_TRASH });
  page.on('dialog', (dialog) => void dialog.accept());
  const offsets = recordOffsets(page);
  const small = Object.fromEntries([1, 2, 3, 4].map((index) => [`trip/day ${index}/${index}.txt`, `${index}`]));
  const local = await localFolder(t, small);
  const large = randomBytes(SIZE);
  await writeFile(join(local, 'dropped.bin'), large);
  const held = await holdUploads(page);
  // The large file is sent first.
  const dropped = ['dropped.bin', 'trip'].map((name) => join(local, name));
  await dropPaths(page, page.locator('[data-region="list"]'), dropped);
  await untilHeld(page, site, held, 1);
  held.drop();
  await page.reload();
  await trayShows(page, '5 files uploaded');
  assert.deepEqual(await site.paths(), ['dropped.bin', ...Object.keys(small)]);
  assert.ok((await site.read('dropped.bin')).equals(large));
  assertAscending(offsets);
  await until('nothing is remembered', async () => (await countRemembered(page)) === 0);

  // From now on, the browser asks the user before a page reads the files again.
  await page.addInitScript(() => {
    const handle: object = FileSystemHandle.prototype;
    Object.assign(handle, { queryPermission: async () => 'prompt', requestPermission: async () => 'granted' });
  });
  await stubPicker(page);
  const again = await holdUploads(page);
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await untilHeld(page, site, again, 1);
  again.drop();
  await page.reload();
  await trayShows(page, /unfinished uploads?/);
  await uploadRow(page, 'large.bin')
    .getByText(/ of .*kB/)
    .waitFor();
  const other = await page.context().newPage();
  await other.goto(site.url);
  await other.locator('html[data-listing="complete"]').waitFor();
  await until('the other tab waits for the end of this one', async () =>
    other.evaluate(async () => ((await navigator.locks.query()).pending ?? []).length > 0),
  );
  assert.equal(await tray(other).count(), 0);
  await uploadRow(page, 'large.bin').getByRole('button', { name: 'Continue' }).click();
  await row(page, 'large.bin').waitFor();
  await until('only the others are remembered', async () => (await countRemembered(page)) === 4);
  await page.close();
  // The other tab may read the files, and continues what this one did not.
  await row(other, 'small 4.txt').waitFor();
});

/** Replaces the picker by files of the origin's private file system, whose handles are like those of other files. */
function stubPicker(page: Page): Promise<void> {
  return page.evaluate(async (size) => {
    const folder = await navigator.storage.getDirectory();
    const contents: Record<string, string> = { 'large.bin': 'x'.repeat(size) };
    for (let index = 1; index <= 4; index++) contents[`small ${index}.txt`] = `small ${index}`;
    const handles: FileSystemFileHandle[] = [];
    for (const [name, content] of Object.entries(contents)) {
      const handle = await folder.getFileHandle(name, { create: true });
      const writable = await handle.createWritable();
      await writable.write(content);
      await writable.close();
      handles.push(handle);
    }
    Object.assign(window, { showOpenFilePicker: async () => handles });
  }, SIZE);
}
