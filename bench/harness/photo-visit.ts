import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../testing/servers/chromium.ts';
import { rendererMemory } from './page-listing.ts';
import type { ProbedPhotos } from './photo-probe.ts';
import { watchPhoto, watchTiles } from './photo-probe.ts';
import type { ServedFolder } from './servers.ts';
import { holdall, startServer } from './servers.ts';

/** The measurements of one visit of a folder with photos. Times are in milliseconds, and memory in bytes. */
export interface PhotoVisit {
  /** From the navigation until all tiles in the window have their pictures. */
  readonly tiles: number;
  /** From each arrow key until the next photo is visible and decoded. */
  readonly next: readonly number[];
  /** Proportional memory (PSS) of the renderer with the last photo in the viewer. */
  readonly renderer: number;
}

/** The time for which the user views a photo, in milliseconds. */
export const viewingMs = 1000;

/** Visits the root of the site, whose files are `names` in this order, with new processes of the service and the browser. */
export async function visitPhotos(
  service: string,
  site: ServedFolder,
  { names, steps }: { readonly names: readonly string[]; readonly steps: number },
  signal: AbortSignal,
): Promise<PhotoVisit> {
  await using running = await startServer(holdall(service), site, signal);
  const browser = await launchBrowser();
  const close = () => void browser.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    return await visit(browser, running.url('/'), names.slice(0, steps + 1));
  } finally {
    signal.removeEventListener('abort', close);
    await browser.close();
  }
}

async function visit(browser: Browser, url: URL, [first = '', ...others]: readonly string[]): Promise<PhotoVisit> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(timeoutMs);
  // Builds before the view of photos show the folder in the grid. In both, the photos are in the order of their names.
  await page.addInitScript(`localStorage.setItem('holdall', '{"view":"grid"}')`);
  await page.addInitScript(watchTiles);
  await page.goto(url.href, { waitUntil: 'commit' });
  const tiles = await probed(page, 'tiles');
  // The user views the tiles before they open the first photo.
  await sleep(viewingMs);
  await measured(page, first, async () => {
    await page.getByRole('gridcell').filter({ hasText: first }).first().click();
    await page.keyboard.press('Enter');
  });
  const next: number[] = [];
  for (const name of others) {
    await sleep(viewingMs);
    next.push(await measured(page, name, () => page.keyboard.press('ArrowRight')));
  }
  await sleep(viewingMs);
  return { tiles, next, renderer: await rendererMemory(browser) };
}

/** The timeout of each step, in milliseconds. */
const timeoutMs = 60_000;

async function measured(page: Page, name: string, press: () => Promise<void>): Promise<number> {
  await page.evaluate(watchPhoto, name);
  await press();
  return probed(page, 'photo');
}

async function probed(page: Page, what: keyof ProbedPhotos): Promise<number> {
  const late = AbortSignal.timeout(timeoutMs);
  const tooLate = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(new Error(`the page did not complete the ${what} in a minute`)));
  });
  const value = page.evaluate(async (name) => (globalThis as { probed?: ProbedPhotos }).probed?.[name], what);
  return (await Promise.race([value, tooLate])) ?? Number.NaN;
}
