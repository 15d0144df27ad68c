import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';

/** A file that the browser saved. */
export interface Downloaded {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Returns the file that the browser saves after an action. */
export async function downloaded(page: Page, act: () => Promise<void>): Promise<Downloaded> {
  const saving = page.waitForEvent('download');
  await act();
  const download = await saving;
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}
