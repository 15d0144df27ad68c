import { type Call, type HttpResponse, send } from '../client.ts';

/** Keeps cookies like a browser, and sends them back to the port that set them. */
export interface Browser {
  send(port: number, path: string, call?: Call): Promise<HttpResponse>;
  /** Requests a URL and follows all redirects. Returns the last response and its URL. */
  visit(url: string): Promise<HttpResponse & { readonly url: URL }>;
  /** Returns the cookies of a port. */
  cookies(port: number): Map<string, string>;
}

const MAX_REDIRECTS = 20;

export function createBrowser(): Browser {
  const jars = new Map<number, Map<string, string>>();
  const cookies = (port: number) => {
    const jar = jars.get(port) ?? new Map<string, string>();
    jars.set(port, jar);
    return jar;
  };
  const browser: Browser = {
    cookies,
    async send(port, path, call = {}) {
      const jar = cookies(port);
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await send(port, path, { ...call, headers: { ...(cookie && { cookie }), ...call.headers } });
      for (const line of response.headers['set-cookie'] ?? []) keep(jar, line);
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
