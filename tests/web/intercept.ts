import type { Page, Route } from 'playwright-core';
import { ERROR_CODES, type ErrorCode } from '../../src/http/error-codes.ts';

/** Responds with an error of the service, with the status of its code. */
export function refuse(route: Route, code: ErrorCode, error: string): Promise<void> {
  const body = JSON.stringify({ success: false, code, error });
  return route.fulfill({ status: ERROR_CODES[code].status, contentType: 'application/json', body });
}

/** Returns whether a URL is that of a folder listing. */
export function isListing(url: URL): boolean {
  return url.searchParams.has('prefix') && url.pathname === '/';
}

/** Records the requests that the page sends from now on to URLs that contain `part`. */
export function requestsOf(page: Page, part: string): () => readonly { url: string; range: string | undefined }[] {
  const requests: { url: string; range: string | undefined }[] = [];
  page.on('request', (request) => {
    if (request.url().includes(part)) requests.push({ url: request.url(), range: request.headers()['range'] });
  });
  return () => requests;
}
