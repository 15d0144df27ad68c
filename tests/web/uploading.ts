import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CDPSession, FileChooser, Locator, Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { DWELL_MS } from '../../web/src/features/dragging/drop-target.ts';
import type { Site } from './site.ts';

/** A file on the user's device. */
export interface TestFile {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

export const testFile = (name: string, content: string | Buffer): TestFile => ({
  name,
  mimeType: '',
  buffer: Buffer.from(content),
});

/** Writes files into a temporary folder of the test. Returns the path of the folder. */
export async function localFolder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await temporaryFolder(t);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(path.endsWith('/') ? join(root, path) : dirname(join(root, path)), { recursive: true });
    if (!path.endsWith('/')) await writeFile(join(root, path), content);
  }
  return root;
}

/** Returns the content of a stored file. */
export async function storedText(site: Site, path: string): Promise<string> {
  return (await site.read(path)).toString();
}

/** Uploads files to the shown folder with the button. */
export async function uploadFiles(page: Page, files: TestFile | readonly TestFile[]): Promise<void> {
  const chooser = await openFileChooser(page, () => page.getByRole('button', { name: 'Upload', exact: true }).click());
  await chooser.setFiles([files].flat());
}

/** Uploads a local folder with the menu. */
export async function uploadFolder(page: Page, folder: string): Promise<void> {
  await page
    .getByRole('button', { name: 'Upload options' })
    .or(page.locator('.split [aria-haspopup="menu"]'))
    .first()
    .click();
  const chooser = await openFileChooser(page, () => page.getByRole('menuitem', { name: 'Upload folder' }).click());
  await chooser.setFiles(folder);
}

/**
 * Returns the file chooser that `open` opens. Chromium intercepts choosers only once it has processed a command that
 * arrives on another channel than input events. A script in between makes sure of that. Otherwise, the chooser could open
 * as a native window, and the test would wait for it forever.
 */
export async function openFileChooser(page: Page, open: () => Promise<void>): Promise<FileChooser> {
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.evaluate(() => document.readyState).then(open),
  ]);
  return chooser;
}

/** Drags local files and folders over an element, as from another window, and drops them there. */
export function dropPaths(page: Page, target: Locator, files: readonly string[]): Promise<void> {
  return dragPaths(page, target, files, ['dragEnter', 'dragOver', 'drop']);
}

/**
 * Drags local files and folders over an element until `shown` is visible. As browsers do, repeats the event while the pointer
 * rests: the page takes a pause as the end of the drag.
 */
export async function dragUntil(
  page: Page,
  target: Locator,
  { files, shown, types }: { files: readonly string[]; shown: Locator; types?: readonly DragType[] },
): Promise<void> {
  const point = await pointOf(target);
  await dispatchDrag(page, point, files, types);
  await waitWhileRepeating(shown, () => dispatchDrag(page, point, files, ['dragOver']));
}

/** Waits until an element is visible, and repeats an event until then. */
export async function waitWhileRepeating(shown: Locator, repeat: () => Promise<void>): Promise<void> {
  let isShown = false;
  const wait = async () => {
    await shown.waitFor();
    isShown = true;
  };
  const repeating = until('the page reacts', async () => {
    if (!isShown) await repeat();
    return isShown;
  });
  await Promise.all([wait(), repeating]);
}

/** Dispatches drag events with local files and folders at an element. */
export async function dragPaths(
  page: Page,
  target: Locator,
  files: readonly string[],
  types?: readonly DragType[],
): Promise<void> {
  await dispatchDrag(page, await pointOf(target), files, types);
}

/**
 * Keeps folders closed below a drag, which on a slow machine rests there for longer. Returns a function that lets the page open
 * them again.
 */
export async function keepFoldersClosed(page: Page): Promise<() => Promise<void>> {
  await page.evaluate((dwell) => {
    const { setTimeout: real } = window;
    const start = (run: () => void, delay?: number) => real(run, delay === dwell ? 2 ** 31 - 1 : delay);
    Object.assign(window, { setTimeout: start, realSetTimeout: real });
  }, DWELL_MS);
  return () => page.evaluate('void (window.setTimeout = window.realSetTimeout)');
}

type DragType = 'dragEnter' | 'dragOver' | 'dragCancel' | 'drop';

async function pointOf(target: Locator): Promise<{ x: number; y: number }> {
  const box = await target.boundingBox();
  if (!box) throw new Error('The drop target is not visible.');
  return { x: box.x + box.width / 2, y: box.y + Math.min(box.height / 2, 300) };
}

async function dispatchDrag(
  page: Page,
  point: { readonly x: number; readonly y: number },
  files: readonly string[],
  types: readonly DragType[] = ['dragEnter', 'dragOver'],
): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  for (const type of types) await session.send('Input.dispatchDragEvent', { type, ...point, data });
  await session.detach();
}

/** Dispatches a paste event with a file, because a headless browser has no clipboard with files. */
export async function pasteFile(page: Page, { name, mimeType, buffer }: TestFile): Promise<void> {
  await page.evaluate(
    ([fileName = '', base64 = '', type = '']) => {
      const clipboardData = new DataTransfer();
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      clipboardData.items.add(new File([bytes], fileName, { type }));
      const target = document.activeElement ?? document.body;
      target.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    },
    [name, buffer.toString('base64'), mimeType],
  );
}

/** The tray of uploads and changes. */
export const tray = (page: Page): Locator => page.getByRole('region', { name: 'Uploads and changes' });

/** Waits until the title of the tray contains a text. */
export async function trayShows(
  page: Page,
  text: string | RegExp,
  { timeoutMs }: { readonly timeoutMs?: number } = {},
): Promise<void> {
  await tray(page).locator('header').filter({ hasText: text }).waitFor({ timeout: timeoutMs });
}

/** The row of an upload in the tray. */
export function uploadRow(page: Page, name: string): Locator {
  return tray(page).getByRole('listitem').filter({ hasText: name });
}

/** Limits the speed of uploads; without a number, removes the limit. */
export async function throttleUploads(page: Page, bytesPerSecond = -1): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: bytesPerSecond,
  });
  return session;
}

/** Returns how many unfinished uploads the browser remembers. */
export function countRemembered(page: Page): Promise<number> {
  return page.evaluate(async () => {
    // Opening a database that does not exist would create it, without the tables of the page.
    if ((await indexedDB.databases()).every(({ name }) => name !== 'holdall')) return 0;
    const { promise, resolve } = Promise.withResolvers<number>();
    const opening = indexedDB.open('holdall');
    opening.addEventListener('success', () => {
      const reading = opening.result.transaction('uploads').objectStore('uploads').getAll();
      reading.addEventListener('success', () => {
        const records: readonly { readonly uploads: readonly unknown[] }[] = reading.result;
        resolve(records.reduce((sum, { uploads }) => sum + uploads.length, 0));
      });
    });
    return promise;
  });
}
