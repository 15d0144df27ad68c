import { StoreError } from '../../model/error.ts';
import { type FolderPath, ROOT } from '../../model/path.ts';
import type { Entry, Store } from '../../model/store.ts';
import { runInRequest } from '../../observability/tracer.ts';
import { bodyIn, type Call, type Layer, stepwise, wrap } from './wrap.ts';

export interface CircuitBreakerOptions {
  /**
   * The circuit opens after `maxFailures` consecutive calls without a response, if the first was at least `minOutageMs`
   * ago.
   */
  readonly maxFailures: number;
  readonly minOutageMs: number;
  /** Milliseconds between health checks while the circuit is open. */
  readonly probeIntervalMs: number;
  /** Called when the circuit opens, with the last error. */
  readonly onOpen: (error: StoreError) => void;
  /** Called when the circuit closes, with the duration of the outage in milliseconds. */
  readonly onClose: (outageMs: number) => void;
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
 * Only `store-unreachable` counts as a failure; a store that is busy or denies access is
 * reachable.
 */
export function circuitBreaker(store: Store, options: CircuitBreakerOptions): Store {
  return wrap(store, new CircuitBreaker(store, options));
}

class CircuitBreaker implements Layer {
  readonly #store: Store;
  readonly #options: CircuitBreakerOptions;
  #failures = { count: 0, since: 0 };
  #outage: Outage | undefined;

  constructor(store: Store, options: CircuitBreakerOptions) {
    this.#store = store;
    this.#options = options;
  }

  async call<Result>(member: Call, run: () => Promise<Result>, args: readonly unknown[]): Promise<Result> {
    if (member === 'close') {
      clearTimeout(this.#outage?.timer);
      return run();
    }
    if (this.#outage) {
      bodyIn(args)?.destroy();
      throw this.#openError(this.#outage);
    }
    try {
      const result = await run();
      // Some stores sign URLs without a request, which does not prove that the store responds.
      if (member !== 'presign') this.#recordResponse();
      return result;
    } catch (error) {
      this.#recordError(error);
      throw error;
    }
  }

  walk(run: () => AsyncIterable<Entry>, _folder: FolderPath): AsyncIterable<Entry> {
    if (this.#outage) throw this.#openError(this.#outage);
    return stepwise(run(), async (next) => {
      try {
        return await next();
      } catch (error) {
        this.#recordError(error);
        throw error;
      }
    });
  }

  #recordResponse(): void {
    if (this.#failures.count > 0) this.#failures = { count: 0, since: 0 };
  }

  #recordError(error: unknown): void {
    if (!(error instanceof StoreError)) return;
    if (error.code === 'store-unreachable') this.#recordFailure(error);
    else this.#recordResponse();
  }

  #recordFailure(error: StoreError): void {
    const { maxFailures, minOutageMs, probeIntervalMs, onOpen } = this.#options;
    const now = performance.now();
    const { count, since } = this.#failures;
    this.#failures = count === 0 ? { count: 1, since: now } : { count: count + 1, since };
    const isOutage = this.#failures.count >= maxFailures && now - this.#failures.since >= minOutageMs;
    if (this.#outage || !isOutage) return;
    // Run outside the current request. Otherwise its trace would contain the health checks.
    const timer = runInRequest(undefined, () => setTimeout(() => void this.#probe(), probeIntervalMs).unref());
    this.#outage = { began: this.#failures.since, error, timer };
    onOpen(error);
  }

  async #probe(): Promise<void> {
    try {
      await (this.#store.check ? this.#store.check() : this.#store.list(ROOT, { limit: 1 }));
    } catch (error) {
      if (error instanceof StoreError && error.code === 'store-unreachable') return void this.#outage?.timer.refresh();
    }
    if (!this.#outage) return;
    const outageMs = performance.now() - this.#outage.began;
    this.#outage = undefined;
    this.#failures = { count: 0, since: 0 };
    this.#options.onClose(outageMs);
  }

  #openError({ began, error }: Outage): StoreError {
    const seconds = Math.round((performance.now() - began) / 1000);
    return new StoreError(
      'store-unreachable',
      `The store has been unreachable for ${seconds} seconds. ${error.message}`,
      {
        cause: error,
        retryAfter: Math.max(1, Math.ceil(this.#options.probeIntervalMs / 1000)),
      },
    );
  }
}
