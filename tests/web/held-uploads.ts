import assert from 'node:assert/strict';
import type { Page, Route } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Site } from './site.ts';
import { countRemembered } from './uploading.ts';

/** Bytes of a part with the settings `PARTS_AND_TRASH`, and of a large file. */
export const PART = 128 * 1024;
export const SIZE = 6 * PART;

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
export async function holdUploads(page: Page): Promise<HeldUploads> {
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
export async function untilHeld(page: Page, site: Site, held: HeldUploads, files: number): Promise<void> {
  await until('the first parts are stored', () => partsOf(site).size >= files && held.count() === files);
  await until('the page remembers the uploads', async () => (await countRemembered(page)) > 0);
}

/** Returns the uploads of which the service has stored parts. */
export const partsOf = (site: Site) =>
  new Set(
    site
      .log()
      .filter(({ method, status }) => method === 'PATCH' && status === 204)
      .map(({ path }) => path),
  );

/** Records where in their file the parts begin of the first upload that sends one, or of the upload of a file. */
export function recordOffsets(page: Page, name?: string): readonly number[] {
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

export function assertAscending(offsets: readonly number[]): void {
  assert.ok(offsets.length > 0);
  assert.deepEqual(
    offsets,
    offsets.toSorted((left, right) => left - right),
    'no acknowledged byte is sent again',
  );
}
