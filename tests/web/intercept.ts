import type { Route } from 'playwright-core';
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
