/** Work that is done once for all who want its result at the same time. */
export interface SingleFlight<Result> {
  /**
   * The result of `task`, or of the one that is under way for the same key. Two tasks of one key never run at once.
   * An asker whose `signal` aborts gets its reason at once; the task's own signal aborts when no asker is left.
   * Nothing is kept once a task settled: the next asker starts a new one.
   */
  run(key: string, task: (signal: AbortSignal) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
  /** Aborts all tasks with `reason` and resolves when they have settled. */
  abort(reason: unknown): Promise<void>;
}

interface Flight<Result> {
  readonly result: Promise<Result>;
  readonly cancel: AbortController;
  askers: number;
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
    const flight: Flight<Result> = { result: land(), cancel, askers: 0 };
    flights.set(key, flight);
    return flight;
  };

  return {
    async run(key, task, signal) {
      signal?.throwIfAborted();
      const current = flights.get(key);
      const flight = current && !current.cancel.signal.aborted ? current : start(key, task);
      flight.askers++;
      try {
        return await untilAborted(flight.result, signal);
      } finally {
        flight.askers--;
        if (flight.askers === 0 && flights.get(key) === flight) flight.cancel.abort();
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

/** The result, or at once the reason of `signal` when that aborts. What `result` becomes then is nobody's concern. */
export function untilAborted<Result>(result: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return result;
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  result.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  return promise;
}
