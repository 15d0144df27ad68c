import { after, type TestContext } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { atEnd } from '../../testing/holdall.ts';
import { launchBrowser, launchChromium } from '../../testing/servers/chromium.ts';
import { HANG_SECONDS } from '../../testing/until.ts';
import { describeFailure } from './failure.ts';
import { type ContextWatch, judgeAtEnd, mismatches, watchContext } from './page-problems.ts';

/** The browser of a user, and the problems that the test causes. */
export interface Visit {
  readonly url: string;
  readonly width: keyof typeof SCREENS;
  readonly theme: 'light' | 'dark';
  readonly language: keyof typeof LOCALES;
  /**
   * Whether the page shows no animations. Default: true, because drawing them takes a fifth of the time of most tests.
   * The journeys have animations.
   */
  readonly reducedMotion?: boolean;
  /** The permissions that the page has without asking, by Playwright's names: `clipboard-read`, `clipboard-write`. */
  readonly permissions?: readonly string[];
  /** The origins that the page may send requests to, in addition to its own: a site's `bucketOrigins`. */
  readonly allowedOrigins?: readonly string[];
  /** Each must match a problem as `watchContext` describes it. All other problems fail the test. */
  readonly expectedErrors?: readonly RegExp[];
  /**
   * Empties the HTTP cache first: for tests about loading, and about access, because the browser goes back to a cached
   * response without a request. By default, the assets of the page may be cached.
   */
  readonly isCacheEmpty?: boolean;
  /** Whether the page may have a service worker. Without one, each page costs less. Default: false. */
  readonly hasServiceWorker?: boolean;
  /** Whether the browser must show PDF files. The test file must declare the need `chromium`. */
  readonly hasPdfViewer?: boolean;
}

/**
 * Opens a page without cookies and storage, isolated from all other open pages. Contexts with the same options are reused
 * by the next test of the file, with everything cleared except the HTTP cache. The page closes with the test, before
 * resources that the test created earlier. The test fails if the page, or one that it opens, logs or throws an error,
 * violates its own policy (CSP), calls `alert` or sends a request to another origin. A test that fails prints the URL of each
 * page, its console messages, and where a screenshot of it was saved.
 *
 * Clean up with `atEnd` in tests that open pages: when the verdict on the page fails a test, Node runs no later `t.after`.
 */
export async function openPage(t: TestContext, visit: Visit): Promise<Page> {
  const { url, allowedOrigins = [], permissions = [], expectedErrors = [] } = visit;
  const pooled = await acquire(visit);
  const { context, watch } = pooled;
  const { problems, messages } = watch.begin([new URL(url).origin, ...allowedOrigins]);
  const judged = { problems, expected: expectedErrors };
  atEnd(t, async () => {
    // The page may be a sandboxed file, in which scripts never finish.
    if (t.passed) await watch.settle();
    const isFine = t.passed && mismatches(judged).length === 0;
    if (!isFine) t.diagnostic(await describeFailure(t, pagesOf(pooled), messages));
    if (isFine && pooled.isReusable) await release(pooled);
    else await context.close();
    watch.end();
  });
  judgeAtEnd(t, judged);
  const page = await context.newPage();
  await clear(page, pooled, visit);
  if (permissions.length > 0) await context.grantPermissions([...permissions]);
  await page.goto(url);
  return page;
}

/** CSS pixels. */
const SCREENS = {
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
  tablet: { viewport: { width: 820, height: 1180 } },
  desktop: { viewport: { width: 1440, height: 900 } },
} as const;

const LOCALES = { ar: 'ar', en: 'en-US', 'zh-CN': 'zh-CN' } as const;

/** Milliseconds that an action waits for its element: as long as `until` waits. */
const ACTION_TIMEOUT_MS = HANG_SECONDS * 1000;

/** A context that one test at a time uses. */
interface PooledContext {
  readonly key: string;
  readonly context: BrowserContext;
  readonly watch: ContextWatch;
  /** An empty page, which tests do not use. While it is open, the context keeps its renderer process. */
  readonly idlePage: Page;
  isReusable: boolean;
}

/** The contexts that no test uses at the moment, by their options. */
const idle = new Map<string, PooledContext[]>();

async function acquire(visit: Visit): Promise<PooledContext> {
  const { width, theme, language, reducedMotion = true, hasPdfViewer = false, hasServiceWorker = false } = visit;
  const options: BrowserContextOptions = {
    ...SCREENS[width],
    colorScheme: theme,
    locale: LOCALES[language],
    // Otherwise times depend on the machine that runs the tests.
    timezoneId: 'UTC',
    reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
    serviceWorkers: hasServiceWorker ? 'allow' : 'block',
  };
  const key = JSON.stringify([hasPdfViewer, options]);
  const known = idle.get(key)?.pop();
  if (known) return known;
  const context = await (await sharedBrowser(hasPdfViewer)).newContext(options);
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const idlePage = await openIdlePage(context);
  const pooled: PooledContext = { key, context, watch: await watchContext(context), idlePage, isReusable: true };
  // Nothing returns a context to real time.
  const install = context.clock.install.bind(context.clock);
  context.clock.install = (...given) => {
    pooled.isReusable = false;
    return install(...given);
  };
  // Pages of one process go online together, before the network of each does.
  const setOffline = context.setOffline.bind(context);
  context.setOffline = async (isOffline) => {
    if (isOffline) await idlePage.close();
    return setOffline(isOffline);
  };
  return pooled;
}

/** Opens an empty page of the site of all test services, so that their pages use the same renderer process. */
async function openIdlePage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  // Without an icon, Chromium would request `/favicon.ico`, at any time.
  const body = '<link rel="icon" href="data:,">';
  await page.route('http://127.0.0.1/', (route) => route.fulfill({ contentType: 'text/html', body }));
  await page.goto('http://127.0.0.1/');
  await page.unrouteAll();
  return page;
}

/** Closes the pages and undoes what tests do to a context. */
async function release(pooled: PooledContext): Promise<void> {
  const { key, context } = pooled;
  await context.unrouteAll({ behavior: 'ignoreErrors' });
  // A page may open another one until it is closed.
  while (pagesOf(pooled).length > 0) await Promise.all(pagesOf(pooled).map((page) => page.close()));
  await Promise.all([context.clearCookies(), context.clearPermissions(), context.setOffline(false)]);
  idle.set(key, [...(idle.get(key) ?? []), pooled]);
}

/** Returns the pages that a test opened. */
const pagesOf = ({ context, idlePage }: PooledContext) => context.pages().filter((page) => page !== idlePage);

/** Removes what the previous test stored, except in the HTTP cache, while no page of the context can store anything. */
async function clear(page: Page, { context, watch }: PooledContext, { isCacheEmpty = false }: Visit): Promise<void> {
  const origins = watch.takeOrigins();
  if (origins.length === 0 && !isCacheEmpty) return;
  const session = await context.newCDPSession(page);
  for (const origin of origins) await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  if (isCacheEmpty) await session.send('Network.clearBrowserCache');
  await session.detach();
}

const launched = new Map<boolean, Promise<Browser>>();

/** Returns the browser of all tests of the process. */
export function sharedBrowser(hasPdfViewer = false): Promise<Browser> {
  const browser = launched.get(hasPdfViewer) ?? (hasPdfViewer ? launchChromium() : launchBrowser());
  launched.set(hasPdfViewer, browser);
  return browser;
}

after(async () => {
  for (const browser of launched.values()) await (await browser).close();
});
