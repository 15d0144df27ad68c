import { setTimeout as delay } from 'node:timers/promises';
import { MAX_RETRY_AFTER_SECONDS } from '../../../model/dates.ts';
import { StoreError } from '../../../model/error.ts';
import type { Quota } from '../../../model/store.ts';
import { shuttingDown } from '../../../model/store-errors.ts';
import type { StoreLog } from '../../network.ts';

/** Response headers by lower-case name. */
export type ResponseHeaders = Readonly<Record<string, string | number | undefined>>;

/** Share of the limit below which a warning is logged. */
const LOW_QUOTA_SHARE = 0.1;

/** Seconds by which the clocks of GitHub and of this machine may differ. */
const CLOCK_SKEW_SECONDS = 1;

/**
 * Minimum seconds to wait after a rate-limited response. If the reset has passed by the local clock, requests would
 * otherwise repeat in a tight loop.
 */
const MIN_PAUSE_SECONDS = 1;

/** Tracks GitHub's rate limit from response headers and delays requests accordingly. */
export class QuotaTracker {
  readonly #log: StoreLog;
  readonly #closing: AbortSignal;
  #quota: Quota | undefined;
  /** When the quota was last updated, in milliseconds of `Date.now`. */
  #updatedAt = 0;
  #pausedUntil = 0;
  /** The quota of the last warning. */
  #warned: { reset: number; isExhausted: boolean } | undefined;

  constructor(log: StoreLog, closing: AbortSignal) {
    this.#log = log;
    this.#closing = closing;
  }

  current(): Quota | undefined {
    return this.#quota;
  }

  /** Updates the quota from the headers of a response. */
  update(headers: ResponseHeaders): void {
    const next = parseQuota(headers);
    if (!next) return;
    const known = this.#quota;
    // Responses can arrive out of order. Within one rate-limit window, the smaller number is the newer one.
    if (known && known.reset.getTime() > next.reset.getTime()) return;
    const isSameWindow = known?.reset.getTime() === next.reset.getTime() && known.limit === next.limit;
    const remaining = isSameWindow ? Math.min(next.remaining, known.remaining) : next.remaining;
    this.#quota = { ...next, remaining };
    this.#updatedAt = Date.now();
    this.#warnIfLow(this.#quota);
  }

  /** Delays all requests by `seconds` from now, at least by `MIN_PAUSE_SECONDS`. */
  pause(seconds: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, Date.now() + Math.max(MIN_PAUSE_SECONDS, seconds) * 1000);
  }

  /**
   * Resolves when a request can be sent. Throws `unavailable`, with the time to retry, if that is after `deadline`
   * (milliseconds of `Date.now`), and `shutting-down` if it would have to wait while the store closes. Rejects with an
   * `AbortError` when `signal` aborts.
   */
  async admit(deadline: number, signal?: AbortSignal): Promise<void> {
    for (let until = this.#opensAt(); until > Date.now(); until = this.#opensAt()) {
      if (until > deadline) throw this.exceededError();
      await waitUnlessClosing(until - Date.now(), { signal, closing: this.#closing });
    }
  }

  /** Returns the error for a request that can't wait for the rate limit. */
  exceededError(): StoreError {
    const until = this.#opensAt();
    const seconds = Math.ceil((until - Date.now()) / 1000);
    const message = `GitHub's rate limit is exceeded until ${new Date(until).toISOString()}.`;
    return new StoreError('quota-exhausted', message, { retryAfter: Math.max(1, seconds) });
  }

  #opensAt(): number {
    const reset = this.#quota?.remaining === 0 ? this.#quota.reset.getTime() + CLOCK_SKEW_SECONDS * 1000 : 0;
    return Math.max(this.#pausedUntil, Math.min(reset, this.#updatedAt + MAX_RETRY_AFTER_SECONDS * 1000));
  }

  #warnIfLow({ limit, remaining, reset }: Quota): void {
    const isExhausted = remaining === 0;
    const isKnown = this.#warned?.reset === reset.getTime() && (this.#warned.isExhausted || !isExhausted);
    if (remaining >= limit * LOW_QUOTA_SHARE || isKnown) return;
    this.#warned = { reset: reset.getTime(), isExhausted };
    const message = isExhausted ? 'The GitHub quota is exhausted.' : 'The GitHub quota is low.';
    this.#log.warn(message, { limit, remaining, reset });
  }
}

