import { after, type TestContext } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { atEnd } from '../process/holdall.ts';
import { launchChromium } from './chromium.ts';
import { judgeAtEnd, watchPages } from './page-problems.ts';

/** Who looks at the page, by what, and what is bound to go wrong. */
export interface Visit {
  readonly url: string;
  readonly width: keyof typeof SCREENS;
  readonly theme: 'light' | 'dark';
  readonly language: 'en' | 'zh-CN';
  readonly reducedMotion?: boolean;
  /** What the page may do without asking, by Playwright's names: `clipboard-read`, `clipboard-write`. */
  readonly permissions?: readonly string[];
  /** Where the page may send requests, beside its own origin: a site's `bucketOrigins`. */
  readonly allowedOrigins?: readonly string[];
  /** Each has to match something that goes wrong, as `watchPages` words it; nothing else may. */
  readonly expectedErrors?: readonly RegExp[];
}

/**
 * Opens a page in a context of its own, which nothing of another page reaches: cookies, storage and cache are empty.
 * It is closed with the test, before what the test began earlier. The test fails where the page, or one that it
 * opened, logged an error, threw one, broke its own policy (CSP), called `alert` or sent a request elsewhere.
 *
 * Clean up with `atEnd` in tests that open pages: when a test fails by its page, Node runs no later `t.after`.
 */
export async function openPage(t: TestContext, { url, allowedOrigins = [], ...visit }: Visit): Promise<Page> {
  const context = await (await sharedBrowser()).newContext(contextOptions(visit));
  context.setDefaultTimeout(PATIENCE);
  const watched = await watchPages(context, [new URL(url).origin, ...allowedOrigins]);
  atEnd(t, async () => {
    await watched.settle();
    await context.close();
  });
  judgeAtEnd(t, { problems: watched.problems, expected: visit.expectedErrors ?? [] });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Pixels of CSS. */
const SCREENS = {
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
  tablet: { viewport: { width: 820, height: 1180 } },
  desktop: { viewport: { width: 1440, height: 900 } },
} as const;

const LOCALES = { en: 'en-US', 'zh-CN': 'zh-CN' } as const;

/** Milliseconds that an action may wait for its element: as long as `until` does. */
const PATIENCE = 20_000;

function contextOptions({
  width,
  theme,
  language,
  reducedMotion = false,
  permissions = [],
}: Omit<Visit, 'url' | 'allowedOrigins'>): BrowserContextOptions {
  return {
    ...SCREENS[width],
    colorScheme: theme,
    locale: LOCALES[language],
    // Else times read differently on the machine of whoever runs the tests.
    timezoneId: 'UTC',
    reducedMotion: reducedMotion ? 'reduce' : 'no-preference',
    permissions: [...permissions],
  };
}

let launching: Promise<Browser> | undefined;

/** One for all tests of a file. */
function sharedBrowser(): Promise<Browser> {
  launching ??= launchChromium();
  return launching;
}

after(async () => (await launching)?.close());
