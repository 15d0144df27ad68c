import type { TestContext } from 'node:test';
import type { Locator, Page, Route } from 'playwright-core';
import { until } from '../process/until.ts';
import { openPage, type Visit } from './browser.ts';
import { type Site, startSite } from './site.ts';

/** What there is before something is changed. */
export const FILES = {
  'report.pdf': 'report',
  'photos/cat.txt': 'cat',
  'photos/2026/': '',
  'cat.txt': 'another cat',
  'archive.tar.gz': 'archive',
  'file 2.txt': 'two',
  'file 10.txt': 'ten',
};

/** Opens the page of a new site, and waits until its folder is shown. */
export async function visit(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  more: Partial<Visit> = {},
): Promise<{ page: Page; site: Site }> {
  const site = await startSite(t, { store: 'disk', files });
  const page = await openPage(t, { url: site.url, width: 'desktop', theme: 'light', language: 'en', ...more });
  await page.locator('[data-path]').first().waitFor();
  return { page, site };
}

/** Waits until a message has said so, to those who see it. */
export function said(page: Page, text: string): Promise<void> {
  return page.getByRole('region', { name: 'Messages' }).getByText(text).first().waitFor();
}

export function row(page: Page, path: string): Locator {
  return page.locator(`[data-path="${path.replaceAll(/["\\]/g, '\\$&')}"]`);
}

export async function waitForFocus(page: Page, path: string): Promise<void> {
  await until(`${JSON.stringify(path)} has the focus`, async () => {
    const focused = await page.evaluate(() => document.activeElement?.getAttribute('data-path'));
    return focused === path;
  });
}

export function selectedText(field: Locator): Promise<string> {
  return field.evaluate((element) => {
    if (!(element instanceof HTMLInputElement)) return '';
    return element.value.slice(element.selectionStart ?? 0, element.selectionEnd ?? 0);
  });
}

export function refuse(route: Route, status: number, error: string): Promise<void> {
  return route.fulfill({ status, contentType: 'application/json', body: JSON.stringify({ success: false, error }) });
}

export function isListing(url: URL): boolean {
  return url.searchParams.has('prefix') && url.pathname === '/';
}
