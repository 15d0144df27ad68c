import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError } from '../../model/error.ts';
import type { Cancellable } from '../../model/store.ts';
import { S3ErrorResponse } from './errors.ts';

/** Maximum attempts of `retryWhenBusy`. Each attempt can already contain several requests with pauses. */
const BUSY_ATTEMPTS = 3;

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
      if (attempt === BUSY_ATTEMPTS || !isStoreError(error, 'unavailable')) throw error;
      await delay(BUSY_PAUSE_MS * (0.5 + Math.random()), undefined, { signal });
    }
  }
}

/** Maximum attempts per request while the store is throttling, failing or unreachable. */
export const ATTEMPTS = 4;

/**
 * Decides when a failed request is retried, like the AWS SDK client. Pauses double, have a random length, and are
 * longer if the store throttles. All requests share a retry budget, so that a failing store does not receive four times
 * as many requests.
 */
export interface RetryPolicy {
  /**
   * Returns the cost of a retry in the retry budget, or 0 if the request must not be retried. `attempt` is the number
   * of the failed attempt, from 1. Resolves after the pause. Rejects with the abort reason of `signal`.
   */
  again(error: unknown, attempt: number, signal: AbortSignal | undefined): Promise<number>;
  /** Restores the retry budget after a success, by the cost `taken` of the retry, or by 1 for a first attempt. */
  succeeded(taken: number): void;
}

/** The initial retry budget, and the cost of one retry. Throttling costs less, because it ends by itself. */
const RESERVE = 500;
const COST = { throttled: 5, passing: 14 } as const;

/** Maximum milliseconds of the first pause, of any pause, and of the extension by `Retry-After`. */
const PAUSE_MS = { throttled: 1_000, passing: 50 } as const;
const LONGEST_PAUSE = 20_000;
const LONGEST_DELAY = 5_000;

export function createRetryPolicy(retried: () => void): RetryPolicy {
  let reserve = RESERVE;
  return {
    async again(error, attempt, signal) {
      const kind = kindOf(error);
      if (kind === undefined || attempt >= ATTEMPTS || reserve < COST[kind]) return 0;
      reserve -= COST[kind];
      retried();
      const pause = Math.random() * Math.min(PAUSE_MS[kind] * 2 ** (attempt - 1), LONGEST_PAUSE);
      const asked =
        error instanceof S3ErrorResponse && error.retryAfter !== undefined ? error.retryAfter * 1000 : undefined;
      await wait(asked === undefined ? pause : Math.max(pause, Math.min(asked, pause + LONGEST_DELAY)), signal);
      return COST[kind];
    },
    succeeded(taken) {
      reserve = Math.min(RESERVE, reserve + (taken || 1));
    },
  };
}

/** Returns the kind of a temporary error, or undefined if a retry would fail again. */
function kindOf(error: unknown): keyof typeof COST | undefined {
  if (error instanceof S3ErrorResponse) {
    if (error.status === 429 || THROTTLED.test(error.code)) return 'throttled';
    return PASSING_STATUS.has(error.status) || PASSING_CODE.test(error.code) || error.isClockCorrected
      ? 'passing'
      : undefined;
  }
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && LOST.test(String(current.code))) return 'passing';
  }
  return undefined;
}

const PASSING_STATUS = new Set([500, 502, 503, 504]);
const PASSING_CODE = /^(TimeoutError|RequestTimeout(Exception)?)$/;
const THROTTLED =
  /^(BandwidthLimitExceeded|EC2ThrottledException|LimitExceededException|PriorRequestNotComplete|ProvisionedThroughputExceededException|RequestLimitExceeded|RequestThrottled(Exception)?|SlowDown|ThrottledException|Throttling(Exception)?|TooManyRequestsException|TransactionInProgressException)$/;
const LOST = /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;

/** Waits. Rejects with the abort reason of `signal`. */
function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, milliseconds);
    if (signal?.aborted) leave();
    else signal?.addEventListener('abort', leave, { once: true });
  });
}
