import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Span as TelemetrySpan,
  type Tracer as TelemetryTracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { BackendRequest, CallSpan, RequestSpan, Span, TracedRequest, Tracer } from './tracer.ts';

export interface TracerOptions {
  /** The URL of the OTLP endpoint for spans. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Resource attributes of every span. `attributes` override the defaults, except the service name. */
  readonly service: string;
  readonly version: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly sampler: SamplerOptions;
  /** `onExportFailed` is called once when export begins to fail, and `onExportRecovered` once when it succeeds again. */
  readonly onExportFailed: (reason: string) => void;
  readonly onExportRecovered: () => void;
}

/** Maximum characters of an attribute value. Anonymous clients can send long URLs, and 2,048 spans can be queued. */
const MAX_ATTRIBUTE_CHARACTERS = 2048;

/**
 * Creates a tracer that exports spans by OTLP over HTTP as protobuf, which every collector accepts. Exports batches of
 * up to 512 spans, every five seconds or when a batch is full. Queues 2,048 spans if export fails, and drops further
 * ones. These numbers are the defaults of the OpenTelemetry SDK.
 */
export function createTracer(options: TracerOptions): Tracer {
  const { url, headers, service, version, attributes } = options;
  const exporter = reportExportState(new OTLPTraceExporter({ url, headers }), options);
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
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARACTERS },
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('holdall', version);
  return {
    startRequest(request) {
      const { method, route } = request;
      const name = KNOWN_METHODS.has(method) ? method : 'HTTP';
      const span = tracer.startSpan(
        route === undefined ? name : `${name} ${route}`,
        { kind: SpanKind.SERVER, attributes: requestAttributes(request) },
        traceContextOf(request),
      );
      return span.isRecording() ? createRequestSpan(tracer, span) : undefined;
    },
    close: () => provider.shutdown().catch(() => {}),
  };
}

const propagator = new W3CTraceContextPropagator();

/** Returns the trace context of the request headers, or an empty context. */
const traceContextOf = ({ headers }: TracedRequest): Context =>
  propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);

/** Methods that appear in span names. Any other method becomes `HTTP`, because span names must have low cardinality. */
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

/**
 * Returns span attributes by https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server. Attributes with
 * an undefined value are omitted.
 */
function requestAttributes({ id, method, route, path, scheme, host, port, headers }: TracedRequest) {
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

/** The sampler, by https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. */
export interface SamplerOptions {
  readonly name: RootSampler | `parentbased_${RootSampler}`;
  /** The fraction of traces that `traceidratio` samples, from 0 to 1. */
  readonly ratio: number;
}

type RootSampler = 'always_on' | 'always_off' | 'traceidratio';

export function samplerOf({ name, ratio }: SamplerOptions): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: samplerOf({ name: 'always_on', ratio }) });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: samplerOf({ name: 'always_off', ratio }) });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: samplerOf({ name: 'traceidratio', ratio }) });
  }
}

export function createRequestSpan(tracer: TelemetryTracer, span: TelemetrySpan): RequestSpan {
  return {
    ...createSpan(tracer, span),
    end(status) {
      span.setAttribute('http.response.status_code', status);
      if (status >= 500) markFailed(span, String(status));
      span.end();
    },
  };
}

/** Outcomes that mark a span as failed. Other errors, such as `not-found`, are regular results of a call. */
const FAILED_OUTCOMES: readonly string[] = ['unavailable', 'fault'];

function createCallSpan(tracer: TelemetryTracer, span: TelemetrySpan): CallSpan {
  return {
    ...createSpan(tracer, span),
    end(outcome) {
      span.setAttribute('holdall.store.outcome', outcome);
      if (FAILED_OUTCOMES.includes(outcome)) markFailed(span, outcome);
      span.end();
    },
  };
}

/**
 * Creates the children of a span. An ended span gets no more children: a commit queue that a request has started can
 * run for hours on behalf of other requests.
 */
function createSpan(tracer: TelemetryTracer, span: TelemetrySpan): Span {
  const parentContext = trace.setSpan(ROOT_CONTEXT, span);
  return {
    startStoreCall(operation) {
      if (!span.isRecording()) return undefined;
      const attributes = { 'holdall.store.operation': operation };
      return createCallSpan(tracer, tracer.startSpan(`store ${operation}`, { attributes }, parentContext));
    },
    addBackendRequest(request) {
      if (!span.isRecording()) return;
      const { method, status, milliseconds } = request;
      const ended = performance.now();
      const options = {
        kind: SpanKind.CLIENT,
        attributes: backendRequestAttributes(request),
        startTime: ended - milliseconds,
      };
      const child = tracer.startSpan(method, options, parentContext);
      if (status === undefined || status >= 500) markFailed(child, String(status ?? 'no_response'));
      child.end(ended);
    },
  };
}

/**
 * Returns span attributes by https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client. Attributes with
 * an undefined value are omitted.
 */
function backendRequestAttributes({ method, url, status, backendId }: BackendRequest): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return {
    'http.request.method': method,
    'http.response.status_code': status,
    'url.full': url,
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
    'holdall.store.request_id': backendId,
  };
}

function markFailed(span: TelemetrySpan, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Called when export begins to fail, and when it succeeds again. */
export interface ExportListener {
  readonly onExportFailed: (reason: string) => void;
  readonly onExportRecovered: () => void;
}

/** Wraps an exporter to report the first of consecutive failures, and the recovery. The library reports neither. */
export function reportExportState(
  exporter: SpanExporter,
  { onExportFailed, onExportRecovered }: ExportListener,
): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error && !isFailing) onExportFailed(error.message);
        if (!error && isFailing) onExportRecovered();
        isFailing = error !== undefined;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
