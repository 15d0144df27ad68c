import { type RequestObserver, sendObserved } from '../../network.ts';

/** Timeout of an ordinary request, in milliseconds: until the response headers, and until the end of a JSON body. */
export const REQUEST_TIMEOUT_MS = 30_000;

/** Timeout of a request that transfers megabytes, in milliseconds. */
export const TRANSFER_TIMEOUT_MS = 10 * 60_000;

/** Timeout of an upload, in milliseconds. An upload takes as long as its client needs to send it. */
export const UPLOAD_TIMEOUT_MS = 6 * 60 * 60_000;

/** Maximum consecutive redirects of a write request, as in browsers. */
const MAX_REDIRECTS = 20;

/** Maximum bytes of a buffered body. A tree of 100,000 entries takes about 35 MB, an error far less. */
const MAX_BODY_BYTES = 64 * 2 ** 20;
const MAX_ERROR_BODY_BYTES = 64 * 2 ** 10;

/** How `timedFetch` handles a request and its response. */
export interface FetchOptions {
  /** Milliseconds until the response headers arrive; if the body is buffered, until the end of the body. */
  readonly timeout: number;
  /** Whether to stream the body of a successful response. All other bodies are buffered, up to a limit. */
  readonly streamsBody?: boolean;
  /** Called with the final URL if the response was redirected. */
  readonly onRedirect?: (url: URL) => void;
}

/**
 * Holds the responses whose bodies are not yet read. Node.js cancels a body when its response is garbage-collected
 * (lib/web/fetch/response.js of undici). The client passes on only the body, which would then be truncated.
 */
const holders = new WeakMap<ReadableStream, Response>();

/** Returns a `fetch` with a timeout. */
export function timedFetch({ timeout, streamsBody = false, onRedirect }: FetchOptions): typeof fetch {
  return async (input, init) => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('No response in time.', 'TimeoutError')), timeout);
    const callerSignal = init?.signal ?? undefined;
    try {
      const signal = callerSignal ? AbortSignal.any([callerSignal, late.signal]) : late.signal;
      const response = await fetch(input, { ...init, signal });
      if (response.redirected) onRedirect?.(new URL(response.url));
      if (!streamsBody || !response.ok) return await readWhole(response);
      if (response.body) holders.set(response.body, response);
      return response;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Returns the same response with its body in memory and a `Content-Type` that the client can parse. */
async function readWhole(response: Response): Promise<Response> {
  const bytes = await readBody(response);
  const headers = new Headers(response.headers);
  // The client recognises only one JSON media type, and throws for a malformed one.
  headers.set('content-type', isJson(response) ? 'application/json' : 'text/plain; charset=utf-8');
  const isEmpty = NULL_BODY_STATUSES.has(response.status);
  const whole = new Response(isEmpty ? null : bytes, { headers });
  // `new Response` rejects a body with a null body status, and any status above 599.
  return Object.defineProperties(whole, {
    url: { value: response.url },
    status: { value: response.status },
    ok: { value: response.ok },
  });
}

/**
 * Statuses whose responses have no body, whatever their headers declare (fetch.spec.whatwg.org, "null body status").
 */
const NULL_BODY_STATUSES: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

/** Reads a body up to the limit. Throws if a successful body is longer; truncates the body of an error. */
async function readBody({ ok, body, url }: Response): Promise<Buffer<ArrayBuffer>> {
  const maxBytes = ok ? MAX_BODY_BYTES : MAX_ERROR_BODY_BYTES;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= maxBytes) continue;
    if (ok) throw new Error(`The response of ${url} is longer than ${maxBytes} bytes.`);
    break;
  }
  return Buffer.concat(chunks, Math.min(size, maxBytes));
}

/**
 * Returns whether a response is JSON. Accepts GitHub's media types, except those of raw bytes, which also end with
 * `+json`.
 */
export function isJson({ headers }: Pick<Response, 'headers'>): boolean {
  const type = headers.get('content-type') ?? '';
  return /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type) && !/\braw\b/i.test(type);
}

/**
 * Returns a `fetch` that follows 307 and 308 with method and body (RFC 9110, sections 15.4.8 and 15.4.9), if the
 * caller sets `redirect: 'manual'`. It follows them only within the origin, so that the token is not sent elsewhere. A
 * streamed body can't be sent twice. A redirect that can't be followed is returned.
 */
export function followingWrites(send: typeof fetch, onRedirect: (url: URL) => void): typeof fetch {
  return async (input, init) => {
    if (init?.redirect !== 'manual') return send(input, init);
    let url = new URL(input instanceof Request ? input.url : input);
    for (let redirects = 0; ; redirects++) {
      const response = await send(url, init);
      const canFollow = [307, 308].includes(response.status) && redirects < MAX_REDIRECTS;
      const location = canFollow ? URL.parse(response.headers.get('location') ?? '', url) : null;
      const canResend = typeof (init.body ?? '') === 'string';
      if (!canResend || location?.origin !== url.origin || location.href === url.href) return response;
      url = location;
      onRedirect(url);
    }
  };
}

/** Returns a `fetch` that reports each request to the observer. */
export function observedFetch(send: typeof fetch, observer: RequestObserver | undefined): typeof fetch {
  return (input, init) => {
    const { method = 'GET' } = init ?? {};
    const url = input instanceof Request ? input.url : String(input);
    return sendObserved(
      observer,
      { method, url },
      () => send(input, init),
      ({ status, headers }) => ({
        status,
        backendId: headers.get('x-github-request-id') ?? undefined,
        remaining: headers.get('x-ratelimit-remaining') ?? undefined,
      }),
    );
  };
}
