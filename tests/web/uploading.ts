import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CDPSession, FileChooser, Locator, Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import type { Site } from './site.ts';

/** The bytes of a stored file as text. */
export async function storedText(site: Site, path: string): Promise<string> {
  return (await site.read(path)).toString();
}

/** A file that the user selects. */
export interface Picked {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

export const picked = (name: string, content: string | Buffer): Picked => ({
  name,
  mimeType: '',
  buffer: Buffer.from(content),
});

/** Uploads files to the shown folder by the toolbar button. */
export async function uploadFiles(page: Page, files: Picked | readonly Picked[]): Promise<void> {
  const chooser = await chooserAfter(page, () => page.getByRole('button', { name: 'Upload', exact: true }).click());
  await chooser.setFiles([files].flat());
}

/** Uploads a local folder by the menu. */
export async function uploadFolder(page: Page, folder: string): Promise<void> {
  await page
    .getByRole('button', { name: 'Upload options' })
    .or(page.locator('.split [aria-haspopup="menu"]'))
    .first()
    .click();
  const chooser = await chooserAfter(page, () => page.getByRole('menuitem', { name: 'Upload folder' }).click());
  await chooser.setFiles(folder);
}

/**
 * Runs an action that opens the browser's file chooser, and returns the chooser. Chromium enables the interception of
 * choosers asynchronously. The evaluation in between ensures that it is enabled; otherwise, the chooser would stay open.
 */
export async function chooserAfter(page: Page, action: () => Promise<void>): Promise<FileChooser> {
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.evaluate(() => document.readyState).then(action),
  ]);
  return chooser;
}

/** Creates a local folder with files for the test. Returns its path. */
export async function localFolder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await temporaryFolder(t);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(path.endsWith('/') ? join(root, path) : dirname(join(root, path)), { recursive: true });
    if (!path.endsWith('/')) await writeFile(join(root, path), content);
  }
  return root;
}

/** The tray with the uploads. */
export const tray = (page: Page): Locator => page.getByRole('region', { name: 'Uploads and changes' });

/** Waits until the header of the tray has a text. `timeoutMs` is for uploads that take long. */
export async function trayTells(page: Page, words: string | RegExp, { timeoutMs = 20_000 } = {}): Promise<void> {
  await tray(page).locator('header').filter({ hasText: words }).waitFor({ timeout: timeoutMs });
}

/** The row of a file in the tray. */
export function upload(page: Page, name: string): Locator {
  return tray(page).getByRole('listitem').filter({ hasText: name });
}

/** Limits the upload speed. Default: no limit. */
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

/** Drags local files and folders from another window to an element, and drops them. */
export function dropPaths(page: Page, target: Locator, files: readonly string[]): Promise<void> {
  return dragPaths(page, target, files, ['dragEnter', 'dragOver', 'drop']);
}

/** Drags local files and folders over an element, and sends only the events of these types. */
export async function dragPaths(
  page: Page,
  target: Locator,
  files: readonly string[],
  types: readonly ('dragEnter' | 'dragOver' | 'dragCancel' | 'drop')[] = ['dragEnter', 'dragOver'],
): Promise<void> {
  const box = await target.boundingBox();
  if (!box) throw new Error('The drop target is not visible.');
  const session = await page.context().newCDPSession(page);
  const point = { x: box.x + box.width / 2, y: box.y + Math.min(box.height / 2, 300) };
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  for (const type of types) await session.send('Input.dispatchDragEvent', { type, ...point, data });
}

/** Dispatches the event with which browsers paste a file. Playwright can't write files to the clipboard. */
export async function pasteFile(page: Page, { name, mimeType, buffer }: Picked): Promise<void> {
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
