import { isStoreError } from '../../model/error.ts';
import type { Store } from '../../model/store.ts';
import { currentRequest, runFor } from '../../observability/tracer.ts';
import { type Call, wrap } from './wrap.ts';

/** One call of a store, as it ended. */
export interface Observation {
  readonly member: Call;
  /** What the call was about, where it was about one thing. */
  readonly path: string | undefined;
  /** `ok`, or what the error is: see `outcomeOf`. */
  readonly outcome: string;
  readonly milliseconds: number;
}

/** The same store; `observer` is told of every call when its promise has settled. */
export function observe(store: Store, observer: (observation: Observation) => void): Store {
  return wrap(store, async (member, run, [about]) => {
    const started = performance.now();
    const tell = (outcome: string) =>
      observer({
        member,
        path: pathOf(about),
        outcome,
        milliseconds: performance.now() - started,
      });
    try {
      const result = await run();
      tell('ok');
      return result;
    } catch (error) {
      tell(outcomeOf(error));
      throw error;
    }
  });
}

/** The kind of a `StoreError`, or `fault` for every other error. */
export const outcomeOf = (error: unknown): string => (isStoreError(error) ? error.kind : 'fault');

/** What a call is about comes first: as a path, or as an entry that has one. */
function pathOf(about: unknown): string | undefined {
  const path = typeof about === 'object' && about !== null && 'path' in about ? about.path : about;
  return typeof path === 'string' ? path : undefined;
}

/** The same store; each call is a span of the request that it is made for, and what it asks of the backend is a part of it. */
export function trace(store: Store): Store {
  return wrap(store, async (member, run) => {
    const request = currentRequest();
    const span = request?.span?.callStore(member);
    if (!request || !span) return run();
    try {
      const result = await runFor({ ...request, span }, run);
      span.end('ok');
      return result;
    } catch (error) {
      span.end(outcomeOf(error));
      throw error;
    }
  });
}
