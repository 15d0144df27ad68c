import {
  type Attributes,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Span as TelemetrySpan,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { BackendRequest } from '../domain/backend-request.ts';
import type { CallSpan, RequestSpan, Span } from './tracer.ts';

export function createRequestSpan(tracer: Tracer, span: TelemetrySpan): RequestSpan {
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

function createCallSpan(tracer: Tracer, span: TelemetrySpan): CallSpan {
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
function createSpan(tracer: Tracer, span: TelemetrySpan): Span {
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
      const options = { kind: SpanKind.CLIENT, attributes: attributesOf(request), startTime: ended - milliseconds };
      const child = tracer.startSpan(method, options, within);
      if (status === undefined || status >= 500) fail(child, String(status ?? 'no_answer'));
      child.end(ended);
    },
  };
}

/** By the names of https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client; undefined ones are left out. */
function attributesOf({ method, url, status, backendId }: BackendRequest): Attributes {
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
