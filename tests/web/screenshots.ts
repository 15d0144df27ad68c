import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

/** Whether this run updates the screenshots in `docs/screenshots`. Other runs change no file of the checkout. */
export const isUpdatingScreenshots = Boolean(process.env['UPDATE_SCREENSHOTS']);

/** Saves a screenshot as `docs/screenshots/NAME.png` if `UPDATE_SCREENSHOTS` is set. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!isUpdatingScreenshots) return;
  await mkdir(FOLDER, { recursive: true });
  await page.screenshot({ path: `${FOLDER}${name}.png`, animations: 'disabled', caret: 'hide', scale: 'css' });
}

const FOLDER = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));
