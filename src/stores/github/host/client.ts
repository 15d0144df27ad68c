import { setTimeout as delay } from 'node:timers/promises';
import { Octokit } from '@octokit/core';
import { restEndpointMethods } from '@octokit/plugin-rest-endpoint-methods';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import Bottleneck from 'bottleneck';
import { MAX_RETRY_AFTER_SECONDS } from '../../../model/dates.ts';
import { StoreError } from '../../../model/error.ts';
import type { Quota } from '../../../model/store.ts';
import { version } from '../../../system.ts';
import { type StoreLog, shuttingDown } from '../../network.ts';
import type { GitHubOptions } from '../settings.ts';

/** Timeout of an ordinary request, in milliseconds: until the response headers, and until the end of a JSON body. */
export const QUICK = 30_000;

/** Timeout of a request that transfers megabytes, in milliseconds. */
export const LONG = 10 * 60_000;

/** Timeout of an upload, in milliseconds. An upload takes as long as its client needs to send it. */
export const UPLOAD = 6 * 60 * 60_000;

/** Milliseconds before the first retry of a transient failure. */
const RETRY_AFTER = 250;

/** Retries after the first attempt. */
const RETRIES = 3;

/**
 * Maximum concurrent requests that GitHub allows. The plugin's default of ten is shared by all clients of the process;
 * ten uploads from slow clients would occupy it.
 */
const MOST_AT_ONCE = 100;

const WithPlugins = Octokit.plugin(restEndpointMethods, retry, throttling);

export type Client = InstanceType<typeof WithPlugins>;

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
 * Priority of a write request: `first` for requests of a commit, for which many changes may wait, `usual` for all
 * others.
 */
export type Urgency = 'first' | 'usual';

/** Bottleneck's priorities: 0 is the most urgent, 9 the least. */
const PRIORITIES: Readonly<Record<Urgency, number>> = { first: 1, usual: 5 };

/**
 * The client and its write throttle. Await `turn` before each write request; it resolves when the request can be sent.
 */
export interface PacedClient {
  readonly client: Client;
  turn(urgency: Urgency): Promise<void>;
  /** Stops the throttle: pending and later calls of `turn` throw `unavailable`. */
  close(): void;
}

export function createClient({
  apiUrl,
  token,
  writesPerMinute,
  retryAfter = RETRY_AFTER,
  log,
}: GitHubOptions): PacedClient {
  const pace = writesPerMinute === undefined ? undefined : paceOf(writesPerMinute);
  const client = new WithPlugins({
    baseUrl: apiUrl,
    auth: token,
    userAgent: `holdall/${version}`,
    log: {
      debug: () => {},
      info: () => {},
      // The client logs deprecated endpoints, for example.
      warn: (message: string) => log.warn(message, {}),
      error: (message: string) => log.warn(message, {}),
    },
    retry: {
      retries: RETRIES,
      retryAfterBaseValue: retryAfter,
      // Extends the plugin's own list with statuses that a retry would not change, and with rate limits, which the
      // quota keeper handles.
      doNotRetry: [400, 401, 403, 404, 409, 410, 412, 413, 422, 429, 451],
    },
    throttle: pace ? throttle() : { enabled: false },
  });
  return {
    client,
    async turn(urgency) {
      await pace
        ?.schedule({ priority: PRIORITIES[urgency] }, async () => {})
        .catch(() => {
          throw shuttingDown();
        });
    },
    close: () => void pace?.stop({ dropWaitingJobs: true }),
  };
}

/**
 * Settings of the throttling plugin: it only limits concurrent requests. Its own write throttle, one request per
 * second, would delay a single upload by three seconds and has no priorities. The quota keeper handles rate limits.
 */
function throttle() {
  const ignore = () => {};
  return {
    write: new Bottleneck.Group({}),
    global: new Bottleneck.Group({ maxConcurrent: MOST_AT_ONCE }),
    onRateLimit: ignore,
    onSecondaryRateLimit: ignore,
  };
}

/** A throttle of `perMinute` requests per minute: a quarter of them in a burst, the others at regular intervals. */
function paceOf(perMinute: number): Bottleneck {
  const atOnce = Math.ceil(perMinute / 4);
  const interval = 60_000 / Math.max(1, perMinute - atOnce);
  return new Bottleneck({
    reservoir: atOnce,
    reservoirIncreaseAmount: 1,
    reservoirIncreaseMaximum: atOnce,
    // Bottleneck's interval must be a multiple of 250 ms.
    reservoirIncreaseInterval: Math.ceil(interval / 250) * 250,
  });
}

/**
 * Holds the responses whose bodies are not yet read. Node.js cancels a body when its response is garbage-collected
 * (lib/web/fetch/response.js of undici). The client passes on only the body, which would then be truncated.
 */
const holders = new WeakMap<ReadableStream, Response>();

/** Maximum bytes of a buffered body. A tree of 100,000 entries takes about 35 MB, an error far less. */
const MAX_BUFFERED_BYTES = 64 * 2 ** 20;
const MAX_ERROR_BYTES = 64 * 2 ** 10;