/**
 * Resolves after `milliseconds`. Throws `shutting-down` when `closing` aborts, and an `AbortError` when `signal`
 * aborts.
 */
export async function waitUnlessClosing(
  milliseconds: number,
  { signal, closing }: { readonly signal: AbortSignal | undefined; readonly closing: AbortSignal },
): Promise<void> {
  try {
    await delay(milliseconds, undefined, { signal: signal ? AbortSignal.any([signal, closing]) : closing });
  } catch (error) {
    throw closing.aborted && !signal?.aborted ? shuttingDown() : error;
  }
}

/** Parses the quota headers; returns undefined if one is missing or invalid. */
function parseQuota(headers: ResponseHeaders): Quota | undefined {
  // GitHub counts searches and some other requests in separate quotas.
  if ((headers['x-ratelimit-resource'] ?? 'core') !== 'core') return undefined;
  const values = ['limit', 'remaining', 'reset'].map((name) => String(headers[`x-ratelimit-${name}`]));
  // `Number('')` is 0, which would mean an exhausted quota.
  if (!values.every((value) => /^\d{1,12}$/.test(value))) return undefined;
  const [limit = 0, remaining = 0, resetSeconds = 0] = values.map(Number);
  const reset = new Date(resetSeconds * 1000);
  return Number.isNaN(reset.getTime()) ? undefined : { limit, remaining, reset };
}

/** Priority of a write request: `high` for the requests of a commit, for which many changes might wait. */
export type WritePriority = 'high' | 'normal';

/**
 * Limits write requests per minute with a token bucket: a quarter of them can be sent in a burst, the others at regular
 * intervals.
 */
export class WriteThrottle {
  readonly #burst: number;
  readonly #intervalMs: number;
  readonly #waiting = { high: new Set<Waiter>(), normal: new Set<Waiter>() };
  #tokens: number;
  /** Adds tokens. Runs only while the bucket is not full. */
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(perMinute: number) {
    this.#burst = Math.ceil(perMinute / 4);
    this.#intervalMs = Math.ceil(60_000 / Math.max(1, perMinute - this.#burst));
    this.#tokens = this.#burst;
  }

  /**
   * Resolves when a write request can be sent: those with priority `high` first, the others in order of the calls.
   * Rejects with the abort reason of `signal`, and with `unavailable` after `close`.
   */
  async acquire(priority: WritePriority, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw shuttingDown();
    this.#startTimer();
    if (this.#tokens === 0) return this.#wait(this.#waiting[priority], signal);
    this.#tokens--;
  }

  /** Rejects the requests that wait, and all later ones. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const { reject } of [...this.#waiting.high, ...this.#waiting.normal]) reject(shuttingDown());
  }

  #wait(queue: Set<Waiter>, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { resolve, reject };
    const abort = () => {
      queue.delete(waiter);
      reject(signal?.reason);
    };
    queue.add(waiter);
    this.#timer?.ref();
    signal?.addEventListener('abort', abort, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  #startTimer(): void {
    this.#timer ??= setInterval(() => this.#addToken(), this.#intervalMs).unref();
  }

  #addToken(): void {
    const { high, normal } = this.#waiting;
    const queue = high.size > 0 ? high : normal;
    const [next] = queue;
    if (next) {
      queue.delete(next);
      next.resolve();
      return;
    }
    this.#tokens++;
    // Only a waiting request keeps the process alive.
    this.#timer?.unref();
    if (this.#tokens < this.#burst) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** A request that waits for a token. */
interface Waiter {
  resolve(): void;
  reject(reason: unknown): void;
}
