import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

/**
 * Keeps a picture of what the page shows as `docs/screenshots/NAME.png`, where `UPDATE_SCREENSHOTS` is set; else it does
 * nothing, since a run of the tests changes no file of the checkout.
 */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!process.env['UPDATE_SCREENSHOTS']) return;
  await mkdir(FOLDER, { recursive: true });
  await page.screenshot({ path: `${FOLDER}${name}.png`, animations: 'disabled', caret: 'hide', scale: 'css' });
}

const FOLDER = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));
