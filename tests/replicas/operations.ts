import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../http/client.ts';

/**
 * How a request ended: it was done; it was refused for now, by a 429 or 503 that says when to come again; nobody knows,
 * as the connection broke or the proxy had no answer; or as it may never end.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown' | 'failed';

/** One request of a client. */
export interface Operation {
  readonly kind: string;
  readonly outcome: Outcome;
  /** Of `performance.now()`. */
  readonly began: number;
  readonly ended: number;
  /** What came, where that was not what was asked for. */
  readonly said?: string;
}

/** Sends requests, and keeps an account of them. */
export interface Sender {
  readonly operations: readonly Operation[];
  /** Sends a request once; gives the answer where it was acknowledged, as one of these statuses is. */
  once(kind: string, request: () => Promise<Answer>, done?: readonly number[]): Promise<Answer | undefined>;
  /**
   * Sends a request until it is acknowledged, and says how often it was sent, or 0 where it was given up. Behind a try
   * that may have been done, a 404 means that it was, where `isGone`: there is nothing left to move or delete.
   */
  untilDone(kind: string, request: () => Promise<Answer>, how?: { readonly isGone?: boolean }): Promise<number>;
}

/** Milliseconds before a request is sent again, and after which that is given up. */
const PAUSE = 50;
const PATIENCE = 60_000;

/** One that waits for so many milliseconds behind each request. */
export function createSender(rest: number): Sender {
  const operations: Operation[] = [];

  const attempt = async (kind: string, request: () => Promise<Answer>, done: readonly number[]) => {
    const began = performance.now();
    const { outcome, answer, said } = await outcomeOf(request, done);
    operations.push({ kind, outcome, began, ended: performance.now(), ...(said !== undefined && { said }) });
    await delay(outcome === 'acknowledged' ? rest : PAUSE);
    return { outcome, answer };
  };

  return {
    operations,
    async once(kind, request, done = DONE) {
      const { outcome, answer } = await attempt(kind, request, done);
      return outcome === 'acknowledged' ? answer : undefined;
    },
    async untilDone(kind, request, { isGone = false } = {}) {
      const deadline = performance.now() + PATIENCE;
      let done = DONE;
      for (let tries = 1; performance.now() < deadline; tries++) {
        const { outcome } = await attempt(kind, request, done);
        if (outcome === 'acknowledged') return tries;
        if (outcome === 'failed') return 0;
        if (isGone) done = [...DONE, 404];
      }
      const now = performance.now();
      operations.push({ kind, outcome: 'failed', began: now, ended: now, said: 'It was sent again in vain.' });
      return 0;
    },
  };
}

const DONE: readonly number[] = [200];

async function outcomeOf(
  request: () => Promise<Answer>,
  done: readonly number[],
): Promise<{ outcome: Outcome; answer?: Answer; said?: string }> {
  let answer: Answer;
  const patience = new AbortController();
  const late = delay(PATIENCE, undefined, { signal: patience.signal }).catch(() => {});
  try {
    const first = await Promise.race([request(), late]);
    if (!first) return { outcome: 'failed', said: 'There was no answer.' };
    answer = first;
  } catch (error) {
    return { outcome: 'unknown', said: String(error) };
  } finally {
    patience.abort();
  }
  if (done.includes(answer.status)) return { outcome: 'acknowledged', answer };
  const said = `${answer.status} ${answer.body.toString().slice(0, 300)}`;
  const { 'retry-after': retryAfter } = answer.headers;
  if ([429, 503].includes(answer.status) && retryAfter !== undefined) return { outcome: 'refused', said };
  // Of the proxy: it lost the replica, or found none.
  if ([502, 504].includes(answer.status)) return { outcome: 'unknown', said };
  return { outcome: 'failed', said };
}
