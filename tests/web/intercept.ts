import type { Page, Route } from 'playwright-core';

/** Responds with an error envelope of the service. */
export function refuse(route: Route, status: number, error: string): Promise<void> {
  return route.fulfill({ status, contentType: 'application/json', body: JSON.stringify({ success: false, error }) });
}

/** Holds the requests to these URLs until the returned function is called, then passes them on. */
export async function hold(page: Page, url: string, pass = (route: Route) => route.continue()): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(url, async (route) => {
    await promise;
    await pass(route);
  });
  return resolve;
}

/** Returns whether a URL is that of a folder listing. */
export function isListing(url: URL): boolean {
  return url.searchParams.has('prefix') && url.pathname === '/';
}
