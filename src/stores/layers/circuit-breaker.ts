import { StoreError } from '../../model/error.ts';
import { ROOT } from '../../model/path.ts';
import type { Store } from '../../model/store.ts';
import { runFor } from '../../observability/tracer.ts';
import { bodyIn, wrap } from './wrap.ts';

export interface CircuitOptions {
  /**
   * The circuit opens after `failures` consecutive calls without a response, if the first was at least `span`
   * milliseconds ago.
   */
  readonly failures: number;
  readonly span: number;
  /** Milliseconds between health checks while the circuit is open. */
  readonly interval: number;
  /** Called when the circuit opens, with the last error. */
  readonly onGone: (error: StoreError) => void;
  /** Called when the circuit closes, with the duration of the outage. */
  readonly onBack: (milliseconds: number) => void;
}

/** State while the circuit is open. */
interface Outage {
  readonly began: number;
  readonly error: StoreError;
  readonly timer: NodeJS.Timeout;
}

/**
 * Returns the store with a circuit breaker. While the circuit is open, every call throws `unavailable` with the reason
 * immediately, instead of after its timeouts and retries. A health check closes the circuit when the store responds.
 * Only errors without a response (`isUnreachable`) count as failures; a store that is busy or denies access is
 * reachable.
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
    // Run outside the current request. Otherwise its trace would contain the health checks.
    const timer = runFor(undefined, () => setTimeout(() => void look(), interval).unref());
    outage = { began: failed.since, error, timer };
    onGone(error);
  };

  return wrap(store, async (member, run, args) => {
    if (member === 'close') {
      clearTimeout(outage?.timer);
      return run();
    }
    // Signing a URL of a bucket sends no request.
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
    isUnreachable: true,
  });
}
