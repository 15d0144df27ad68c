import cluster from 'node:cluster';
import { availableParallelism, totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import { createFiles } from '../files/files.ts';
import { buildApp } from '../http/app.ts';
import type { WindowCounters } from '../http/limits/counters.ts';
import type { Limits } from '../http/limits/limits.ts';
import { BUILT_PAGE, readWebPage, type WebPage } from '../http/page/web-page.ts';
import type { Service, ServiceMetrics } from '../http/service.ts';
import type { Store } from '../model/store.ts';
import { createUrlSigner } from '../model/url-signer.ts';
import { throttleLog } from '../observability/log-throttle.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { OpenedStore } from '../stores/backend.ts';
import { circuitBreaker } from '../stores/layers/circuit-breaker.ts';
import { observe, trace } from '../stores/layers/observe.ts';
import { readOnly } from '../stores/layers/read-only.ts';
import { retry } from '../stores/layers/retry.ts';
import { timeout } from '../stores/layers/timeout.ts';
import { openStore } from '../stores/registry.ts';
import { MAX_DRAWING_MEMORY, MIN_DRAWING_MEMORY } from '../thumbnails/limits.ts';
import { createThumbnails } from '../thumbnails/thumbnails.ts';
import { openAccess } from './access.ts';
import { openAuditLog } from './audit-log.ts';
import { createMetricsCollector } from './metrics-of-workers.ts';
import { requirePrivatePaths } from './private-paths.ts';
import type { RedisConnection } from './redis.ts';
import { createPrimaryCounters, type SharedLimit } from './shared-counters.ts';
import { createStoreLog, type ToldStore } from './store-log.ts';
import { openTracer } from './tracing.ts';

/** The running service of one process. */
export interface RunningService {
  /** The URL of the service. */
  readonly url: string;
  /** A description of the store for users. */
  readonly serves: string;
  /** A short description of the access control. */
  readonly access: string;
  /** Reopens the log files, after they were moved (log rotation). */
  reopenLogs(): void;
  /**
   * Accepts no more connections and drains requests in progress. Resolves to `finished` when they have ended, or to
   * `cut short` when the deadline has passed.
   */
  stop(): Promise<'finished' | 'cut short'>;
}

/** Milliseconds beyond the drain timeout to close the store and the cache, because a disk may never respond. */
const RELEASE_TIMEOUT = 3000;

/** Attempts of a store call while the store is unavailable: three within half a second. */
const RETRIES = { maxAttempts: 3, delayMs: 100 };

/** Timeouts in milliseconds for disk calls. A sleeping disk takes seconds; syncing gigabytes takes minutes. */
const TIMEOUTS = { callMs: 60_000, afterBodyMs: 10 * 60_000 };

const CIRCUIT_BREAKER = { maxFailures: 5, minOutageMs: 2000, probeIntervalMs: 1000 };

/** Descriptions of the access control for the log. */
const ACCESS = {
  local: 'this machine alone, everything',
  open: 'everybody, everything',
  file: 'as ACCESS_FILE says',
} as const satisfies Record<Service['access']['mode'], string>;

/** Opens the store and listens. Throws an error with instructions if either fails. */
export async function startService(config: Config, logger: Logger): Promise<RunningService> {
  const page = await readWebPage(BUILT_PAGE);
  await using opening = new AsyncDisposableStack();
  const service = await openEverything(config, page, { logger, resources: opening });
  const app = await buildApp(service, logger);
  const url = await app.listen({ host: config.HOST, port: config.PORT });
  const resources = opening.move();

  return {
    url,
    serves: service.serves,
    access: ACCESS[service.access.mode],
    reopenLogs: () => service.audit.reopen(),
    async stop() {
      const closed = app.close().then(() => 'finished' as const);
      const outcome = await within(config.SHUTDOWN_TIMEOUT * 1000, closed);
      if (outcome === undefined) app.server.closeAllConnections();
      await within(RELEASE_TIMEOUT, resources.disposeAsync());
      return outcome ?? 'cut short';
    },
  };
}

/** Opens everything that the application needs. `resources` closes it in reverse order. */
async function openEverything(
  config: Config,
  page: WebPage,
  { logger, resources }: { logger: Logger; resources: AsyncDisposableStack },
): Promise<Service & { readonly serves: string }> {
  await requirePrivatePaths(config);
  const metrics = config.METRICS_TOKEN && (await openMetrics(config.METRICS_TOKEN));
  const tracer = await openTracer(config, logger);
  // Closed last, so that all earlier work still has its spans.
  resources.defer(() => tracer?.close());
  const storeLog = createStoreLog(logger, { metrics, isTraced: tracer !== undefined });
  const opened = await openStore(config, storeLog);
  resources.defer(async () => opened.store.close?.());
  await opened.store.check?.();
  const redis = config.REDIS_URL === undefined ? undefined : await openRedis(config.REDIS_URL, logger);
  resources.defer(() => redis?.close());
  const counters = openCounters(logger);
  const access = await openAccess(
    config,
    opened,
    { redis: redis?.redis, counters: counters?.attempts },
    { logger, resources },
  );
  const audit = resources.adopt(openAuditLog(config.AUDIT_LOG, logger), (log) => log.close());
  const origin = config.CONTENT_ORIGIN;
  const signer = opened.signer ?? (origin === undefined ? undefined : createUrlSigner(await opened.signingKey()));
  const store = layer(opened, config, { logger, metrics, called: storeLog.called });
  const files = createFiles(tracer ? trace(store) : store, {
    maxUploadSize: config.MAX_UPLOAD_SIZE,
    presignExpires: config.PRESIGN_EXPIRES,
    contents: origin !== undefined && signer ? { origin, signer } : undefined,
  });
  const thumbnails = createThumbnails({
    files,
    cacheFolder: config.CACHE_DIR ?? opened.cacheFolder,
    cacheSize: config.CACHE_SIZE,
    ...drawingLimits(config),
    warn: (message, error) => logger.warn({ err: error }, message),
    given: (from) => metrics?.thumbnailGiven(from),
  });
  resources.defer(() => thumbnails.close());
  metrics?.observe({ thumbnailsWaiting: () => thumbnails.waiting(), quota: () => files.quota() });
  return {
    files,
    thumbnails,
    signer,
    page,
    contentOrigins: opened.contentOrigins,
    readOnly: config.READ_ONLY,
    maxUploadSize: config.MAX_UPLOAD_SIZE,
    access,
    audit,
    publicUrl: config.PUBLIC_URL,
    apiDocs: config.API_DOCS,
    security:
      config.SECURITY_CONTACT === undefined || config.SECURITY_EXPIRES === undefined
        ? undefined
        : { contact: config.SECURITY_CONTACT, expires: config.SECURITY_EXPIRES },
    contentOrigin: origin,
    limits: limitsOf(config, { redis: redis?.redis, counters: counters?.requests }),
    metrics,
    tracer,
    serves: opened.name,
  };
}

/** Returns counters that all workers share; undefined in a process without a primary. */
function openCounters(logger: Logger): Record<SharedLimit, WindowCounters> | undefined {
  if (!cluster.isWorker) return undefined;
  const warn = throttleLog((times) =>
    logger.warn(
      { times },
      'The primary process does not respond: this worker counts requests and sign-ins for itself.',
    ),
  );
  return { requests: createPrimaryCounters('requests', warn), attempts: createPrimaryCounters('attempts', warn) };
}

/**
 * Returns the number of images that each worker renders in parallel, and the memory for the processes that render
 * large images.
 */
function drawingLimits({ WORKERS, THUMBNAIL_MEMORY }: Config) {
  const renders = Math.max(1, Math.floor(availableParallelism() / WORKERS));
  const available = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  const memory = (THUMBNAIL_MEMORY ?? available / 2) / WORKERS;
  const drawings = Math.min(renders, Math.max(1, Math.floor(memory / MAX_DRAWING_MEMORY)));
  const memoryLimit = Math.floor(Math.min(MAX_DRAWING_MEMORY, Math.max(MIN_DRAWING_MEMORY, memory)));
  return { renders, drawings, memoryLimit };
}

async function openRedis(url: string, logger: Logger): Promise<RedisConnection> {
  const { connectRedis } = await import('./redis.ts');
  return connectRedis(url, logger);
}

/** Creates the metrics, which are readable with the token. */
async function openMetrics(token: Buffer): Promise<Metrics & ServiceMetrics> {
  const { createMetrics, formatMetrics } = await import('../observability/metrics.ts');
  const metrics = createMetrics(String(cluster.worker?.id ?? 1));
  const gather = createMetricsCollector(metrics.read);
  return { ...metrics, token, format: async () => formatMetrics(await gather()) };
}

function layer(
  { store, retriesInternally }: OpenedStore,
  config: Config,
  { logger, metrics, called }: { logger: Logger; metrics: Metrics | undefined; called: ToldStore['called'] },
): Store {
  const onRetry = () => metrics?.retried();
  const responding = retriesInternally ? store : timeout(retry(store, { ...RETRIES, onRetry }), TIMEOUTS);
  const guarded = circuitBreaker(responding, {
    ...CIRCUIT_BREAKER,
    onOpen(error) {
      metrics?.storeIsGone(true);
      logger.error({ err: error }, 'Store unreachable; circuit breaker open');
    },
    onClose(outageMs) {
      metrics?.storeIsGone(false);
      logger.warn({ seconds: Math.round(outageMs / 1000) }, 'Store reachable again; circuit breaker closed');
    },
  });
  return observe(config.READ_ONLY ? readOnly(guarded) : guarded, called);
}

/** Returns the result of the work, or undefined if it takes longer than the given milliseconds. */
async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | undefined> {
  const deadline = new AbortController();
  const late = delay(milliseconds, undefined, { signal: deadline.signal }).catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    deadline.abort();
  }
}

