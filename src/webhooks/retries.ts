import type { NextStep } from './deliveries.ts';
import type { SentMessage } from './sender.ts';
import type { Delivery } from './webhook.ts';

/** Milliseconds for which a delivery is retried. */
export const RETRY_PERIOD_MS = 24 * 60 * 60_000;

/** Milliseconds before the second attempt, multiplied for each further one up to the maximum: 11 attempts in a day. */
const MIN_RETRY_MS = 10_000;
const RETRY_FACTOR = 3;
const MAX_RETRY_MS = 6 * 60 * 60_000;

/** The part of each delay that is random, so that the deliveries of an outage don't return together. */
const JITTER = 0.2;

/** Decides what follows an attempt. `random` is from 0 to 1. */
export function nextStep(
  { attempts, queuedAt }: Pick<Delivery, 'attempts' | 'queuedAt'>,
  { error, time, response, retryAfter = 0 }: SentMessage,
  random = Math.random(),
): NextStep {
  if (error === undefined) return { status: 'delivered' };
  if (response?.status === GONE) return { status: 'failed' };
  const backoff = Math.min(MIN_RETRY_MS * RETRY_FACTOR ** attempts, MAX_RETRY_MS);
  const retryMs = Math.max(retryAfter * 1000, backoff * (1 - JITTER / 2 + JITTER * random));
  const isTooLate = time.getTime() + retryMs > queuedAt.getTime() + RETRY_PERIOD_MS;
  return isTooLate ? { status: 'failed' } : { retryMs };
}

/** The status with which an endpoint asks for no more messages. */
export const GONE = 410;
