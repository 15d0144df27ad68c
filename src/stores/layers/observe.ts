import { isStoreError } from '../../model/error.ts';
import type { Entry, Store } from '../../model/store.ts';
import { currentRequest, runInRequest } from '../../observability/tracer.ts';
import { type Call, stepwise, wrap } from './wrap.ts';

/** A completed call of a store member. */
export interface Observation {
  readonly member: Call | 'walk';
  /** The path in the first argument, if any. */
  readonly path: string | undefined;
  /** `ok`, or the result of `outcomeOf`. */
  readonly outcome: string;
  readonly milliseconds: number;
}

/** Returns the store with `observer` called after every call, when its promise settles or its walk ends. */
export function observe(store: Store, observer: (observation: Observation) => void): Store {
  /** Returns a function that reports the end of a call that starts now. */
  const start = (member: Observation['member'], subject: unknown) => {
    const started = performance.now();
    const path = pathOf(subject);
    return (outcome: string) => observer({ member, path, outcome, milliseconds: performance.now() - started });
  };
  return wrap(store, {
    async call(member, run, [subject]) {
      const end = start(member, subject);
      try {
        const result = await run();
        end('ok');
        return result;
      } catch (error) {
        end(outcomeOf(error));
        throw error;
      }
    },
    walk: (run, folder) => withEnd(run(), start('walk', folder)),
  });
}

/** Yields the entries of a walk, and calls `end` once with its outcome. */
async function* withEnd(entries: AsyncIterable<Entry>, end: (outcome: string) => void): AsyncIterable<Entry> {
  let outcome = 'ok';
  try {
    yield* entries;
  } catch (error) {
    outcome = outcomeOf(error);
    throw error;
  } finally {
    end(outcome);
  }
}

/** Returns the kind of a `StoreError`, or `fault` for any other error. */
export const outcomeOf = (error: unknown): string => (isStoreError(error) ? error.kind : 'fault');

/** Returns the path of a call from its first argument, which is a path or an entry. */
function pathOf(subject: unknown): string | undefined {
  const path = typeof subject === 'object' && subject !== null && 'path' in subject ? subject.path : subject;
  return typeof path === 'string' ? path : undefined;
}

/**
 * Returns the store with each call traced as a span of the current request. Requests to the backend become children of
 * that span.
 */
export function trace(store: Store): Store {
  return wrap(store, {
    async call(member, run) {
      const request = currentRequest();
      const span = request?.span?.startStoreCall(member);
      if (!request || !span) return run();
      try {
        const result = await runInRequest({ ...request, span }, run);
        span.end('ok');
        return result;
      } catch (error) {
        span.end(outcomeOf(error));
        throw error;
      }
    },
    walk(run) {
      const request = currentRequest();
      const span = request?.span?.startStoreCall('walk');
      if (!request || !span) return run();
      const context = { ...request, span };
      const steps = stepwise(run(), (next) => runInRequest(context, next));
      return withEnd(steps, (outcome) => span.end(outcome));
    },
  });
}
