import type { Route } from 'playwright-core';

/** Responds with an error envelope of the service. */
export function refuse(route: Route, status: number, error: string): Promise<void> {
  return route.fulfill({ status, contentType: 'application/json', body: JSON.stringify({ success: false, error }) });
}

/** Returns whether a URL is that of a folder listing. */
export function isListing(url: URL): boolean {
  return url.searchParams.has('prefix') && url.pathname === '/';
}
