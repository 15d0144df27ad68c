import { availableParallelism, totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import { expireKept } from '../files/expiry.ts';
import { createFiles, type Files } from '../files/files.ts';
import type { CorsOrigins } from '../http/access/cors.ts';
import { buildApp } from '../http/app.ts';
import { BUILT_PAGE, readWebPage, type WebPage } from '../http/page/web-page.ts';
import type { Service } from '../http/service.ts';
import { SignedUrls } from '../http/signed-urls.ts';
import { createExpiryKind } from '../jobs/expiry.ts';
import { ExpiryClock } from '../jobs/expiry-clock.ts';
import type { JobKind } from '../jobs/job.ts';
import { createMediaDetails, type MediaDetails } from '../media/media.ts';
import { ROOT } from '../model/path.ts';
import type { Store } from '../model/store.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracer } from '../observability/tracer.ts';
import type { OpenedStore } from '../stores/backend.ts';
import { circuitBreaker } from '../stores/layers/circuit-breaker.ts';
import { minFreeSpace } from '../stores/layers/min-free-space.ts';
import { observe, trace } from '../stores/layers/observe.ts';
import { readOnly } from '../stores/layers/read-only.ts';
import { retry } from '../stores/layers/retry.ts';
import { timeout } from '../stores/layers/timeout.ts';
import { openStore } from '../stores/registry.ts';
import { findPrograms } from '../thumbnails/find-programs.ts';
import { MAX_CHILD_MEMORY_BYTES, MIN_CHILD_MEMORY_BYTES } from '../thumbnails/limits.ts';
import { type FoundPrograms, NO_PROGRAMS } from '../thumbnails/programs.ts';
import { createThumbnails, type Thumbnails } from '../thumbnails/thumbnails.ts';
import { openAccess } from './access.ts';
import { createAppTokens } from './app-tokens.ts';
import { logFormatOf, openAuditLog } from './audit-log.ts';
import { startChanges } from './changes.ts';
import { startDatabase } from './database.ts';
import { createDav } from './dav.ts';
import { startJobs } from './jobs.ts';
import { limitsOf, openSharedState } from './limits.ts';
import { createLinks } from './links.ts';
import { createStoreObserver, openMetrics, openTracer, type StoreObserver } from './observability.ts';
import { requirePrivatePaths } from './private-paths.ts';
import { createUploadExpiry, createUploads } from './uploads.ts';
import { Volumes } from './volumes.ts';
import { startWebhooks } from './webhooks.ts';

/** The running service of one process. */
export interface RunningService {
  /** The URL of the service. */
  readonly url: string;
  /** A description of the store for users. */
  readonly serves: string;
  /** Identifies what is served, for other processes of the service (`OpenedStore.place`). */
  readonly place: string | undefined;
  /** A short description of the access control. */
  readonly access: string;
  /** Reopens the log files, after they were moved (log rotation). */
  reopenLogs(): void;
  /**
   * Accepts no more connections and drains requests in progress. Resolves to `finished` when they have ended, or to
   * `interrupted` when the deadline has passed.
   */
  stop(): Promise<'finished' | 'interrupted'>;
}

/** Extra time after the drain timeout to close the store and the cache, because a disk might never respond. */
const CLOSE_TIMEOUT_MS = 3000;

/** Milliseconds after which the log says that the start waits for the store. */
const SLOW_STORE_MS = 2000;

/** Attempts of a store call while the store is unavailable: three within half a second. */
const STORE_RETRIES = { maxAttempts: 3, delayMs: 100 };

/** Timeouts of disk calls. A sleeping disk takes seconds; syncing gigabytes takes minutes. */
const STORE_TIMEOUTS = { callMs: 60_000, afterBodyMs: 10 * 60_000 };

const CIRCUIT_BREAKER = { maxFailures: 5, minOutageMs: 2000, probeIntervalMs: 1000 };

/** Descriptions of the access control for the log. */
const ACCESS_DESCRIPTIONS = {
  local: 'full access from this machine only',
  open: 'full access for everyone',
  file: 'permissions from ACCESS_FILE',
} as const satisfies Record<Service['access']['mode'], string>;

/**
 * Opens the store and listens. Throws an error with instructions if either fails. `place`: what the first process of the service
 * serves.
 */
export async function startService(config: Config, logger: Logger, place?: string): Promise<RunningService> {
  const page = await readWebPage(BUILT_PAGE);
  await using opening = new AsyncDisposableStack();
  const service = await openService(config, page, { logger, resources: opening, place });
  const app = await buildApp(service, logger);
  const url = await app.listen({ host: config.HOST, port: config.PORT });
  const resources = opening.move();

  return {
    url: url + config.BASE_PATH,
    serves: service.serves,
    place: service.place,
    access: ACCESS_DESCRIPTIONS[service.access.mode],
    reopenLogs: () => service.audit.reopen(),
    async stop() {
      const closed = Promise.all([app.close(), service.drainJobs()]).then(() => 'finished' as const);
      const outcome = await within(config.SHUTDOWN_TIMEOUT * 1000, closed);
      if (outcome === undefined) app.server.closeAllConnections();
      await within(CLOSE_TIMEOUT_MS, resources.disposeAsync());
      return outcome ?? 'interrupted';
    },
  };
}

/** The log of the process, and the stack that closes what was opened, in reverse order. */
interface Environment {
  readonly logger: Logger;
  readonly resources: AsyncDisposableStack;
  readonly place?: string | undefined;
}

/** Opens everything that the application needs. */
async function openService(
  config: Config,
  page: WebPage,
  environment: Environment,
): Promise<Service & Pick<RunningService, 'serves' | 'place'> & { drainJobs(): Promise<void> }> {
  const { logger, resources } = environment;
  await requirePrivatePaths(config);
  // Starts a process, so it runs while the store is opened.
  const programs = config.THUMBNAIL_PROGRAMS ? findPrograms() : NO_PROGRAMS;
  const metrics = await openMetrics(config);
  const tracer = await openTracer(config, logger);
  // Closed last, so that all earlier work still has its spans.
  resources.defer(() => tracer?.close());
  const observer = createStoreObserver(logger, { metrics, isTraced: tracer !== undefined });
  const opened = await openRespondingStore(config, observer, environment);
  const shared = await openSharedState(config, environment);
  const database = await startDatabase(config, opened.stateFolder, { ...environment, metrics });
  const appTokens = createAppTokens(database, environment);
  const store = layerStore(opened, config, { logger, metrics, observer });
  const links = createLinks(database, {
    key: await opened.signingKey(),
    publicUrl: config.PUBLIC_URL,
    basePath: config.BASE_PATH,
    shared,
    identify: store.identify?.bind(store),
    policy: () => access.policy(),
    logger,
  });
  const uploads = createUploads(database, store, {
    days: config.UPLOAD_EXPIRES,
    partBytes: config.UPLOAD_CHUNK_SIZE,
    isDirect: config.UPLOAD_DIRECT,
    presignExpires: config.PRESIGN_EXPIRES,
  });
  const access = await openAccess(config, opened, { ...shared, appTokens, links, uploads, database }, environment);
  const audit = resources.adopt(openAuditLog(config.AUDIT_LOG, logger, logFormatOf(config)), (log) => log.close());
  const signedUrls = await openSignedUrls(opened, config);
  const files = openFiles(store, config, { signedUrls, tracer });
  const thumbnails = openThumbnails(files, config, { opened, logger, metrics, programs: await programs });
  resources.defer(() => thumbnails.close());
  const media = openMediaDetails(files, config, { opened, logger });
  resources.defer(() => media.close());
  const changes = await startChanges(database, { config, store, metrics, links: links.table }, environment);
  const clock = new ExpiryClock(database);
  // Without the database, nothing expires, but what is deleted has the time of this machine.
  await clock.load().catch(() => {});
  const expiries = [
    expiryOf(store, config, { clock, logger }),
    createUploadExpiry({ uploads, store, days: config.UPLOAD_EXPIRES, clock, logger }),
  ];
  const dav = createDav(database, config, opened, logger);
  const jobs = startJobs(
    database,
    {
      files,
      changes,
      dav,
      access,
      audit,
      appTokens,
      store,
      scheduled: expiries,
      storeIdentity: (await opened.store.identify?.(ROOT)) ?? opened.name,
      readOnly: config.READ_ONLY,
    },
    environment,
  );
  const webhooks = startWebhooks(database, { config, access, changes, jobs, metrics }, environment);
  const volumes = new Volumes(opened, config);
  metrics?.setGaugeSources({
    queuedThumbnails: () => thumbnails.queueLength(),
    quota: () => files.quota(),
    volumes: () => volumes.read(),
  });
  return {
    files,
    thumbnails,
    media,
    signedUrls,
    page,
    contentOrigins: opened.contentOrigins,
    isInstallable: config.INSTALLABLE,
    readOnly: config.READ_ONLY,
    maxUploadSize: config.MAX_UPLOAD_SIZE,
    trash: store.moveToTrash && config.TRASH_DAYS > 0 ? { days: store.purgeTrashed ? config.TRASH_DAYS : null } : null,
    keepsVersions: config.VERSIONS_DAYS > 0 && store.listVersions !== undefined,
    access,
    audit,
    auditReads: config.AUDIT_READS,
    database,
    changes,
    jobs: jobs.queue,
    webhooks: webhooks.service,
    dav,
    uploads,
    links,
    appTokens,
    async drainJobs() {
      await Promise.all([jobs.drain(), webhooks.drain()]);
    },
    publicUrl: config.PUBLIC_URL,
    basePath: config.BASE_PATH,
    apiDocs: config.API_DOCS,
    security: securityContactOf(config),
    contentOrigin: config.CONTENT_ORIGIN,
    corsOrigins: corsOriginsOf(config),
    limits: limitsOf(config, shared),
    metrics,
    volumes,
    tracer,
    serves: opened.name,
    place: opened.place,
  };
}

/** Opens the store and checks it. Logs when that takes long, because a store without a response can take two minutes. */
async function openRespondingStore(
  config: Config,
  observer: StoreObserver,
  { logger, resources, place }: Environment,
): Promise<OpenedStore> {
  const timer = setTimeout(
    () => logger.warn({ storageType: config.STORAGE_TYPE }, 'Waiting for the store to respond'),
    SLOW_STORE_MS,
  );
  try {
    const opened = await openStore(config, observer, place);
    resources.defer(async () => opened.store.close?.());
    await opened.store.check?.();
    return opened;
  } finally {
    clearTimeout(timer);
  }
}

function corsOriginsOf({ CORS_ORIGINS: origins }: Config): CorsOrigins | undefined {
  if (origins === undefined) return undefined;
  return origins.includes('*') ? '*' : new Set(origins);
}

/** Wraps the store in the layers that every backend needs, from the innermost to the outermost. */
function layerStore(
  { store, retriesInternally }: OpenedStore,
  config: Config,
  { logger, metrics, observer }: { logger: Logger; metrics: Metrics | undefined; observer: StoreObserver },
): Store {
  const onRetry = () => metrics?.storeRetried();
  const responding = retriesInternally ? store : timeout(retry(store, { ...STORE_RETRIES, onRetry }), STORE_TIMEOUTS);
  const guarded = circuitBreaker(responding, {
    ...CIRCUIT_BREAKER,
    onOpen(error) {
      metrics?.setStoreUnreachable(true);
      logger.error({ err: error }, 'Store unreachable; circuit breaker open');
    },
    onClose(outageMs) {
      metrics?.setStoreUnreachable(false);
      logger.warn({ seconds: Math.round(outageMs / 1000) }, 'Store reachable again; circuit breaker closed');
    },
  });
  const allowed = config.READ_ONLY ? readOnly(guarded) : minFreeSpace(guarded, config.MIN_FREE_SPACE);
  return observe(allowed, observer.callCompleted);
}

/** Returns the signed URLs of the service: for stores whose large files it streams, and for `CONTENT_ORIGIN`. */
async function openSignedUrls(opened: OpenedStore, { CONTENT_ORIGIN }: Config): Promise<SignedUrls | undefined> {
  const isNeeded = opened.streamsLargeFiles || CONTENT_ORIGIN !== undefined;
  return isNeeded ? new SignedUrls(await opened.signingKey()) : undefined;
}

function openFiles(
  store: Store,
  { MAX_UPLOAD_SIZE, PRESIGN_EXPIRES, CONTENT_ORIGIN, BASE_PATH, TRASH_DAYS, VERSIONS_DAYS }: Config,
  { signedUrls, tracer }: { signedUrls: SignedUrls | undefined; tracer: Tracer | undefined },
): Files {
  return createFiles(tracer ? trace(store) : store, {
    maxUploadSize: MAX_UPLOAD_SIZE,
    retention: { trash: TRASH_DAYS > 0, versions: VERSIONS_DAYS > 0 },
    presignExpires: PRESIGN_EXPIRES,
    signer: signedUrls,
    contentUrl: CONTENT_ORIGIN === undefined ? undefined : CONTENT_ORIGIN + BASE_PATH,
  });
}

/** Returns the kind of job that removes expired items of the trash and expired versions. */
function expiryOf(
  store: Store,
  config: Config,
  { clock, logger }: { readonly clock: ExpiryClock; readonly logger: Logger },
): JobKind {
  const { TRASH_DAYS, TRASH_SIZE, VERSIONS_DAYS, VERSIONS_SIZE } = config;
  const limits = {
    trash: TRASH_DAYS > 0 ? { days: TRASH_DAYS, maxBytes: TRASH_SIZE } : undefined,
    versions: VERSIONS_DAYS > 0 ? { days: VERSIONS_DAYS, maxBytes: VERSIONS_SIZE } : undefined,
  };
  return createExpiryKind(async (options, now) => {
    const expired = await expireKept(store, limits, options, now.getTime());
    if (expired.trashed + expired.versions > 0) logger.info({ ...expired }, 'Trash and versions expired');
    return expired;
  }, clock);
}

function openThumbnails(
  files: Files,
  config: Config,
  {
    opened,
    logger,
    metrics,
    programs,
  }: { opened: OpenedStore; logger: Logger; metrics: Metrics | undefined; programs: FoundPrograms },
): Thumbnails {
  return createThumbnails({
    files,
    cacheFolder: config.CACHE_DIR ?? opened.cacheFolder,
    cacheSize: config.CACHE_SIZE,
    stills: programs.kinds,
    protection: programs.protection,
    ...renderLimitsOf(config),
    warn: (message, error) => logger.warn({ err: error }, message),
    onServed: (source) => metrics?.thumbnailServed(source),
  });
}

function openMediaDetails(
  files: Files,
  config: Config,
  { opened, logger }: { opened: OpenedStore; logger: Logger },
): MediaDetails {
  return createMediaDetails({
    files,
    cacheFolder: config.CACHE_DIR ?? opened.cacheFolder,
    cacheSize: opened.isLocal ? 0 : config.CACHE_SIZE,
    warn: (message, error) => logger.warn({ err: error }, message),
  });
}

/** Returns how many images this process renders in parallel, and the limits of the processes for large images. */
function renderLimitsOf({ WORKERS, THUMBNAIL_MEMORY }: Config) {
  const cores = Math.max(1, Math.floor(availableParallelism() / WORKERS));
  // The connections of one browser often go to few of the workers.
  const maxRenders = Math.min(availableParallelism(), Math.max(2, cores));
  const available = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  const memory = (THUMBNAIL_MEMORY ?? available / 2) / WORKERS;
  const maxChildProcesses = Math.min(cores, Math.max(1, Math.floor(memory / MAX_CHILD_MEMORY_BYTES)));
  const memoryLimit = Math.floor(Math.min(MAX_CHILD_MEMORY_BYTES, Math.max(MIN_CHILD_MEMORY_BYTES, memory)));
  return { maxRenders, maxChildProcesses, memoryLimit };
}

function securityContactOf({ SECURITY_CONTACT: contact, SECURITY_EXPIRES: expires }: Config): Service['security'] {
  return contact === undefined || expires === undefined ? undefined : { contact, expires };
}

/** Returns the result of the work, or undefined if it takes longer than the given milliseconds. */
async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result | undefined> {
  const deadline = new AbortController();
  const expired = delay(milliseconds, undefined, { signal: deadline.signal }).catch(() => undefined);
  try {
    return await Promise.race([work, expired]);
  } finally {
    deadline.abort();
  }
}
