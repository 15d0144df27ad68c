import { finished } from 'node:stream';
import { StoreError } from '../../model/error.ts';
import type { Store } from '../../model/store.ts';
import { bodyIn, type Call, stepwise, wrap } from './wrap.ts';

/**
 * The part of each call that has a timeout. `all`: the whole call. `after the body`: the time after the end of the
 * request body, because the speed of the client determines how long the body takes. `nothing`: calls whose duration
 * depends on the amount of data.
 */
const LIMITED = {
  list: 'all',
  hasFolder: 'all',
  identify: 'all',
  now: 'all',
  state: 'all',
  changeSince: 'all',
  space: 'all',
  stat: 'all',
  read: 'all',
  check: 'all',
  presign: 'all',
  remove: 'all',
  createFolder: 'all',
  removeFolder: 'all',
  setModified: 'all',
  write: 'after the body',
  stage: 'after the body',
  createUpload: 'all',
  openUpload: 'all',
  removeUploads: 'nothing',
  presignParts: 'all',
  copy: 'nothing',
  move: 'nothing',
  copyFolder: 'nothing',
  moveFolder: 'nothing',
  removeTree: 'nothing',
  listTrash: 'all',
  findTrashed: 'all',
  measureTrashed: 'nothing',
  moveToTrash: 'nothing',
  restoreTrashed: 'nothing',
  purgeTrashed: 'nothing',
  listVersions: 'all',
  readVersion: 'all',
  restoreVersion: 'nothing',
  purgeVersions: 'nothing',
  expireVersions: 'nothing',
  close: 'nothing',
} as const satisfies Record<Call, 'all' | 'after the body' | 'nothing'>;

export interface Timeouts {
  /** Maximum milliseconds of a call, and of each step of a walk. */
  readonly callMs: number;
  /** Maximum milliseconds after the last byte of a body. A slow disk might still have to flush gigabytes then. */
  readonly afterBodyMs: number;
}

/**
 * Returns the store with timeouts. A call that exceeds its limit throws `store-unreachable`. For stores
 * that might never respond, such as a network disk; stores that enforce timeouts themselves don't need this layer. The
 * call itself can't be canceled and continues in the background. Its late result is closed.
 */
export function timeout(store: Store, { callMs, afterBodyMs }: Timeouts): Store {
  return wrap(store, {
    async call(member, run, args) {
      const limited = LIMITED[member];
      if (limited === 'nothing') return run();
      const body = limited === 'after the body' ? bodyIn(args) : undefined;
      return body ? withTimeout(run, afterBodyMs, (start) => finished(body, start)) : withTimeout(run, callMs);
    },
    walk: (run) => stepwise(run(), (next) => withTimeout(next, callMs)),
  });
}

/**
 * Runs a call, and throws `unavailable` if it takes longer than `milliseconds`, counted from the start or from the
 * moment when `startLater` calls its argument. `startLater` returns a function that stops waiting for that moment.
 */
async function withTimeout<Result>(
  run: () => Promise<Result>,
  milliseconds: number,
  startLater?: (start: () => void) => () => void,
): Promise<Result> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(() => reject(timedOut(milliseconds)), milliseconds);
  };
  const stopWaiting = startLater?.(start);
  if (!startLater) start();
  const running = run();
  try {
    return await Promise.race([running, expired]);
  } catch (error) {
    // If the call itself failed, this does nothing.
    running.then(closeResult, () => {});
    throw error;
  } finally {
    stopWaiting?.();
    clearTimeout(timer);
  }
}

/** Closes the late result of a call that timed out: closes an open file, discards a staged upload. */
function closeResult(result: unknown): void {
  if (typeof result !== 'object' || result === null) return;
  if ('body' in result && isDestroyable(result.body)) result.body.destroy();
  if ('abort' in result && typeof result.abort === 'function') Promise.resolve(result.abort()).catch(() => {});
}

const isDestroyable = (value: unknown): value is { destroy(): void } =>
  typeof value === 'object' && value !== null && 'destroy' in value && typeof value.destroy === 'function';

function timedOut(milliseconds: number): StoreError {
  const message =
    `The store did not respond within ${milliseconds / 1000} seconds. The operation might still complete: ` +
    'check before you repeat the request.';
  return new StoreError('store-unreachable', message, { retryAfter: 5 });
}
