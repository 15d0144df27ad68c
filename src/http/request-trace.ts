import { runFor } from '../tracing/current-request.ts';
import type { App } from './service.ts';

/** The levels of a log that has lines of calls of the store, which name the request that they are made for. */
const DETAILED: readonly string[] = ['debug', 'trace'];

/** Lets what is done for a request find it (`currentRequest`), where the log tells of that. */
export function traceRequests(app: App): void {
  if (!DETAILED.includes(app.log.level)) return;
  app.addHook('onRequest', ({ id }, _reply, done) => runFor({ id }, done));
}
