import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Quota } from '../model/store.ts';

/** A completed HTTP request. */
export interface CompletedRequest {
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
export interface CompletedStoreCall {
  readonly operation: string;
  readonly outcome: string;
  readonly seconds: number;
}

/** The space of a volume that the service uses, in bytes. */
export interface VolumeSpace {
  readonly name: string;
  readonly free: number;
  /** The free space below which the volume counts as almost full. */
  readonly minFree: number;
}

/** The values of gauges that are sampled when metrics are read. */
export interface GaugeSources {
  /** Returns the number of images in the render queue. */
  queuedThumbnails(): number;
  quota(): Quota | undefined;
  volumes(): Promise<readonly VolumeSpace[]>;
}

/** The source of a thumbnail; `failed` for a failure. */
type ThumbnailSource = 'memory' | 'cache' | 'render' | 'failed';

/** How an attempt to deliver a message to a webhook ended. */
type WebhookOutcome = 'delivered' | 'retried' | 'failed';

/** The metrics of one process. */
export interface Metrics {
  requestStarted(): void;
  requestCompleted(request: CompletedRequest): void;
  storeCallCompleted(call: CompletedStoreCall): void;
  /** Counts a retry of a request to the backend. */
  storeRetried(): void;
  setStoreUnreachable(isUnreachable: boolean): void;
  setDatabaseUnavailable(isUnavailable: boolean): void;
  setChangeSubscribers(count: number): void;
  webhookAttempted(outcome: WebhookOutcome): void;
  thumbnailServed(source: ThumbnailSource): void;
  commitCreated(changeCount: number): void;
  /** Sets the source of the sampled gauges. Until then, they are 0 or missing. */
  setGaugeSources(sources: GaugeSources): void;
  /** Returns all metrics in a serializable form, for another process. */
  read(): Promise<object[]>;
}

/** Histogram buckets in seconds: from cached responses to slow requests. The last ones are for uploads. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** Creates the metrics of a process. The label `worker` distinguishes the processes of a service. */
export function createMetrics(worker: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ worker });
  collectDefaultMetrics({ register: registry });
  const meter = createMeter(registry);
  return {
    ...createRequestMetrics(meter),
    ...createStoreMetrics(meter),
    ...createWorkerMetrics(meter),
    ...createDatabaseMetrics(meter),
    ...createWebhookMetrics(meter),
    ...createThumbnailMetrics(meter),
    setGaugeSources: createSampledGauges(meter),
    read: () => registry.getMetricsAsJSON(),
  };
}

type Meter = ReturnType<typeof createMeter>;

/** Returns functions that register metrics with the prefix `holdall_`. */
function createMeter(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter({ name: `holdall_${name}`, help, labelNames, registers }),
    histogram: <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Histogram({ name: `holdall_${name}`, help, labelNames, buckets: BUCKETS, registers }),
    gauge: <Label extends string = never>(
      name: string,
      help: string,
      collect?: (this: Gauge<Label>) => void | Promise<void>,
      labelNames: Label[] = [],
    ) => new Gauge({ name: `holdall_${name}`, help, labelNames, registers, ...(collect && { collect }) }),
  };
}

function createRequestMetrics({ counter, histogram, gauge }: Meter) {
  const requests = counter('http_requests_total', 'Completed HTTP requests.', ['method', 'route', 'status']);
  const durations = histogram(
    'http_request_duration_seconds',
    'Time from the headers of a request to the end of its response.',
    ['route'],
  );
  const received = counter('http_received_bytes_total', 'Request bytes received, including headers.', ['route']);
  const sent = counter('http_sent_bytes_total', 'Response bytes sent, including headers.', ['route']);
  const inFlight = gauge('http_requests_in_flight', 'HTTP requests in progress.');
  return {
    requestStarted: () => inFlight.inc(),
    requestCompleted(request: CompletedRequest) {
      const { method, route = 'none', status } = request;
      inFlight.dec();
      requests.inc({ method, route, status });
      durations.observe({ route }, request.seconds);
      received.inc({ route }, request.received);
      sent.inc({ route }, request.sent);
    },
  };
}

