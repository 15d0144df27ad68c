import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Quota } from '../model/store.ts';

/** A completed HTTP request. */
export interface AnsweredRequest {
  readonly method: string;
  /** The route pattern with parameter names, which limits label values; undefined if no route matched. */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
  /** Bytes, including headers. */
  readonly received: number;
  readonly sent: number;
}

/** A completed call of the store. */
export interface EndedCall {
  readonly operation: string;
  readonly outcome: string;
  readonly seconds: number;
}

/** Values that are queried when metrics are read. */
export interface Levels {
  /** Returns the number of queued renders. */
  thumbnailsWaiting(): number;
  quota(): Quota | undefined;
}

/** The metrics of one process. */
export interface Metrics {
  requestBegan(): void;
  requestEnded(request: AnsweredRequest): void;
  storeCalled(call: EndedCall): void;
  /** Counts a retry of a request to the backend. */
  retried(): void;
  storeIsGone(isGone: boolean): void;
  /** Counts a thumbnail by its source; `failed` counts a failure. */
  thumbnailGiven(from: 'memory' | 'cache' | 'render' | 'failed'): void;
  /** Counts a commit that contains `changes` changes. */
  committed(changes: number): void;
  /** Sets the source of the queried values. Until then, they are 0 or missing. */
  observe(levels: Levels): void;
  /** Returns all metrics in a serializable form, for another process. */
  read(): Promise<object[]>;
}

/** Histogram buckets in seconds: from reads of memory to slow requests. The last ones are for uploads. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** Creates the metrics of a process. The label `worker` distinguishes the processes of a service. */
export function createMetrics(worker: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ worker });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name: `holdall_${name}`, help, labelNames, registers });
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Histogram({ name: `holdall_${name}`, help, labelNames, buckets: BUCKETS, registers });
  const gauge = (name: string, help: string, collect?: (this: Gauge) => void) =>
    new Gauge({ name: `holdall_${name}`, help, registers, ...(collect && { collect }) });

  const requests = counter('http_requests_total', 'Requests answered.', ['method', 'route', 'status']);
  const durations = histogram('http_request_duration_seconds', 'From the head of a request to the end of its answer.', [
    'route',
  ]);
  const received = counter('http_received_bytes_total', 'Bytes of requests, heads included.', ['route']);
  const sent = counter('http_sent_bytes_total', 'Bytes of answers, heads included.', ['route']);
  const inFlight = gauge('http_requests_in_flight', 'Requests that are not answered yet.');
  const calls = counter('store_calls_total', 'Calls of the store, by how they ended.', ['operation', 'outcome']);
  const callDurations = histogram('store_call_duration_seconds', 'How long calls of the store took.', ['operation']);
  const retries = counter('store_retries_total', 'Requests to the store that were sent again.');
  const gone = gauge('store_out_of_reach', 'Whether the store is taken for gone: 1, else 0.');
  const thumbnails = counter('thumbnails_total', 'Thumbnails given, by where they came from.', ['from']);
  const commits = counter('commits_total', 'Commits made on the branch.');
  const changes = counter('committed_changes_total', 'Changes that went into those commits.');
  let levels: Levels | undefined;
  gauge('thumbnails_waiting', 'Images that wait to be drawn.', function () {
    this.set(levels?.thumbnailsWaiting() ?? 0);
  });
  const quotaGauge = (name: string, help: string, value: (quota: Quota) => number) =>
    gauge(name, help, function () {
      const quota = levels?.quota();
      if (quota) this.set(value(quota));
      else this.remove();
    });
  quotaGauge('quota_limit', 'Requests that the host of the repository allows in an hour.', ({ limit }) => limit);
  quotaGauge('quota_remaining', 'How many of them are left, as it told last.', ({ remaining }) => remaining);
  quotaGauge(
    'quota_reset_seconds',
    'When all are again, in seconds since 1970.',
    ({ reset }) => reset.getTime() / 1000,
  );

  return {
    requestBegan: () => inFlight.inc(),
    requestEnded({ method, route = 'none', status, seconds, received: bytesIn, sent: bytesOut }) {
      inFlight.dec();
      requests.inc({ method, route, status });
      durations.observe({ route }, seconds);
      received.inc({ route }, bytesIn);
      sent.inc({ route }, bytesOut);
    },
    storeCalled({ operation, outcome, seconds }) {
      calls.inc({ operation, outcome });
      callDurations.observe({ operation }, seconds);
    },
    retried: () => retries.inc(),
    storeIsGone: (isGone) => gone.set(Number(isGone)),
    thumbnailGiven: (from) => thumbnails.inc({ from }),
    committed(made) {
      commits.inc();
      changes.inc(made);
    },
    observe(given) {
      levels = given;
    },
    read: () => registry.getMetricsAsJSON(),
  };
}

/** Formats the metrics of one or more processes for Prometheus. */
export async function formatMetrics(read: readonly (readonly object[])[]): Promise<{ type: string; text: string }> {
  const together = Registry.aggregate([...read]);
  return { type: together.contentType, text: await together.metrics() };
}
