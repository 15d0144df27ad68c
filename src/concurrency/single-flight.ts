/** Shares the result of one task between all concurrent callers with the same key. */
export interface SingleFlight<Result> {
  /**
   * Returns the result of `task`, or of the task in progress for the same key. Two tasks of one key never run in
   * parallel. If a caller's `signal` aborts, its call rejects immediately with the reason. The signal of the task
   * aborts when no caller is left. Results are not cached: after a task has settled, the next caller starts a new
   * one.
   */
  run(key: string, task: (signal: AbortSignal) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  /** Aborts all tasks with `reason`. Resolves when they have settled. */
  abort(reason: unknown): Promise<void>;
}

interface Flight<Result> {
  readonly result: Promise<Result>;
  readonly cancel: AbortController;
  callers: number;
}

export function createSingleFlight<Result>(): SingleFlight<Result> {
  const flights = new Map<string, Flight<Result>>();

  const start = (key: string, task: (signal: AbortSignal) => Promise<Result>) => {
    const previous = flights.get(key)?.result;
    const cancel = new AbortController();
    const land = async () => {
      try {
        await previous?.catch(ignore);
        cancel.signal.throwIfAborted();
        return await task(cancel.signal);
      } finally {
        if (flights.get(key) === flight) flights.delete(key);
      }
    };
    const flight: Flight<Result> = { result: land(), cancel, callers: 0 };
    flights.set(key, flight);
    return flight;
  };

  return {
    async run(key, task, signal) {
      signal?.throwIfAborted();
      const current = flights.get(key);
      const flight = current && !current.cancel.signal.aborted ? current : start(key, task);
      flight.callers++;
      try {
        return await untilAborted(flight.result, signal);
      } finally {
        flight.callers--;
        if (flight.callers === 0 && flights.get(key) === flight) flight.cancel.abort();
      }
    },

    async abort(reason) {
      const results = [...flights.values()].map(({ cancel, result }) => {
        cancel.abort(reason);
        return result;
      });
      await Promise.allSettled(results);
    },
  };
}

const ignore = () => {};

/**
 * Settles like `result`, or rejects immediately with the reason of `signal` when that aborts. A later rejection of
 * `result` is ignored.
 */
export function untilAborted<Result>(result: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return result;
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  result.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  return promise;
}
