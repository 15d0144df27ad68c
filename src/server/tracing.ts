import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import type { Tracer } from '../observability/tracer.ts';
import { version } from '../system.ts';

/** Creates the tracer if the OpenTelemetry variables configure one. Otherwise loads no tracing code. */
export async function openTracer(config: Config, logger: Logger): Promise<Tracer | undefined> {
  const url = collectorOf(config);
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
    onFailing: (reason) => logger.warn({ url, reason }, 'Traces are not taken: until they are, they are lost.'),
    onTaken: () => logger.info({ url }, 'Traces are taken.'),
  });
}

/**
 * Returns the URL of the collector:
 * https://opentelemetry.io/docs/specs/otel/protocol/exporter/#endpoint-urls-for-otlphttp
 */
function collectorOf(config: Config): string | undefined {
  if (config.OTEL_SDK_DISABLED || config.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url } = config;
  return url ?? (base === undefined ? undefined : `${base}/v1/traces`);
}
