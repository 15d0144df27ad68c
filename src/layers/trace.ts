import type { Store } from '../domain/store.ts';
import { currentRequest, runFor } from '../tracing/current-request.ts';
import { wrap } from './members.ts';
import { outcomeOf } from './observe.ts';

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
