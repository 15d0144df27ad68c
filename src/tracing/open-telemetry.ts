import { type Context, defaultTextMapGetter, ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { reportFailing } from './report-failing.ts';
import { type SamplerOptions, samplerOf } from './sampler.ts';
import { createRequestSpan } from './spans.ts';
import type { TracedRequest, Tracer } from './tracer.ts';

export interface TracerOptions {
  /** Where spans are sent, and with which headers. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What is said of the service with every span; `attributes` come before what is known without them. */
  readonly service: string;
  readonly version: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly sampler: SamplerOptions;
  /** Told when spans can't be sent, and when they can again, once each. */
  readonly onFailing: (reason: string) => void;
  readonly onTaken: () => void;
}

/** Characters of a value: what a stranger asks for is as long as they like, and two thousand spans may wait. */
const LONGEST_VALUE = 2048;

/**
 * Sends spans by OTLP over HTTP, as protobuf, which every collector takes: up to 512 together, every five seconds or when
 * there are so many. While they are not taken, 2,048 wait, and further ones are dropped: those are the library's numbers.
 */
export function createTracer(options: TracerOptions): Tracer {
  const { url, headers, service, version, attributes } = options;
  const exporter = reportFailing(new OTLPTraceExporter({ url, headers }), options);
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': version,
        'service.instance.id': crypto.randomUUID(),
        'process.pid': process.pid,
        ...attributes,
        'service.name': service,
      }),
    ),
    sampler: samplerOf(options.sampler),
    spanLimits: { attributeValueLengthLimit: LONGEST_VALUE },
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('holdall', version);
  return {
    begin(request) {
      const { method, route } = request;
      const name = KNOWN_METHODS.has(method) ? method : 'HTTP';
      const span = tracer.startSpan(
        route === undefined ? name : `${name} ${route}`,
        { kind: SpanKind.SERVER, attributes: attributesOf(request) },
        contextOf(request),
      );
      return span.isRecording() ? createRequestSpan(tracer, span) : undefined;
    },
    close: () => provider.shutdown().catch(() => {}),
  };
}

const propagator = new W3CTraceContextPropagator();

/** The trace that the request says it is a part of, if it does. */
const contextOf = ({ headers }: TracedRequest): Context =>
  propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);

/** The names of others are numberless, and a span is to have one of few. */
const KNOWN_METHODS = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
  'QUERY',
]);

/** By the names of https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server; undefined ones are left out. */
function attributesOf({ id, method, route, path, scheme, host, port, headers }: TracedRequest) {
  const isKnown = KNOWN_METHODS.has(method);
  return {
    'http.request.method': isKnown ? method : '_OTHER',
    'http.request.method_original': isKnown ? undefined : method,
    'http.route': route,
    'url.path': path,
    'url.scheme': scheme,
    'server.address': host,
    'server.port': port,
    'user_agent.original': headers['user-agent']?.toString(),
    'holdall.request_id': id,
  };
}
