import { StoreError } from '../../model/error.ts';
import { ROOT } from '../../model/path.ts';
import type { Store } from '../../model/store.ts';
import { runFor } from '../../observability/tracer.ts';
import { bodyIn, wrap } from './wrap.ts';

export interface CircuitOptions {
  /** Calls in a row that got no answer, after which the store counts as gone, and for how many milliseconds at the least. */
  readonly failures: number;
  readonly span: number;
  /** Milliseconds from one look whether it is back to the next. */
  readonly interval: number;
  /** Told when the store is gone, by which error, and when it is back. */
  readonly onGone: (error: StoreError) => void;
  readonly onBack: (milliseconds: number) => void;
}

/** While the store is gone. */
interface Outage {
  readonly began: number;
  readonly error: StoreError;
  readonly timer: NodeJS.Timeout;
}

/**
 * The same store, of which nothing is asked while it is gone: every call is then `unavailable` at once, with the reason,
 * instead of after the time-outs and tries that each would take. Whether it is back is looked at meanwhile. Gone means that
 * there is no answer (`isUnreachable`); a store that is busy, or refuses, is there.
 */
export function circuit(store: Store, options: CircuitOptions): Store {
  const { failures, span, interval, onGone, onBack } = options;
  let failed = { count: 0, since: 0 };
  let outage: Outage | undefined;

  const look = async () => {
    try {
      await (store.check ? store.check() : store.list(ROOT, { limit: 1 }));
    } catch (error) {
      if (isOutOfReach(error)) return void outage?.timer.refresh();
    }
    if (!outage) return;
    const lasted = performance.now() - outage.began;
    outage = undefined;
    failed = { count: 0, since: 0 };
    onBack(lasted);
  };

  const note = (error: StoreError) => {
    const now = performance.now();
    failed = failed.count === 0 ? { count: 1, since: now } : { ...failed, count: failed.count + 1 };
    if (outage || failed.count < failures || now - failed.since < span) return;
    // Not for the request that noticed: the looks would go on under its name.
    const timer = runFor(undefined, () => setTimeout(() => void look(), interval).unref());
    outage = { began: failed.since, error, timer };
    onGone(error);
  };

  return wrap(store, async (member, run, args) => {
    if (member === 'close') {
      clearTimeout(outage?.timer);
      return run();
    }
    // Nothing is asked of a store for a URL.
    if (member === 'presign') return run();
    if (outage) {
      bodyIn(args)?.destroy();
      throw stillGone(outage, interval);
    }
    try {
      const result = await run();
      failed = { count: 0, since: 0 };
      return result;
    } catch (error) {
      if (isOutOfReach(error)) note(error);
      else if (error instanceof StoreError) failed = { count: 0, since: 0 };
      throw error;
    }
  });
}

const isOutOfReach = (error: unknown): error is StoreError => error instanceof StoreError && error.isUnreachable;

function stillGone({ began, error }: Outage, interval: number): StoreError {
  const seconds = Math.round((performance.now() - began) / 1000);
  const message = `The store has been out of reach for ${seconds} seconds. ${error.message}`;
  return new StoreError('unavailable', message, {
    cause: error,
    retryAfter: Math.max(1, Math.ceil(interval / 1000)),
    isOutOfReach: true,
  });
}
