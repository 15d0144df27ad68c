import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
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
