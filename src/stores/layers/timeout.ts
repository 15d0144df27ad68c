import { finished } from 'node:stream';
import { StoreError } from '../../model/error.ts';
import type { Store } from '../../model/store.ts';
import { bodyIn, type Call, wrap } from './wrap.ts';

/**
 * What of a call has to be over in time: all of it; what comes after the body that it brings, which comes as slowly as its
 * sender is; or nothing, as it takes the longer the more there is to be done.
 */
const LIMITED = {
  list: 'all',
  stat: 'all',
  read: 'all',
  check: 'all',
  presign: 'all',
  remove: 'all',
  createFolder: 'all',
  removeFolder: 'all',
  write: 'after the body',
  stage: 'after the body',
  copy: 'nothing',
  move: 'nothing',
  copyFolder: 'nothing',
  moveFolder: 'nothing',
  removeTree: 'nothing',
  close: 'nothing',
} as const satisfies Record<Call, 'all' | 'after the body' | 'nothing'>;

export interface TimeLimits {
  /** Milliseconds for a call. */
  readonly call: number;
  /** Milliseconds after the last byte of a body: what a slow disk has in memory by then may be gigabytes. */
  readonly afterBody: number;
}

/**
 * The same store, which gives up what takes longer than that: `unavailable`, out of reach. For a store that
 * may never answer, as a disk of another machine; one that watches over its calls itself needs no such layer. What is
 * given up goes on behind its caller's back, since nothing can end it, and what it opens in the end is closed.
 */
export function timeLimit(store: Store, limits: TimeLimits): Store {
  return wrap(store, async (member, run, args) => {
    const limited = LIMITED[member];
    if (limited === 'nothing') return run();
    const { promise: late, reject } = Promise.withResolvers<never>();
    let timer: NodeJS.Timeout | undefined;
    const begin = (milliseconds: number) => {
      timer = setTimeout(() => reject(tookTooLong(milliseconds)), milliseconds);
    };
    const body = limited === 'after the body' ? bodyIn(args) : undefined;
    const stopWaiting = body && finished(body, () => begin(limits.afterBody));
    if (!body) begin(limits.call);
    const running = run();
    try {
      return await Promise.race([running, late]);
    } catch (error) {
      // Does nothing where it is what failed.
      running.then(giveBack, () => {});
      throw error;
    } finally {
      stopWaiting?.();
      clearTimeout(timer);
    }
  });
}

/** Closes what a call gave that nobody waits for any more: an opened file, bytes that were taken in. */
function giveBack(result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  if ('body' in result && isDestroyable(result.body)) result.body.destroy();
  if ('discard' in result && typeof result.discard === 'function') Promise.resolve(result.discard()).catch(() => {});
}

const isDestroyable = (value: unknown): value is { destroy(): void } =>
  typeof value === 'object' && value !== null && 'destroy' in value && typeof value.destroy === 'function';

function tookTooLong(milliseconds: number): StoreError {
  const message =
    `The store did not answer within ${milliseconds / 1000} seconds. What was asked of it may be done all the same: ` +
    'look before you ask again.';
  return new StoreError('unavailable', message, { retryAfter: 5, isOutOfReach: true });
}