function createStoreMetrics({ counter, histogram, gauge }: Meter) {
  const calls = counter('store_calls_total', 'Store calls by operation and outcome.', ['operation', 'outcome']);
  const durations = histogram('store_call_duration_seconds', 'Duration of store calls.', ['operation']);
  const retries = counter('store_retries_total', 'Retried requests to the store.');
  const unreachable = gauge('store_unreachable', '1 while the circuit breaker is open, otherwise 0.');
  const commits = counter('commits_total', 'Commits created on the branch.');
  const changes = counter('committed_changes_total', 'Changes in these commits.');
  return {
    storeCallCompleted({ operation, outcome, seconds }: CompletedStoreCall) {
      calls.inc({ operation, outcome });
      durations.observe({ operation }, seconds);
    },
    storeRetried: () => retries.inc(),
    setStoreUnreachable: (isUnreachable: boolean) => unreachable.set(Number(isUnreachable)),
    commitCreated(changeCount: number) {
      commits.inc();
      changes.inc(changeCount);
    },
  };
}

/** The counter of `serveMetricsToWorkers`, so that it also exists without a primary process. */
function createWorkerMetrics({ counter }: Meter) {
  counter('worker_deaths_total', 'Workers that died and were replaced.');
  return {};
}

function createDatabaseMetrics({ gauge }: Meter) {
  const unavailable = gauge('database_unavailable', '1 while the database is unavailable, otherwise 0.');
  const subscribers = gauge('change_subscribers', 'Clients that follow the changes.');
  return {
    setDatabaseUnavailable: (isUnavailable: boolean) => unavailable.set(Number(isUnavailable)),
    setChangeSubscribers: (count: number) => subscribers.set(count),
  };
}

function createWebhookMetrics({ counter }: Meter) {
  const attempts = counter('webhook_attempts_total', 'Requests to webhooks by outcome.', ['outcome']);
  return { webhookAttempted: (outcome: WebhookOutcome) => attempts.inc({ outcome }) };
}

function createThumbnailMetrics({ counter }: Meter) {
  const thumbnails = counter('thumbnails_total', 'Thumbnails served by source, and failures.', ['from']);
  return { thumbnailServed: (from: ThumbnailSource) => thumbnails.inc({ from }) };
}

/** Registers the gauges that are sampled when metrics are read. Returns the function that sets their sources. */
function createSampledGauges({ gauge }: Meter): Metrics['setGaugeSources'] {
  let sources: GaugeSources | undefined;
  gauge('thumbnails_waiting', 'Images in the thumbnail queue.', function () {
    this.set(sources?.queuedThumbnails() ?? 0);
  });
  const quotaGauge = (name: string, help: string, value: (quota: Quota) => number) =>
    gauge(name, help, function () {
      const quota = sources?.quota();
      if (quota) this.set(value(quota));
      else this.remove();
    });
  quotaGauge('quota_limit', 'API requests that the repository host allows per hour.', ({ limit }) => limit);
  quotaGauge('quota_remaining', 'Remaining API requests, as last reported by the host.', ({ remaining }) => remaining);
  quotaGauge('quota_reset_seconds', 'Unix time at which the quota resets.', ({ reset }) => reset.getTime() / 1000);
  const volumeGauge = (name: string, help: string, value: (volume: VolumeSpace) => number) =>
    gauge(
      name,
      help,
      async function () {
        this.reset();
        for (const volume of (await sources?.volumes()) ?? []) this.set({ volume: volume.name }, value(volume));
      },
      ['volume'],
    );
  volumeGauge('free_bytes', 'Free space of a volume.', ({ free }) => free);
  volumeGauge('min_free_bytes', 'Free space below which the volume is almost full.', ({ minFree }) => minFree);
  return (newSources) => {
    sources = newSources;
  };
}

/** Formats the metrics of one or more processes for Prometheus. */
export async function formatMetrics(read: readonly (readonly object[])[]): Promise<{ type: string; text: string }> {
  const combined = Registry.aggregate([...read]);
  return { type: combined.contentType, text: await combined.metrics() };
}
