import type { TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { openPage, type Visit } from './browser.ts';
import { type Site, startSite } from './site.ts';

/** A site on disk with these files, and its page at a place of it. */
export async function visit(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
  place: string,
  options: Partial<Visit> = {},
): Promise<{ page: Page; site: Site }> {
  const site = await startSite(t, { store: 'disk', files });
  const page = await openPage(t, {
    url: site.url + place,
    width: 'desktop',
    theme: 'light',
    language: 'en',
    ...options,
  });
  return { page, site };
}

/** Records the requests that the page sends from now on to URLs that contain `part`. */
export function requestsOf(page: Page, part: string): () => readonly { url: string; range: string | undefined }[] {
  const requests: { url: string; range: string | undefined }[] = [];
  page.on('request', (request) => {
    if (request.url().includes(part)) requests.push({ url: request.url(), range: request.headers()['range'] });
  });
  return () => requests;
}

/** The region of the preview with the contents of the file. */
export function contents(page: Page): Locator {
  return page.getByRole('region', { name: 'Contents of' });
}
