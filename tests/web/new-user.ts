import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { photos, SOURCE_CODE } from './samples.ts';
import type { Site } from './site.ts';

/*
 * The tasks of a new user: create a folder, upload a folder of photos, preview them, rename one, move one and undo that,
 * delete three.
 */

export const FILES = {
  'Documents/plan.md': '# Plan\n',
  'Music/': '',
  'Projects/holdall/main.ts': SOURCE_CODE,
  'budget 2026.csv': 'what,how much\nrent,900\n',
  'letter.txt': 'Dear reader,\n',
  'notes.md': '# Notes\n',
};

/** Creates a local folder `Alps` with twelve photos. Returns their paths. */
export async function createAlbum(t: TestContext): Promise<readonly string[]> {
  const album = join(await temporaryFolder(t), 'Alps');
  await mkdir(album);
  // Drawing full-size photos would take longer than the tests.
  const files = await photos({ scale: 0.25 });
  for (const [name, content] of Object.entries(files)) await writeFile(join(album, name), content);
  return Object.keys(files).map((name) => join(album, name));
}

export const untilStored = (site: Site, path: string) => until(`${path} is stored`, () => site.exists(path));
export const untilDeleted = (site: Site, path: string) =>
  until(`${path} is deleted`, async () => !(await site.exists(path)));
export const untilThumbnails = (page: Page, count: number) =>
  until('all thumbnails are loaded', async () => {
    const images = page.locator('.thumbnail.loaded img');
    return (await images.count()) >= count;
  });

/** Waits until the preview has loaded the image with this name. */
export async function untilPreviewed(page: Page, name: string): Promise<void> {
  const picture = page.getByRole('dialog').getByRole('img', { name });
  await picture.waitFor();
  await until('the image is loaded', () =>
    picture.evaluate((image) => image instanceof HTMLImageElement && image.complete),
  );
}

/** Returns the undo button of the message about a file. */
export function undoButton(page: Page, name: string): Locator {
  return page.locator('[data-message]').filter({ hasText: name }).getByRole('button', { name: 'Undo' });
}
