import { setTimeout as delay } from 'node:timers/promises';
import { ATTEMPTS_HEADER } from '../../testing/servers/documented-nginx.ts';
import type { HttpResponse } from '../http/client.ts';

/**
 * The outcome of a request: success; a 429 or 503 with Retry-After; a lost connection or an error of the proxy, so that
 * the outcome is unknown; or a failure that must not happen.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown' | 'failed';

/** One request of a client. */
export interface Operation {
  readonly kind: string;
  readonly outcome: Outcome;
  /** Milliseconds of `performance.now()`. */
  readonly began: number;
  readonly ended: number;
  /** The message of a request that was not acknowledged. */
  readonly detail?: string;
}

/** Sends requests and records them. */
export interface Sender {
  readonly operations: readonly Operation[];
  /** Sends a request once. Returns the response if it has one of these statuses. */
  once(kind: string, request: () => Promise<HttpResponse>, done?: readonly number[]): Promise<HttpResponse | undefined>;
  /** Sends a request until it is acknowledged. Returns the number of attempts, or 0 if it failed. */
  untilDone(kind: string, request: () => Promise<HttpResponse>, options?: RetryOptions): Promise<number>;
}

export interface RetryOptions {
  /** Whether a 404 is a success if the client or nginx sent the request before. */
  readonly acceptNotFoundAfterRetry?: boolean;
}

/** Milliseconds before a retry. */
const PAUSE = 50;

/** Milliseconds until a request has failed. */
const TIMEOUT = 180_000;

/** Creates a sender that pauses for so many milliseconds after each request. */
export function createSender(rest: number): Sender {
  const operations: Operation[] = [];

  const attempt = async (kind: string, request: () => Promise<HttpResponse>, isDone: IsDone) => {
    const began = performance.now();
    const { outcome, answer, detail } = await outcomeOf(request, isDone);
    operations.push({ kind, outcome, began, ended: performance.now(), ...(detail !== undefined && { detail }) });
    await delay(outcome === 'acknowledged' ? rest : PAUSE);
    return { outcome, answer };
  };

  return {
    operations,
    async once(kind, request, done = DONE) {
      const { outcome, answer } = await attempt(kind, request, ({ status }) => done.includes(status));
      return outcome === 'acknowledged' ? answer : undefined;
    },
    async untilDone(kind, request, { acceptNotFoundAfterRetry = false } = {}) {
      const deadline = performance.now() + TIMEOUT;
      for (let tries = 1; performance.now() < deadline; tries++) {
        const isDone: IsDone = (response) =>
          DONE.includes(response.status) ||
          (acceptNotFoundAfterRetry && response.status === 404 && (tries > 1 || wasResent(response)));
        const { outcome } = await attempt(kind, request, isDone);
        if (outcome === 'acknowledged') return tries;
        if (outcome === 'failed') return 0;
      }
      const now = performance.now();
      operations.push({ kind, outcome: 'failed', began: now, ended: now, detail: 'No attempt was acknowledged.' });
      return 0;
    },
  };
}

/** Returns whether a response is a success. */
type IsDone = (response: HttpResponse) => boolean;

const DONE: readonly number[] = [200];

/** Returns whether nginx sent the request to more than one replica: it resends a DELETE that got no response. */
const wasResent = ({ headers }: HttpResponse): boolean => String(headers[ATTEMPTS_HEADER] ?? '').includes(',');

async function outcomeOf(
  request: () => Promise<HttpResponse>,
  isDone: IsDone,
): Promise<{ outcome: Outcome; answer?: HttpResponse; detail?: string }> {
  let answer: HttpResponse;
  const timer = new AbortController();
  const late = delay(TIMEOUT, undefined, { signal: timer.signal }).catch(() => {});
  try {
    const first = await Promise.race([request(), late]);
    if (!first) return { outcome: 'failed', detail: 'There was no response.' };
    answer = first;
  } catch (error) {
    return { outcome: 'unknown', detail: String(error) };
  } finally {
    timer.abort();
  }
  if (isDone(answer)) return { outcome: 'acknowledged', answer };
  const detail = `${answer.status} ${answer.body.toString().slice(0, 300)}`;
  const { 'retry-after': retryAfter } = answer.headers;
  if ([429, 503].includes(answer.status) && retryAfter !== undefined) return { outcome: 'refused', detail };
  // nginx lost the connection to the replica, or found no replica.
  if ([502, 504].includes(answer.status)) return { outcome: 'unknown', detail };
  return { outcome: 'failed', detail };
}
