import type { Logger } from 'pino';
import type { Metrics } from '../observability/metrics.ts';
import { currentRequest } from '../observability/tracer.ts';
import type { Observation } from '../stores/layers/observe.ts';
import type { StoreLog } from '../stores/network.ts';

/** The events of a store that are logged: its own, and those of its layers. */
export interface ToldStore extends StoreLog {
  called(call: Observation): void;
}

/**
 * Creates the log and the metrics of a store. With `LOG_LEVEL=debug` or with tracing, lines contain the ID of their
 * request, if it is known.
 */
export function createStoreLog(
  logger: Logger,
  { metrics, isTraced }: { metrics: Metrics | undefined; isTraced: boolean },
): ToldStore {
  const isDebugged = logger.isLevelEnabled('debug');
  const about = (details: object) => {
    const request = currentRequest();
    return request ? { requestId: request.id, ...details } : details;
  };
  return {
    info: (message, details) => logger.info(about(details), message),
    warn: (message, details) => logger.warn(about(details), message),
    error: (message, details) => logger.error(about(details), message),
    retried: () => metrics?.retried(),
    committed: (changes) => metrics?.committed(changes),
    called(call) {
      if (isDebugged) logger.debug(about(call), 'store');
      metrics?.storeCalled({ operation: call.member, outcome: call.outcome, seconds: call.milliseconds / 1000 });
    },
    ...((isDebugged || isTraced) && {
      asked(request) {
        if (isDebugged) logger.debug(about(request), 'backend');
        currentRequest()?.span?.addBackendRequest(request);
      },
    }),
  };
}
