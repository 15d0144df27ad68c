import { createHmac } from 'node:crypto';
import { deriveKey } from '../../access/sessions.ts';
import { clientNetwork } from '../limits/connections.ts';
import type { WindowCounters } from '../limits/counters.ts';

/** An attempt to sign in. */
export interface Attempt {
  /** The username as it was sent, whether or not such a user exists. */
  readonly name: string;
  /** The address of the client, possibly with a port. */
  readonly from: string;
}

/** Bounds how often clients can guess passwords. */
export interface Throttle {
  /** Counts an attempt. Returns `retryAfter`, in seconds, if the attempt exceeds a limit. */
  take(attempt: Attempt): Promise<{ readonly retryAfter?: number }>;
  /** Removes an attempt from the count, because it was not a guess. */
  giveBack(attempt: Attempt): Promise<void>;
  /**
   * Checks the limits for credentials that were correct before, without counting them. Returns `retryAfter` if the
   * address, or the account from this address, has no attempts left. Otherwise such a client could distinguish a
   * correct password from a wrong one. Attempts from other addresses don't count.
   */
  look(attempt: Attempt): { readonly retryAfter?: number };
}

export interface ThrottleOptions {
  readonly key: Buffer;
  readonly counters: WindowCounters;
}

/** Maximum number of attempts in `seconds` seconds. */
interface Limit {
  readonly of: (attempt: Attempt) => readonly string[];
  readonly max: number;
  readonly seconds: number;
}

const OF_ADDRESS: Limit = { of: ({ from }) => ['address', clientNetwork(from)], max: 20, seconds: 60 };
const OF_BOTH: Limit = { of: ({ name, from }) => ['account', name, clientNetwork(from)], max: 10, seconds: 60 };
const OF_BOTH_FOR_LONG: Limit = {
  of: ({ name, from }) => ['account for long', name, clientNetwork(from)],
  max: 30,
  seconds: 15 * 60,
};
const OF_ACCOUNT: Limit = { of: ({ name }) => ['account', name], max: 100, seconds: 15 * 60 };

/**
 * Checked in this order. An attempt that exceeds one limit is not counted for the next. A single address therefore
 * cannot lock an account, and the names that it sends take no memory.
 */
const LIMITS = [OF_ADDRESS, OF_BOTH, OF_BOTH_FOR_LONG, OF_ACCOUNT];

const LIMITS_OF_ADDRESS = [OF_ADDRESS, OF_BOTH, OF_BOTH_FOR_LONG];

export function createThrottle({ key, counters }: ThrottleOptions): Throttle {
  const ownKey = deriveKey(key, 'throttle');
  // Users type passwords into the username field, so names are only kept as keyed hashes.
  const idOf = (parts: readonly string[]) =>
    createHmac('sha256', ownKey).update(JSON.stringify(parts)).digest('base64url');

  return {
    async take(attempt) {
      for (const { of, max, seconds } of LIMITS) {
        const { granted, ends } = await counters.take(idOf(of(attempt)), { wanted: 1, max, seconds });
        if (granted === 0) return waitUntil(ends);
      }
      return {};
    },

    async giveBack(attempt) {
      await Promise.all(LIMITS.map(({ of }) => counters.refund(idOf(of(attempt)))));
    },

    look(attempt) {
      const full = LIMITS_OF_ADDRESS.map(({ of, max }) => ({ max, window: counters.peek(idOf(of(attempt))) })).flatMap(
        ({ max, window }) => (window && window.count >= max ? [window.ends] : []),
      );
      return full.length === 0 ? {} : waitUntil(Math.max(...full));
    },
  };
}

function waitUntil(ends: number): { retryAfter: number } {
  return { retryAfter: Math.max(1, Math.ceil((ends - Date.now()) / 1000)) };
}
