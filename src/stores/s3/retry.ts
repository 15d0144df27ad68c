import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError } from '../../model/error.ts';
import type { Cancellable } from '../../model/store.ts';
import { S3ErrorResponse } from './errors.ts';

/** How often something is tried that the store is too busy for; each has several requests, with pauses between them. */
const BUSY_ATTEMPTS = 3;

/** Milliseconds before it is tried again, more or less. */
const BUSY_PAUSE_MS = 1000;

/** Does a part of something larger: a store that is too busy for one of thousands must not end the work on all of them. */
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

/** Requests in all that one call makes while the store is throttling, failing or out of reach. */
export const ATTEMPTS = 4;

/**
 * When a request that failed is sent again: as the client for S3 does it, so that a store sees one way of asking from all
 * of us. Pauses double, of random length, and are longer where the store throttles. All requests together have a
 * reserve, so that a store that fails altogether is not asked four times for each of thousands of requests. `retried` is told of each.
 */
export interface RetryPolicy {
  /**
   * What one more try takes of the reserve, after this failure of that attempt (from 1 on), or 0 where there is to be
   * none. Settles behind the pause before it.
   */
  again(error: unknown, attempt: number, signal: AbortSignal | undefined): Promise<number>;
  /** Told of an attempt that succeeded, and of what was taken for it. */
  succeeded(taken: number): void;
}

/** What the reserve begins with, and what one more try takes of it: fewer for throttling, which ends by itself. */
const RESERVE = 500;
const COST = { throttled: 5, passing: 14 } as const;

/** Milliseconds of the first pause at the most, and of any; and what a store that names a time may have beyond that. */
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

/** Whether the same request may succeed a little later. */
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

/** Rejects with the reason of the signal when that aborts. */
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
