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

/** Milliseconds until the head of an answer, and all of one in JSON. */
export const QUICK = 30_000;

/** The same for what moves megabytes. */
export const LONG = 10 * 60_000;

/** The same for an upload, which takes as long as its sender does. */
export const UPLOAD = 6 * 60 * 60_000;

/** Milliseconds before the second attempt of what failed in passing. */
const RETRY_AFTER = 250;

/** Attempts behind the first. */
const RETRIES = 3;

/**
 * Requests under way, as the host allows. The plugin's own ten, for all clients of the process together, would be held
 * by ten uploads whose senders are slow.
 */
const MOST_AT_ONCE = 100;

const WithPlugins = Octokit.plugin(restEndpointMethods, retry, throttling);

export type Client = InstanceType<typeof WithPlugins>;

/** How `timedFetch` handles a request and its response. */
export interface FetchOptions {
  /** Milliseconds until the response headers arrive; until the end of the body where the body is buffered. */
  readonly timeout: number;
  /** Whether the body of a success is handed on as it arrives. Every other body is read here, up to a limit. */
  readonly streamsBody?: boolean;
  /** Called with the URL of the response where that is another one than was asked for. */
  readonly onRedirect?: (url: URL) => void;
}

/** Which of the writing requests goes first: those of a commit, for which many may wait, or any other. */
export type Urgency = 'first' | 'usual';

/** In the words of Bottleneck, which counts from 0, the most urgent, to 9. */
const PRIORITIES: Readonly<Record<Urgency, number>> = { first: 1, usual: 5 };

/** The client, and whoever has to be asked before each writing request: `turn` settles when it may be sent. */
export interface PacedClient {
  readonly client: Client;
  turn(urgency: Urgency): Promise<void>;
  /** Ends the waiting: no turn comes any more. */
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
      // What the client has to say: that an endpoint is going to be withdrawn, say.
      warn: (message: string) => log.warn(message, {}),
      error: (message: string) => log.warn(message, {}),
    },
    retry: {
      retries: RETRIES,
      retryAfterBaseValue: retryAfter,
      // Besides what it leaves out itself: what would be answered the same, and limits, which are kept by `quota.ts`.
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
 * What is left to the plugin: how many requests are under way. Its own pace for writes, one a second, would have a single
 * upload take three seconds, and knows of nothing more urgent; what limits say is kept by `quota.ts`.
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

/** At most so many in any minute: a quarter of them at once, the rest one by one. */
function paceOf(perMinute: number): Bottleneck {
  const atOnce = Math.ceil(perMinute / 4);
  const interval = 60_000 / Math.max(1, perMinute - atOnce);
  return new Bottleneck({
    reservoir: atOnce,
    reservoirIncreaseAmount: 1,
    reservoirIncreaseMaximum: atOnce,
    // Bottleneck counts in quarters of a second.
    reservoirIncreaseInterval: Math.ceil(interval / 250) * 250,
  });
}

/**
 * The responses of bodies that nobody has begun to read. Node.js cancels a body when its response is collected as garbage
 * (lib/web/fetch/response.js of undici), and the client hands on the body alone: it would end short.
 */
const holders = new WeakMap<ReadableStream, Response>();

/** Bytes of a body that is read here: a tree of 100,000 entries takes about 35 MB, an error far less. */
const MAX_BUFFERED_BYTES = 64 * 2 ** 20;
const MAX_ERROR_BYTES = 64 * 2 ** 10;

/** A fetch that ends in time, or fails. */
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
      // By this name, the client knows that there is nothing to try again.
      if (given?.aborted) throw new DOMException('The request was given up.', 'AbortError');
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** The same response with its body in memory, in a form that the client can read whatever the host sent. */
async function readWhole(response: Response): Promise<Response> {
  const bytes = await readBody(response);
  const headers = new Headers(response.headers);
  // The client knows one name of JSON only, and throws for a malformed type.
  headers.set('content-type', isJson(response) ? 'application/json' : 'text/plain; charset=utf-8');
  const isEmpty = NULL_BODY_STATUSES.has(response.status);
  const whole = new Response(isEmpty ? null : bytes, { headers });
  // `new Response` takes neither a status that has no body together with one, nor a status above 599.
  return Object.defineProperties(whole, {
    url: { value: response.url },
    status: { value: response.status },
    ok: { value: response.ok },
  });
}

/** Statuses whose responses have no body, whatever their headers announce (fetch.spec.whatwg.org, "null body status"). */
const NULL_BODY_STATUSES: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);

/** Reads a body up to the limit. A longer one fails the request; of an error, the beginning is enough. */
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

/** Whether a response is JSON: of any of GitHub's media types, except those of raw bytes, which end with `+json` as well. */
export function isJson({ headers }: Pick<Response, 'headers'>): boolean {
  const type = headers.get('content-type') ?? '';
  return /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type) && !/\braw\b/i.test(type);
}

/** Headers of an answer, by their names in lower case. */
export type Headers = Readonly<Record<string, string | number | undefined>>;

/** What the host lets us ask, as its answers tell, and when it wants to be left alone. */
export interface QuotaKeeper {
  current(): Quota | undefined;
  /** Takes in what an answer tells. */
  note(headers: Headers): void;
  /** Sends nothing for so many seconds from now, and for one at least. */
  hold(seconds: number): void;
  /**
   * Settles when a request may be sent. Throws `unavailable`, with the time when it may, if that is behind `deadline`,
   * which is in milliseconds of `Date.now`.
   */
  admit(deadline: number, signal?: AbortSignal): Promise<void>;
}

/** The share of the limit below which an operator is told. */
const SCARCE = 0.1;

/** Seconds by which the clocks of the host and of this machine may differ. */
const SLACK = 1;

/** Seconds behind a refusal, also where its reset is over by our clock: else we would ask again at once, and again. */
const LEAST_HOLD = 1;

export function createQuotaKeeper(log: StoreLog): QuotaKeeper {
  let quota: Quota | undefined;
  /** When the quota was told last, in milliseconds of `Date.now`. */
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
      // The host counts searches and the like apart.
      if ((headers['x-ratelimit-resource'] ?? 'core') !== 'core') return;
      const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`]);
      // `Number('')` is 0, which would be a spent quota.
      if (![limit, remaining, reset].every((value) => /^\d{1,12}$/.test(String(value)))) return;
      const next = { limit: Number(limit), remaining: Number(remaining), reset: new Date(Number(reset) * 1000) };
      if (!Object.values(next).every((value) => Number.isFinite(Number(value)))) return;
      // Answers overtake each other: within one span the smaller number is the later one.
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
