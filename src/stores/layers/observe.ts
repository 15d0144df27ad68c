import { isStoreError } from '../../model/error.ts';
import type { Store } from '../../model/store.ts';
import { currentRequest, runFor } from '../../observability/tracer.ts';
import { type Call, wrap } from './wrap.ts';

/** A completed call of a store member. */
export interface Observation {
  readonly member: Call;
  /** The path in the first argument, if any. */
  readonly path: string | undefined;
  /** `ok`, or the result of `outcomeOf`. */
  readonly outcome: string;
  readonly milliseconds: number;
}

/** Returns the store with `observer` called after every call, when its promise settles. */
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

/** Returns the kind of a `StoreError`, or `fault` for any other error. */
export const outcomeOf = (error: unknown): string => (isStoreError(error) ? error.kind : 'fault');

/** Returns the path of a call from its first argument, which is a path or an entry. */
function pathOf(about: unknown): string | undefined {
  const path = typeof about === 'object' && about !== null && 'path' in about ? about.path : about;
  return typeof path === 'string' ? path : undefined;
}

/**
 * Returns the store with each call traced as a span of the current request. Requests to the backend become children of
 * that span.
 */
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
