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

/** A file that a person has. */
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

/** Uploads files to the folder that is shown, by the button. */
export async function uploadFiles(page: Page, files: Picked | readonly Picked[]): Promise<void> {
  const chooser = await chooserAfter(page, () => page.getByRole('button', { name: 'Upload', exact: true }).click());
  await chooser.setFiles([files].flat());
}

/** Uploads a folder of this machine, by the menu. */
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
 * Does what has the browser ask for files, and gives its question. Chromium learns in the page itself that the question
 * is not for a person, on another way than keys and clicks come: without an answer of the page in between, one that is
 * asked too soon would be shown to nobody, for ever.
 */
export async function chooserAfter(page: Page, request: () => Promise<void>): Promise<FileChooser> {
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.evaluate(() => document.readyState).then(request),
  ]);
  return chooser;
}

/** Puts files into a folder of this machine that goes with the test, and gives its path. */
export async function localFolder(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await temporaryFolder(t);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(path.endsWith('/') ? join(root, path) : dirname(join(root, path)), { recursive: true });
    if (!path.endsWith('/')) await writeFile(join(root, path), content);
  }
  return root;
}

/** What tells of the uploads. */
export const tray = (page: Page): Locator => page.getByRole('region', { name: 'Uploads and changes' });

/** Waits until the tray says so of all uploads; for so many milliseconds, where they take longer than most things do. */
export async function trayTells(
  page: Page,
  words: string | RegExp,
  { patience: timeoutMs = 20_000 } = {},
): Promise<void> {
  await tray(page).locator('header').filter({ hasText: words }).waitFor({ timeout: timeoutMs });
}

/** What the tray says of one file. */
export function upload(page: Page, name: string): Locator {
  return tray(page).getByRole('listitem').filter({ hasText: name });
}

/** Lets no more than so many bytes of uploads pass in a second; without a number, all that the machine can. */
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

/** Drags files and folders of this machine over an element, as from another window, and drops them there. */
export function dropPaths(page: Page, target: Locator, files: readonly string[]): Promise<void> {
  return dragPaths(page, target, files, ['dragEnter', 'dragOver', 'drop']);
}

/** Drags them over an element, as far as the events say. */
export async function dragPaths(
  page: Page,
  target: Locator,
  files: readonly string[],
  types: readonly ('dragEnter' | 'dragOver' | 'dragCancel' | 'drop')[] = ['dragEnter', 'dragOver'],
): Promise<void> {
  const box = await target.boundingBox();
  if (!box) throw new Error('There is nothing to drop onto.');
  const session = await page.context().newCDPSession(page);
  const place = { x: box.x + box.width / 2, y: box.y + Math.min(box.height / 2, 300) };
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  for (const type of types) await session.send('Input.dispatchDragEvent', { type, ...place, data });
}

/** Pastes files into the page, as a browser does it: nothing but a real clipboard could bring them otherwise. */
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