/** Default limit of requests per client and minute: a hundred per second, more than a user causes. */
const DEFAULT_RATE = 6000;

/** The share of a process's connections that one client may have. */
const CLIENT_SHARE = 1 / 4;

/** Seconds for a body that is not an upload. It has at most 64 KiB, so ten kilobits per second suffice. */
const BODY_TIMEOUT = 60;

/**
 * Returns the limits that the settings define. If only this machine has access, its requests are not counted by
 * default, and it may use all connections.
 */
export function limitsOf(
  config: Config,
  { redis, counters }: { redis: Redis | undefined; counters: WindowCounters | undefined },
): Limits {
  const isLocal = config.ACCESS === undefined && config.ACCESS_FILE === undefined;
  return {
    requestsPerMinute: config.RATE_LIMIT ?? (isLocal ? 0 : DEFAULT_RATE),
    redis,
    counters,
    connections: config.MAX_CONNECTIONS,
    connectionsPerClient: isLocal ? config.MAX_CONNECTIONS : Math.ceil(config.MAX_CONNECTIONS * CLIENT_SHARE),
    headersTimeout: config.HEADERS_TIMEOUT,
    idleTimeout: config.IDLE_TIMEOUT,
    bodyTimeout: BODY_TIMEOUT,
    eventLoopDelay: config.MAX_EVENT_LOOP_DELAY,
    trustProxy: config.TRUST_PROXY ?? false,
  };
}
