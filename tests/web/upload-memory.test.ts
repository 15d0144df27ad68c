import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Locator, Page, Route } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { row } from './elements.ts';
import { openSite, PARTS_AND_TRASH } from './open-site.ts';
import type { Site } from './site.ts';
import { countRemembered, dropPaths, localFolder, openFileChooser, tray, trayShows, uploadRow } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const PART = 128 * 1024;
const SIZE = 6 * PART;

describe('Unfinished uploads', () => {
  it('continue after a reload if the page may read the dropped files, or may again after a question in one tab', async (t) => {
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

/** The uploads of a page that the test holds. */
interface HeldUploads {
  /** How many parts of large files are held. */
  count(): number;
  /** Sends the parts below a position in their file, those that are held and those that follow. */
  release(position: number): void;
  /** Holds no further requests. Those that are held are never sent: the next reload ends them. */
  drop(): void;
}

/** Sends two parts of each large file, and no small files. */
async function holdUploads(page: Page): Promise<HeldUploads> {
  let end = 2 * PART;
  let isDropped = false;
  let held: { route: Route; offset: number }[] = [];
  const hold = (route: Route) => {
    const offset = Number(route.request().headers()['upload-offset'] ?? Infinity);
    const isPart = route.request().method() === 'PATCH';
    if (isDropped || (isPart ? offset < end : !route.request().url().endsWith('/upload'))) return route.continue();
    held.push({ route, offset });
    return undefined;
  };
  const isUpload = (url: URL) => /^\/(upload|-\/uploads\/.*)$/.test(url.pathname);
  await page.route(isUpload, hold);
  return {
    count: () => held.filter(({ offset }) => offset < Infinity).length,
    release(position) {
      end = position;
      const waiting = held;
      held = [];
      for (const { route } of waiting) void hold(route);
    },
    drop() {
      isDropped = true;
    },
  };
}

/** Waits until the service has the first parts of so many files, and the page remembers that. */
async function untilHeld(page: Page, site: Site, held: HeldUploads, files: number): Promise<void> {
  await until('the first parts are stored', () => partsOf(site).size >= files && held.count() === files);
  await until('the page remembers the uploads', async () => (await countRemembered(page)) > 0);
}

async function choose(page: Page, button: Locator, files: readonly string[]): Promise<void> {
  await (await openFileChooser(page, () => button.click())).setFiles([...files]);
}

/** Returns the uploads of which the service has stored parts. */
const partsOf = (site: Site) =>
  new Set(
    site
      .log()
      .filter(({ method, status }) => method === 'PATCH' && status === 204)
      .map(({ path }) => path),
  );

/** Records where in their file the parts begin of the first upload that sends one, or of the upload of a file. */
function recordOffsets(page: Page, name?: string): readonly number[] {
  const offsets: number[] = [];
  let upload: string | undefined;
  page.on('response', (response) => {
    const metadata = response.request().headers()['upload-metadata'] ?? '';
    const encoded = Buffer.from(name ?? '').toString('base64');
    if (response.status() === 201 && metadata.includes(encoded)) upload ??= response.headers()['location'];
  });
  page.on('request', (request) => {
    const offset = request.headers()['upload-offset'];
    if (offset !== undefined && upload !== undefined && request.url().endsWith(upload)) offsets.push(Number(offset));
  });
  return offsets;
}

function assertAscending(offsets: readonly number[]): void {
  assert.ok(offsets.length > 0);
  assert.deepEqual(
    offsets,
    offsets.toSorted((left, right) => left - right),
    'no acknowledged byte is sent again',
  );
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
