import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../domain/error.ts';
import { MAX_RETRY_AFTER_SECONDS } from '../../../domain/http-date.ts';
import type { Quota } from '../../../domain/store.ts';
import type { StoreLog } from '../../log.ts';

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
