import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { entryName, entryPrefix } from '../../testing/many-files.ts';
import { launchChromium } from '../../testing/servers/chromium.ts';
import type { Arrival, PageShape, Probed } from './page-probe.ts';
import { scrollToEnd, watchArrival } from './page-probe.ts';
import { watchMemory } from './process-tree.ts';
import { send } from './requests.ts';
import type { ServedFolder, Server } from './servers.ts';
import { holdall, nginx, startServer } from './servers.ts';

/** A server whose page lists a folder, and how to read that page. */
export interface ListingPage {
  readonly server: Server;
  readonly shape: PageShape;
}

/** The measurements of one visit. Times are in milliseconds, and memory in bytes. */
export interface Visit extends Arrival {
  /** The number of scroll steps that took more than 50 ms. */
  readonly slowFrames: number;
  readonly slowestFrame: number;
  readonly heap: number;
  /** The number of nodes in the document, such as elements and texts. */
  readonly nodes: number;
  /** Proportional memory (PSS) of the renderer. */
  readonly renderer: number;
}

/** The number of steps in which the folder is scrolled. */
export const scrollSteps = 300;

export function holdallPage(entryFile: string): ListingPage {
  const rows = '[role="grid"] [role="row"][aria-rowindex]';
  return { server: holdall(entryFile), shape: { rows, entryText: entryPrefix, complete: 'listing' } };
}

/** The simplest possible page: a document of links, by the nginx module that returns JSON in the other benchmarks. */
export const nginxPage: ListingPage = {
  server: {
    ...nginx,
    async command(site, port) {
      const command = await nginx.command(site, port);
      await replaceInFile(join(site.scratch, 'nginx.conf'), 'autoindex_format json', 'autoindex_format html');
      return command;
    },
  },
  shape: { rows: 'pre a', entryText: entryPrefix, complete: 'document' },
};

/** Visits the root of the site, a folder of a number of files, with new processes of the server and the browser. */
export async function visitListing(
  { server, shape }: ListingPage,
  site: ServedFolder,
  count: number,
  signal: AbortSignal,
): Promise<Visit> {
  await using running = await startServer(server, site, signal);
  const url = running.url('/');
  // As a browser requests it, so that code and folder are in memory for each server.
  const { status } = await send({ url, headers: { accept: 'text/html' }, seconds: 120 }, signal);
  if (status !== 200) throw new Error(`GET ${url.href}: ${status}`);
  const browser = await launchChromium();
  const close = () => void browser.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    return await visit(browser, url, shape, count);
  } finally {
    signal.removeEventListener('abort', close);
    await browser.close();
  }
}

/** The timeout of each step on a page of 100,000 rows, in milliseconds. */
const timeoutMs = 180_000;

async function visit(browser: Browser, url: URL, shape: PageShape, count: number): Promise<Visit> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(timeoutMs);
  await page.addInitScript(watchArrival, shape);
  await page.goto(url.href, { waitUntil: 'commit' });
  const { firstRow, interactive } = await arrivalAt(page);
  const gaps = await page.evaluate(scrollToEnd, scrollSteps);
  // The whole folder was scrolled.
  await page
    .locator(shape.rows, { hasText: entryName(count) })
    .first()
    .waitFor({ timeout: 10_000 });
  return {
    firstRow,
    interactive,
    slowFrames: gaps.filter((gap) => gap > 50).length,
    slowestFrame: Math.max(...gaps),
    ...(await memoryOf(page)),
    renderer: await rendererMemory(browser),
  };
}

/** Waits until the page is interactive. */
async function arrivalAt(page: Page): Promise<Arrival> {
  const late = AbortSignal.timeout(timeoutMs);
  const tooLate = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(new Error(`${page.url()} did not list its folder in 3 minutes`)));
  });
  const arrival = page.evaluate(async () => (globalThis as { probed?: Probed }).probed?.arrival);
  const arrived = await Promise.race([arrival, tooLate]);
  if (!arrived) throw new Error('the page was not watched');
  return arrived;
}

/** Measures memory after garbage collection. */
async function memoryOf(page: Page): Promise<{ heap: number; nodes: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  await session.send('Performance.enable');
  const { metrics } = await session.send('Performance.getMetrics');
  const valueOf = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { heap: valueOf('JSHeapUsedSize'), nodes: valueOf('Nodes') };
}

/** Returns the memory of the largest renderer. The spare renderers of a browser have no page. */
export async function rendererMemory(browser: Browser): Promise<number> {
  const session: CDPSession = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const renderers = processInfo.filter(({ type }) => type === 'renderer');
  return Math.max(...renderers.map(({ id }) => memoryNow(id)));
}

function memoryNow(pid: number): number {
  using watch = watchMemory(pid, 60_000);
  return watch.samples()[0]?.proportional ?? Number.NaN;
}

async function replaceInFile(file: string, old: string, replacement: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  if (!text.includes(old)) throw new Error(`${file} has no ${old}`);
  await writeFile(file, text.replace(old, replacement));
}
