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

/** Matches the URLs of chunks of the page's code. */
export const chunk = (...names: readonly string[]) => new RegExp(`/(?:${names.join('|')})-[\\w-]+\\.js$`);

/** How the page loads chunks of code: held until the mode changes, with a failure, or as usual. */
type Mode = 'hold' | 'fail' | 'pass';

/** Decides how the page loads chunks, which it may preload at any time. Returns a function that changes that. */
export async function controlChunks(page: Page, initial: Readonly<Record<string, Mode>>) {
  const modes = new Map(Object.entries(initial));
  const waiting: { readonly name: string; readonly route: Route }[] = [];
  const settle = (name: string, route: Route) => {
    const mode = modes.get(name);
    if (mode === 'hold') return void waiting.push({ name, route });
    return mode === 'fail' ? route.abort() : route.continue();
  };
  await page.route(chunk(...modes.keys()), (route, request) => {
    const name = [...modes.keys()].find((each) => request.url().includes(`/${each}-`));
    return name === undefined ? route.continue() : settle(name, route);
  });
  return {
    isHeld: (name: string) => waiting.some((each) => each.name === name),
    async set(name: string, mode: Mode) {
      modes.set(name, mode);
      for (const each of waiting.splice(0)) await settle(each.name, each.route);
    },
  };
}

export type Chunks = Awaited<ReturnType<typeof controlChunks>>;
