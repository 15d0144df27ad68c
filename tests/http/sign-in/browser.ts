import assert from 'node:assert/strict';
import { type Call, type HttpResponse, send } from '../client.ts';

/** Keeps the cookies of one host like a browser, and sends them to all its ports. */
export interface Browser {
  send(port: number, path: string, call?: Call): Promise<HttpResponse>;
  /** Requests a URL and follows all redirects. Returns the last response and its URL. */
  visit(url: string): Promise<HttpResponse & { readonly url: URL }>;
  /** The cookies, by their name. */
  readonly cookies: ReadonlyMap<string, string>;
}

/** Returns the session cookie of a browser that has one, as `name=value`. */
export function sessionCookieIn({ cookies }: Pick<Browser, 'cookies'>): string {
  const found = [...cookies].find(([name]) => SESSION_COOKIE.test(name));
  return found?.join('=') ?? assert.fail('There is no session cookie.');
}

/** Returns the session cookie that a response sets, as `name=value`. */
export function sessionCookieOf({ headers }: Pick<HttpResponse, 'headers'>): string {
  const cookies = new Map<string, string>();
  for (const line of headers['set-cookie'] ?? []) keep(cookies, line);
  return sessionCookieIn({ cookies });
}

/** Matches the name of a session cookie. */
const SESSION_COOKIE = /^(?:__Host-)?holdall-[\da-f]{8}$/;

const MAX_REDIRECTS = 20;

/** Creates a browser that begins with these cookies. */
export function createBrowser(initial: ReadonlyMap<string, string> = new Map()): Browser {
  const cookies = new Map(initial);
  const browser: Browser = {
    cookies,
    async send(port, path, call = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await send(port, path, { ...call, headers: { ...(cookie && { cookie }), ...call.headers } });
      for (const line of response.headers['set-cookie'] ?? []) keep(cookies, line);
      return response;
    },
    async visit(start) {
      let url = new URL(start);
      for (let redirects = 0; redirects < MAX_REDIRECTS; redirects++) {
        const headers = { host: url.host, accept: 'application/json' };
        const response = await browser.send(Number(url.port), url.pathname + url.search, { headers });
        const { location } = response.headers;
        if (location === undefined) return { ...response, url };
        url = new URL(location, url);
      }
      throw new Error(`${start} redirects endlessly.`);
    },
  };
  return browser;
}

function keep(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const equals = pair.indexOf('=');
  const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
  const isOver = attributes.some((attribute) => {
    const [key = '', given = ''] = attribute.toLowerCase().split('=');
    return key === 'max-age' ? Number(given) <= 0 : key === 'expires' && Date.parse(attribute.slice(8)) <= Date.now();
  });
  if (isOver || value === '') jar.delete(name);
  else jar.set(name, value);
}
