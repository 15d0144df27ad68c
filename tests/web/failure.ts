import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';

/** The number of console messages that the description of a failure has at most. */
const MAX_MESSAGES = 20;

/** Milliseconds for a screenshot. The page may be busy or frozen. */
const SCREENSHOT_TIMEOUT_MS = 30_000;

let screenshots = 0;

/** Describes the state in which a test failed: the URL and a screenshot of each page, and the last console messages. */
export async function describeFailure(
  t: TestContext,
  pages: readonly Page[],
  messages: readonly string[],
): Promise<string> {
  const shown = await Promise.all(
    pages.map(async (page) => `Page: ${page.url()}\nScreenshot: ${await saveScreenshot(t, page)}`),
  );
  const last = messages.slice(-MAX_MESSAGES).map((message) => `\n  ${message}`);
  return [...shown, `Console messages (${messages.length}):${last.join('')}`].join('\n');
}

/** Returns the path of a screenshot, or why there is none. */
async function saveScreenshot(t: TestContext, page: Page): Promise<string> {
  const folder = join(tmpdir(), 'holdall-failures');
  const name = t.fullName.replaceAll(/[^\p{L}\p{N}]+/gu, '-').slice(0, 80);
  screenshots += 1;
  const path = join(folder, `${name}-${process.pid}-${screenshots}.png`);
  try {
    await mkdir(folder, { recursive: true });
    await page.screenshot({ path, timeout: SCREENSHOT_TIMEOUT_MS });
    return path;
  } catch (error) {
    return `none, because ${String(error)}`;
  }
}
