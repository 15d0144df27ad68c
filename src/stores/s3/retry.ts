import { isStoreError } from '../../model/error.ts';
import type { Cancellable } from '../../model/store.ts';
import { S3ErrorResponse } from './errors.ts';

/** Maximum attempts of `retryWhenBusy`. Each attempt can already contain several requests with pauses. */
const MAX_BUSY_ATTEMPTS = 3;

/** Average milliseconds between these attempts. */
const BUSY_PAUSE_MS = 1000;

/**
 * Runs one item of a large operation, and retries it on `unavailable`. One failed request out of thousands must not
 * fail the whole operation.
 */
export async function retryWhenBusy<Output>(work: () => Promise<Output>, { signal }: Cancellable): Promise<Output> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === MAX_BUSY_ATTEMPTS || !isStoreError(error, 'unavailable')) throw error;
      await pause(BUSY_PAUSE_MS * (0.5 + Math.random()), signal);
    }
  }
}

/** Maximum attempts per request while the store is throttling, failing or unreachable. */
const MAX_ATTEMPTS = 4;

/** The initial retry budget, and the cost of one retry. Throttling costs less, because it ends by itself. */
const INITIAL_BUDGET = 500;
const RETRY_COST = { throttled: 5, transient: 14 } as const;

/** Maximum milliseconds of the first pause, of any pause, and of the extension by `Retry-After`. */
const FIRST_PAUSE_MS = { throttled: 1_000, transient: 50 } as const;
const MAX_PAUSE_MS = 20_000;
const MAX_RETRY_AFTER_MS = 5_000;

/**
 * Decides when a failed request is retried, like the AWS SDKs ("standard" retry mode). Pauses double, have a random
 * length, and are longer if the store throttles. All requests share a retry budget, so that a failing store does not
 * receive four times as many requests.
 */
export class RetryPolicy {
  readonly #onRetry: () => void;
  #budget = INITIAL_BUDGET;

  constructor(onRetry: () => void) {
    this.#onRetry = onRetry;
  }

  /**
   * Waits before a retry and returns its cost in the retry budget. Returns 0 at once if the request must not be
   * retried. `attempt` is the number of the failed attempt, from 1. Rejects with the abort reason of `signal`.
   */
  async waitForRetry(error: unknown, attempt: number, signal: AbortSignal | undefined): Promise<number> {
    const reason = retryReason(error);
    if (reason === undefined || attempt >= MAX_ATTEMPTS || this.#budget < RETRY_COST[reason]) return 0;
    this.#budget -= RETRY_COST[reason];
    this.#onRetry();
    const backoffMs = Math.random() * Math.min(FIRST_PAUSE_MS[reason] * 2 ** (attempt - 1), MAX_PAUSE_MS);
    const retryAfterMs = error instanceof S3ErrorResponse ? (error.retryAfter ?? 0) * 1000 : 0;
    await pause(Math.max(backoffMs, Math.min(retryAfterMs, backoffMs + MAX_RETRY_AFTER_MS)), signal);
    return RETRY_COST[reason];
  }

  /** Restores the retry budget after a success, by the cost of the last retry, or by 1 for a first attempt. */
  recordSuccess(cost: number): void {
    this.#budget = Math.min(INITIAL_BUDGET, this.#budget + (cost || 1));
  }
}

/** Returns the reason to retry, or undefined if a retry would fail again. */
function retryReason(error: unknown): keyof typeof RETRY_COST | undefined {
  if (error instanceof S3ErrorResponse) {
    if (error.status === 429 || THROTTLING_CODE.test(error.code)) return 'throttled';
    return TRANSIENT_STATUS.has(error.status) || TRANSIENT_CODE.test(error.code) || error.isClockCorrected
      ? 'transient'
      : undefined;
  }
  // No credentials: the credential provider has already retried.
  if (isStoreError(error)) return undefined;
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && NETWORK_CODE.test(String(current.code))) return 'transient';
  }
  return undefined;
}

const TRANSIENT_STATUS = new Set([500, 502, 503, 504]);
const TRANSIENT_CODE = /^(TimeoutError|RequestTimeout(Exception)?)$/;
const THROTTLING_CODE =
  /^(BandwidthLimitExceeded|EC2ThrottledException|LimitExceededException|PriorRequestNotComplete|ProvisionedThroughputExceededException|RequestLimitExceeded|RequestThrottled(Exception)?|SlowDown|ThrottledException|Throttling(Exception)?|TooManyRequestsException|TransactionInProgressException)$/;
const NETWORK_CODE =
  /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_(SOCKET|(CONNECT|HEADERS|BODY)_TIMEOUT|RES_CONTENT_LENGTH_MISMATCH))$/;

/** Waits. Rejects with the abort reason of `signal`. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}
