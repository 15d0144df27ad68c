import { Octokit } from '@octokit/core';
import { restEndpointMethods } from '@octokit/plugin-rest-endpoint-methods';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import Bottleneck from 'bottleneck';
import { version } from '../../../version.ts';
import { stopping } from '../../network.ts';
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

/** What is sent by `fetch` ends in time, or fails. `onRedirect` is told when an answer came from elsewhere. */
export type TimedFetch = (milliseconds: number, onRedirect: () => void) => typeof fetch;

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
          throw stopping();
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
 * The answers of bodies that nobody has begun to read. Node.js cancels a body when its answer is collected as garbage
 * (lib/web/fetch/response.js of undici), and the client hands on the body alone: it would end short.
 */
const holders = new WeakMap<ReadableStream, Response>();

export const timedFetch: TimedFetch = (milliseconds, onRedirect) => async (input, init) => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('No answer in time.', 'TimeoutError')), milliseconds);
  const given = init?.signal ?? undefined;
  try {
    const signal = given ? AbortSignal.any([given, late.signal]) : late.signal;
    const response = await fetch(input, { ...init, signal });
    if (response.redirected) onRedirect();
    if (isJson(response)) return await readWhole(response);
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

/** Raw bytes have a type that ends with `+json` as well, and are streamed. */
const isJson = ({ headers }: Response) =>
  /^application\/(json|vnd\.github\.object\+json)\b/i.test(headers.get('content-type') ?? '');

/** The same answer, all of it here, so that the time limit holds for its body as well. */
async function readWhole(response: Response): Promise<Response> {
  const whole = new Response(await response.arrayBuffer(), response);
  return Object.defineProperty(whole, 'url', { value: response.url });
}
