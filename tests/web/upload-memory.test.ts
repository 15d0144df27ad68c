import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import type { Site } from './site.ts';
import {
  countUploadRecords,
  dropPaths,
  localFolder,
  openFileChooser,
  throttleUploads,
  tray,
  trayShows,
  uploadRow,
} from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const settings = { UPLOAD_CHUNK_SIZE: '128KiB' };
const SIZE = 3_000_000;

/** Slow enough that no large file is complete when the page is reloaded. */
const BYTES_PER_SECOND = 400_000;

describe('Unfinished uploads after a reload', () => {
  it('continue by themselves if the page may still read the dropped files, also small ones', async (t) => {
    const { site, page } = await openSite(t, { settings });
    const offsets = recordOffsets(page);
    const small = Object.fromEntries([1, 2, 3, 4].map((index) => [`trip/day ${index}/${index}.txt`, `${index}`]));
    const local = await localFolder(t, small);
    const large = randomBytes(SIZE);
    await writeFile(join(local, 'trip', 'large.bin'), large);
    const release = await holdUploads(page);
    await dropPaths(page, page.locator('[data-region="list"]'), [join(local, 'trip')]);
    await reloadDuringUpload(page, site, release);
    await trayShows(page, '5 files uploaded');
    assert.deepEqual(await site.paths(), [...Object.keys(small), 'trip/large.bin']);
    assert.ok((await site.read('trip/large.bin')).equals(large));
    assert.deepEqual(
      offsets,
      offsets.toSorted((left, right) => left - right),
      'no acknowledged byte is sent again',
    );
    await until('nothing is remembered', async () => (await countUploadRecords(page)) === 0);
  });

  it('ask for the permission to read the files, in only one tab', IN_FULL_FORM_ONLY, async (t) => {
    const { site, page } = await openSite(t, { settings });
    await stubPicker(page);
    const release = await holdUploads(page);
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await page.addInitScript(() => {
      const handle: object = FileSystemHandle.prototype;
      Object.assign(handle, { queryPermission: async () => 'prompt', requestPermission: async () => 'granted' });
    });
    await reloadDuringUpload(page, site, release);
    await trayShows(page, /unfinished uploads?/);
    await uploadRow(page, 'large.bin')
      .getByText(/ of .*3 MB/)
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
    await page.close();
    // The other tab may read the files, and continues what this one did not.
    await row(other, 'small 4.txt').waitFor();
  });

  it(
    'need the same files again without handles, can be discarded, and disappear if the service has them no longer',
    IN_FULL_FORM_ONLY,
    async (t) => {
      const { site, page } = await openSite(t, { settings, visit: { expectedErrors: [/status of 404/] } });
      const local = await temporaryFolder(t);
      const write = async (name: string, size: number) => {
        await writeFile(join(local, name), randomBytes(size));
        return join(local, name);
      };
      const small = await Promise.all(['a.txt', 'b.txt', 'c.txt'].map((name) => write(name, 10)));
      const large = await Promise.all(['large.bin', 'discarded.bin', 'gone.bin'].map((name) => write(name, SIZE)));
      const release = await holdUploads(page);
      await choose(page, page.getByRole('button', { name: 'Upload', exact: true }), [...large, ...small]);
      await until('a part of each large file is stored', () => new Set(parts(site).map(({ path }) => path)).size === 3);
      await reloadDuringUpload(page, site, release);
      await trayShows(page, '6 unfinished uploads');
      await page.evaluate(async () => {
        const uploads = JSON.parse(localStorage.getItem('holdall.uploads') ?? '[]') as [string, string][];
        const url = uploads.find(([key]) => key.includes('gone.bin'))?.[1] ?? '';
        await fetch(url, { method: 'DELETE', headers: { 'tus-resumable': '1.0.0' } });
      });
      await page.reload();
      await trayShows(page, '5 unfinished uploads');
      assert.equal(await uploadRow(page, 'gone.bin').count(), 0);
      await uploadRow(page, 'a.txt').getByText('Not uploaded').waitFor();
      await uploadRow(page, 'large.bin')
        .getByText(/ of .*3 MB/)
        .waitFor();
      await assertAccessible(page, t, { state: 'The tray with unfinished uploads' });

      await uploadRow(page, 'discarded.bin')
        .getByRole('button', { name: /^Discard/ })
        .press('Enter');
      await becomes(() => page.evaluate(() => document.activeElement?.className), 'upload-list');
      await becomes(() => site.log().filter(({ method, status }) => method === 'DELETE' && status === 204).length, 2);
      await trayShows(page, '4 unfinished uploads');

      const other = join(await temporaryFolder(t), 'large.bin');
      await writeFile(other, randomBytes(SIZE));
      const chooseLarge = uploadRow(page, 'large.bin').getByRole('button', { name: 'Choose file' });
      await choose(page, chooseLarge, [other]);
      await page.getByText('is another file, or has changed').first().waitFor();
      const offsets = recordOffsets(page);
      await choose(page, chooseLarge, large.slice(0, 1));
      await row(page, 'large.bin').waitFor();
      assert.ok(Number(offsets[0]) > 0);
      // A file chosen with the usual button counts, too.
      await choose(page, page.getByRole('button', { name: 'Upload', exact: true }), small.slice(0, 1));
      await row(page, 'a.txt').waitFor();
      await choose(page, tray(page).getByRole('button', { name: 'Choose files' }), small.slice(1));
      await row(page, 'c.txt').waitFor();
      assert.deepEqual(await site.paths(), ['a.txt', 'b.txt', 'c.txt', 'large.bin']);
      assert.ok((await site.read('large.bin')).equals(await readFile(large[0] ?? '')));
    },
  );
});

/** Sends large files slowly, and no small files. Returns a function that ends that. */
async function holdUploads(page: Page): Promise<() => Promise<void>> {
  let isHeld = true;
  await page.route('**/upload', (route) => (isHeld ? undefined : route.continue()));
  const session = await throttleUploads(page, BYTES_PER_SECOND);
  return async () => {
    isHeld = false;
    await session.detach();
  };
}

/** Reloads the page once the service has two parts more, and then ends the limits of the speed. */
async function reloadDuringUpload(page: Page, site: Site, release: () => Promise<void>): Promise<void> {
  const before = parts(site).length;
  await until('two parts are stored', () => parts(site).length >= before + 2);
  page.once('dialog', (dialog) => void dialog.accept());
  await Promise.all([page.reload(), release()]);
}

async function choose(page: Page, button: Locator, files: readonly string[]): Promise<void> {
  await (await openFileChooser(page, () => button.click())).setFiles([...files]);
}

const parts = (site: Site) => site.log().filter(({ method, status }) => method === 'PATCH' && status === 204);

/** Records where in its file each part begins. */
function recordOffsets(page: Page): readonly number[] {
  const offsets: number[] = [];
  page.on('request', (request) => {
    const offset = request.headers()['upload-offset'];
    if (offset !== undefined) offsets.push(Number(offset));
  });
  return offsets;
}

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
