import cluster from 'node:cluster';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import type { ServiceMetrics } from '../http/service.ts';
import type { Metrics } from '../observability/metrics.ts';
import { currentRequest, type Tracer } from '../observability/tracer.ts';
import type { Observation } from '../stores/layers/observe.ts';
import type { StoreLog } from '../stores/network.ts';
import { version } from '../system.ts';
import { createMetricsCollector } from './worker-metrics.ts';

/** Creates the metrics if `METRICS_TOKEN` is set. Otherwise loads no metrics code. */
export async function openMetrics({ METRICS_TOKEN: token }: Config): Promise<(Metrics & ServiceMetrics) | undefined> {
  if (token === undefined) return undefined;
  const { createMetrics, formatMetrics } = await import('../observability/metrics.ts');
  const metrics = createMetrics(String(cluster.worker?.id ?? 1));
  const collect = createMetricsCollector(metrics.read);
  return { ...metrics, token, format: async () => formatMetrics(await collect()) };
}

/** Creates the tracer if the OpenTelemetry variables configure one. Otherwise loads no tracing code. */
export async function openTracer(config: Config, logger: Logger): Promise<Tracer | undefined> {
  const url = collectorUrl(config);
  if (url === undefined) return undefined;
  const { createTracer } = await import('../observability/open-telemetry.ts');
  const { 'service.name': name = 'holdall', ...attributes } = config.OTEL_RESOURCE_ATTRIBUTES ?? {};
  return createTracer({
    url,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    service: config.OTEL_SERVICE_NAME ?? name,
    version,
    attributes,
    sampler: { name: config.OTEL_TRACES_SAMPLER, ratio: config.OTEL_TRACES_SAMPLER_ARG },
    onExportFailed: (reason) => logger.warn({ url, reason }, 'Trace export failed; spans are dropped'),
    onExportRecovered: () => logger.info({ url }, 'Trace export recovered'),
  });
}

/**
 * Returns the URL of the collector:
 * https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp
 */
function collectorUrl(config: Config): string | undefined {
  if (config.OTEL_SDK_DISABLED || config.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url } = config;
  return url ?? (base === undefined ? undefined : `${base}/v1/traces`);
}

/** Receives the events of a store for logs, metrics and traces: its own, and those of its layers. */
export interface StoreObserver extends StoreLog {
  callCompleted(call: Observation): void;
}

/**
 * Creates the observer of the store. With `LOG_LEVEL=debug` or with tracing, lines contain the ID of their request, if it
 * is known.
 */
export function createStoreObserver(
  logger: Logger,
  { metrics, isTraced }: { metrics: Metrics | undefined; isTraced: boolean },
): StoreObserver {
  const isDebugLogged = logger.isLevelEnabled('debug');
  const withRequestId = (details: object) => {
    const request = currentRequest();
    return request ? { requestId: request.id, ...details } : details;
  };
  return {
    info: (message, details) => logger.info(withRequestId(details), message),
    warn: (message, details) => logger.warn(withRequestId(details), message),
    error: (message, details) => logger.error(withRequestId(details), message),
    onRetry: () => metrics?.storeRetried(),
    onCommit: (changes) => metrics?.commitCreated(changes),
    callCompleted(call) {
      if (isDebugLogged) logger.debug(withRequestId(call), 'store');
      const { member: operation, outcome, milliseconds } = call;
      metrics?.storeCallCompleted({ operation, outcome, seconds: milliseconds / 1000 });
    },
    ...((isDebugLogged || isTraced) && {
      onRequest(request) {
        if (isDebugLogged) logger.debug(withRequestId(request), 'backend');
        currentRequest()?.span?.addBackendRequest(request);
      },
    }),
  };
}
