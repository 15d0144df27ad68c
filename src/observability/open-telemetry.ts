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

/** Which requests are traced: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
export interface SamplerOptions {
  readonly name: Root | `parentbased_${Root}`;
  /** The part that `traceidratio` takes, from 0 to 1. */
  readonly ratio: number;
}

type Root = 'always_on' | 'always_off' | 'traceidratio';

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
      if (status >= 500) fail(span, String(status));
      span.end();
    },
  };
}

/** What a store answers is no failure of the call, unless it is one of the store. */
const FAILURES: readonly string[] = ['unavailable', 'fault'];

function createCallSpan(tracer: TelemetryTracer, span: TelemetrySpan): CallSpan {
  return {
    ...createSpan(tracer, span),
    end(outcome) {
      span.setAttribute('holdall.store.outcome', outcome);
      if (FAILURES.includes(outcome)) fail(span, outcome);
      span.end();
    },
  };
}

/**
 * What is done within a span. One that has ended takes nothing: what a request began and others go on with, as commits of
 * a queue that never gets empty, would go on in its trace for hours.
 */
function createSpan(tracer: TelemetryTracer, span: TelemetrySpan): Span {
  const within = trace.setSpan(ROOT_CONTEXT, span);
  return {
    callStore(operation) {
      if (!span.isRecording()) return undefined;
      const attributes = { 'holdall.store.operation': operation };
      return createCallSpan(tracer, tracer.startSpan(`store ${operation}`, { attributes }, within));
    },
    addBackendRequest(request) {
      if (!span.isRecording()) return;
      const { method, status, milliseconds } = request;
      const ended = performance.now();
      const options = { kind: SpanKind.CLIENT, attributes: callAttributes(request), startTime: ended - milliseconds };
      const child = tracer.startSpan(method, options, within);
      if (status === undefined || status >= 500) fail(child, String(status ?? 'no_answer'));
      child.end(ended);
    },
  };
}

/** By the names of https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client; undefined ones are left out. */
function callAttributes({ method, url, status, backendId }: BackendRequest): Attributes {
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

function fail(span: TelemetrySpan, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Told when spans can't be sent, and when they can again. */
export interface FailingReport {
  readonly onFailing: (reason: string) => void;
  readonly onTaken: () => void;
}

/** The same exporter, which tells of the first failure of many, and of their end: the library keeps them to itself. */
export function reportFailing(exporter: SpanExporter, { onFailing, onTaken }: FailingReport): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error && !isFailing) onFailing(error.message);
        if (!error && isFailing) onTaken();
        isFailing = error !== undefined;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
