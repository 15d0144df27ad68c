import { finished } from 'node:stream';
import { StoreError } from '../../model/error.ts';
import type { Store } from '../../model/store.ts';
import { bodyIn, type Call, wrap } from './wrap.ts';

/**
 * The part of each call that has a timeout. `all`: the whole call. `after the body`: the time after the end of the
 * request body, because the speed of the client determines how long the body takes. `nothing`: calls whose duration
 * depends on the amount of data.
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
  /** Maximum milliseconds of a call. */
  readonly call: number;
  /** Maximum milliseconds after the last byte of a body. A slow disk may still have to flush gigabytes then. */
  readonly afterBody: number;
}

/**
 * Returns the store with timeouts. A call that exceeds its limit throws `unavailable` with `isUnreachable`. For stores
 * that may never respond, such as a network disk; stores that enforce timeouts themselves don't need this layer. The
 * call itself can't be canceled and continues in the background. Its late result is closed.
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
      // If the call itself failed, this does nothing.
      running.then(giveBack, () => {});
      throw error;
    } finally {
      stopWaiting?.();
      clearTimeout(timer);
    }
  });
}

/** Releases the late result of a call that timed out: closes an open file, discards a staged upload. */
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
  return new StoreError('unavailable', message, { retryAfter: 5, isUnreachable: true });
}