/** Returns a `fetch` with a timeout. */
export function timedFetch({ timeout, streamsBody = false, onRedirect }: FetchOptions): typeof fetch {
  return async (input, init) => {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('No response in time.', 'TimeoutError')), timeout);
    const given = init?.signal ?? undefined;
    try {
      const signal = given ? AbortSignal.any([given, late.signal]) : late.signal;
      const response = await fetch(input, { ...init, signal });
      if (response.redirected) onRedirect?.(new URL(response.url));
      if (!streamsBody || !response.ok) return await readWhole(response);
      if (response.body) holders.set(response.body, response);
      return response;
    } catch (error) {
      // The client does not retry an error with this name.
      if (given?.aborted) throw new DOMException('The request was given up.', 'AbortError');
      throw error;
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
  const most = ok ? MAX_BUFFERED_BYTES : MAX_ERROR_BYTES;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= most) continue;
    if (ok) throw new Error(`The response of ${url} is longer than ${most} bytes.`);
    break;
  }
  return Buffer.concat(chunks, Math.min(size, most));
}

/**
 * Returns whether a response is JSON. Accepts GitHub's media types, except those of raw bytes, which also end with
 * `+json`.
 */
export function isJson({ headers }: Pick<Response, 'headers'>): boolean {
  const type = headers.get('content-type') ?? '';
  return /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type) && !/\braw\b/i.test(type);
}

/** Response headers by lower-case name. */
export type Headers = Readonly<Record<string, string | number | undefined>>;

/** Tracks GitHub's rate limit from response headers and delays requests accordingly. */
export interface QuotaKeeper {
  current(): Quota | undefined;
  /** Updates the quota from the headers of a response. */
  note(headers: Headers): void;
  /** Delays all requests by `seconds` from now, at least 1. */
  hold(seconds: number): void;
  /**
   * Resolves when a request can be sent. Throws `unavailable`, with the time to retry, if that is after `deadline`
   * (milliseconds of `Date.now`).
   */
  admit(deadline: number, signal?: AbortSignal): Promise<void>;
}

/** Share of the limit below which a warning is logged. */
const SCARCE = 0.1;

/** Seconds by which the clocks of GitHub and of this machine may differ. */
const SLACK = 1;

/**
 * Minimum seconds to wait after a rate-limited response. If the reset has passed by the local clock, requests would
 * otherwise repeat in a tight loop.
 */
const LEAST_HOLD = 1;

export function createQuotaKeeper(log: StoreLog): QuotaKeeper {
  let quota: Quota | undefined;
  /** When the quota was last updated, in milliseconds of `Date.now`. */
  let toldAt = 0;
  let heldUntil = 0;
  let told: { reset: number; isSpent: boolean } | undefined;

  const tellIfScarce = ({ limit, remaining, reset }: Quota) => {
    const isSpent = remaining === 0;
    const isKnown = told !== undefined && told.reset === reset.getTime() && (told.isSpent || !isSpent);
    if (remaining >= limit * SCARCE || isKnown) return;
    told = { reset: reset.getTime(), isSpent };
    const message = isSpent ? 'The host takes no more requests until its reset.' : 'The host takes few more requests.';
    log.warn(message, { limit, remaining, reset });
  };

  const openFrom = () => {
    const reset = quota?.remaining === 0 ? quota.reset.getTime() + SLACK * 1000 : 0;
    return Math.max(heldUntil, Math.min(reset, toldAt + MAX_RETRY_AFTER_SECONDS * 1000));
  };

  return {
    current: () => quota,

    note(headers) {
      // GitHub counts searches and some other requests in separate quotas.
      if ((headers['x-ratelimit-resource'] ?? 'core') !== 'core') return;
      const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`]);
      // `Number('')` is 0, which would mean an exhausted quota.
      if (![limit, remaining, reset].every((value) => /^\d{1,12}$/.test(String(value)))) return;
      const next = { limit: Number(limit), remaining: Number(remaining), reset: new Date(Number(reset) * 1000) };
      if (!Object.values(next).every((value) => Number.isFinite(Number(value)))) return;
      // Responses can arrive out of order. Within one rate-limit window, the smaller number is the newer one.
      if (quota && quota.reset.getTime() > next.reset.getTime()) return;
      if (quota?.reset.getTime() === next.reset.getTime() && quota.limit === next.limit) {
        next.remaining = Math.min(next.remaining, quota.remaining);
      }
      quota = next;
      toldAt = Date.now();
      tellIfScarce(next);
    },

    hold(seconds) {
      heldUntil = Math.max(heldUntil, Date.now() + Math.max(LEAST_HOLD, seconds) * 1000);
    },

    async admit(deadline, signal) {
      for (let until = openFrom(); until > Date.now(); until = openFrom()) {
        if (until > deadline) throw spent(until);
        await delay(until - Date.now(), undefined, { signal });
      }
    },
  };
}

function spent(until: number): StoreError {
  const seconds = Math.ceil((until - Date.now()) / 1000);
  const message = `The host of the repository takes no more requests for now; it will from ${new Date(until).toISOString()} on.`;
  return new StoreError('unavailable', message, { retryAfter: Math.max(1, seconds) });
}
