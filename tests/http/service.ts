import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach } from 'node:test';
import { sql } from 'kysely';
import { pino } from 'pino';
import { noAudit } from '../../src/access/audit.ts';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import type { AppTokenLookup } from '../../src/app-tokens/app-token-lookup.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { createFiles, type FilesOptions } from '../../src/files/files.ts';
import type { AccessControl } from '../../src/http/access/authentication.ts';
import { buildApp } from '../../src/http/app.ts';
import type { App } from '../../src/http/fastify-app.ts';
import type { Limits } from '../../src/http/limits/limits.ts';
import { BUILT_PAGE, readWebPage } from '../../src/http/page/web-page.ts';
import type { LinkService, Service } from '../../src/http/service.ts';
import { SignedUrls } from '../../src/http/signed-urls.ts';
import type { JobKind } from '../../src/jobs/job.ts';
import { createMediaDetails } from '../../src/media/media.ts';
import { parseFolder, ROOT } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { MIN_KEY_BYTES } from '../../src/model/url-signer.ts';
import { createAppTokens } from '../../src/server/app-tokens.ts';
import { startChanges } from '../../src/server/changes.ts';
import { createDav, type DavSettings } from '../../src/server/dav.ts';
import { startJobs } from '../../src/server/jobs.ts';
import { createLinks } from '../../src/server/links.ts';
import { createUploads } from '../../src/server/uploads.ts';
import { startWebhooks } from '../../src/server/webhooks.ts';
import { createThumbnails } from '../../src/thumbnails/thumbnails.ts';
import { createSqlite } from '../../testing/migrated-database.ts';
import { lastLines, printerAtFailure } from '../../testing/print-at-failure.ts';
import { type Backend, bare, disk, memory } from '../contract/backend.ts';
import { keepConnections } from './client.ts';

/** A service on a new, empty store, with its own port. */
export interface TestService {
  readonly port: number;
  /** The served store, for direct access. */
  readonly store: Store;
  /** Whether the service has signed URLs of its own. */
  readonly signsUrls: boolean;
  /** Whether large files have download URLs, presigned by the store or signed by the service. */
  readonly hasDownloadUrls: boolean;
  /** The log lines so far. */
  readonly log: readonly Record<string, unknown>[];
  /** The change log; undefined without a database. */
  readonly changes: Service['changes'];
  /** The share links; undefined without a database. */
  readonly links: Service['links'];
  readonly access: AccessControl;
  /** The app tokens; undefined without a database. */
  readonly appTokens: Service['appTokens'];
  /** Removes everything in the store, its trash and its versions, and clears the log. */
  empty(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServiceOptions
  extends Partial<
    FilesOptions &
      Pick<
        Service,
        | 'contentOrigins'
        | 'isInstallable'
        | 'readOnly'
        | 'trash'
        | 'keepsVersions'
        | 'audit'
        | 'auditReads'
        | 'publicUrl'
        | 'basePath'
        | 'contentOrigin'
        | 'corsOrigins'
        | 'metrics'
        | 'apiDocs'
        | 'security'
      >
  > {
  /** The limits that differ from those of a service without settings. */
  readonly limits?: Partial<Limits>;
  /** The port, if other servers must know it before the start. Default: a free one. */
  readonly port?: number;
  /**
   * Whether requests without an agent use kept connections. Default: if the service has the default limits, because a short
   * timeout could end a kept connection while a request is on its way.
   */
  readonly keepsConnections?: boolean;
  /** Whether it has a database, jobs and a change log. */
  readonly hasJobs?: boolean;
  /** Whether clients may send the parts of uploads to the store itself. */
  readonly isDirect?: boolean;
  readonly davSettings?: DavSettings;
  /** Whether the change log also has changes by other programs. */
  readonly watchesChanges?: boolean;
  /** Private networks that webhooks may reach. */
  readonly webhookNetworks?: readonly string[];
  /** The kinds of jobs that the service itself starts. */
  readonly scheduled?: readonly JobKind[];
  /** Wraps the store of the service, to inject faults or to observe calls. */
  readonly wrap?: (store: Store) => Store;
  /** Default: that of a service without settings. */
  readonly access?: AccessControl | ((appTokens: AppTokenLookup | undefined) => AccessControl);
  /** Adds routes to those of the service. */
  readonly addRoutes?: (app: App) => void;
}

/** The access control without settings: only this machine has access. */
const LOCAL: AccessControl = { mode: 'local', policy: () => OPEN_POLICY, authenticators: undefined };

const DAV: DavSettings = { DAV: true, DAV_CLUTTER: 'store', DAV_REDIRECTS: false };

const LIMITS: Limits = {
  requestsPerMinute: 0,
  redis: undefined,
  counters: undefined,
  connections: 10_000,
  connectionsPerClient: 10_000,
  headersTimeout: 20,
  // Longer than a service waits in the pool: the next test would send its request on a connection that is being closed.
  idleTimeout: 3600,
  bodyTimeout: 60,
  // A test can block the only process of a busy machine.
  eventLoopDelay: 0,
  trustProxy: false,
};

export async function startService(
  backend: Backend,
  {
    wrap,
    contentOrigins = [],
    isInstallable = true,
    readOnly = false,
    trash = { days: 30 },
    keepsVersions = true,
    access: accessOption = LOCAL,
    audit = noAudit,
    auditReads = false,
    publicUrl,
    basePath = '',
    contentOrigin,
    corsOrigins,
    metrics,
    apiDocs = true,
    security,
    limits,
    keepsConnections = limits === undefined,
    hasJobs = false,
    isDirect = true,
    davSettings = DAV,
    watchesChanges = false,
    webhookNetworks,
    scheduled = [],
    port = 0,
    addRoutes = () => {},
    ...options
  }: ServiceOptions = {},
): Promise<TestService> {
  // The test runner keeps the hooks that stop a service, and all that they refer to, until the process ends. A stopped service
  // lets its application go, because only these resources refer to it.
  const resources = new AsyncDisposableStack();
  const page = await readWebPage(BUILT_PAGE);
  const { store: opened, streamsLargeFiles, close } = await backend.open();
  const isVisited = visitedBackends.has(backend);
  const hasSignedUrls = streamsLargeFiles || contentOrigin !== undefined;
  const signedUrls = hasSignedUrls ? new SignedUrls(randomBytes(MIN_KEY_BYTES)) : undefined;
  const store = wrap ? wrap(opened) : opened;
  const cacheFolder = await mkdtemp(join(tmpdir(), 'holdall-test-cache-'));
  resources.adopt(cacheFolder, (folder) => rm(folder, { recursive: true, force: true }));
  resources.defer(close);
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: 'debug', base: null }, { write: (line: string) => void log.push(JSON.parse(line)) });
  resources.defer(logPrinter(log));
  const contentUrl = contentOrigin === undefined ? undefined : contentOrigin + basePath;
  const retention = { trash: true, versions: true };
  const files = createFiles(store, { presignExpires: 60, signer: signedUrls, contentUrl, retention, ...options });
  const media = createMediaDetails({ files, cacheFolder, cacheSize: 1024 * 1024 });
  resources.adopt(media, (each) => each.close());
  const thumbnails = createThumbnails({ files, cacheFolder, cacheSize: 1024 * 1024, maxRenders: 2 });
  resources.adopt(thumbnails, (each) => each.close());
  const { maxUploadSize } = options;
  const database = hasJobs || isVisited ? await startTestDatabase(cacheFolder, resources) : undefined;
  const appTokens = database && createAppTokens(database, { logger, resources });
  const access = typeof accessOption === 'function' ? accessOption(appTokens?.lookup) : accessOption;
  const links =
    database &&
    createLinks(database, {
      key: randomBytes(MIN_KEY_BYTES),
      publicUrl,
      basePath,
      shared: { redis: undefined, counters: undefined },
      identify: store.identify?.bind(store),
      policy: () => access.policy(),
      logger,
    });
  const changes =
    database &&
    links &&
    (await startChanges(
      database,
      { config: { CHANGES_DAYS: 30, WATCH_CHANGES: watchesChanges }, store, metrics: undefined, links: links.table },
      { logger, resources },
    ));
  const dav = database && createDav(database, davSettings, { store }, logger);
  const jobs =
    appTokens &&
    startJobs(
      database,
      {
        files,
        changes,
        dav,
        access,
        audit,
        appTokens,
        scheduled,
        store,
        storeIdentity: 'test',
        readOnly,
      },
      { logger, resources },
    );
  const webhooks =
    database &&
    changes &&
    jobs &&
    startWebhooks(
      database,
      { config: { WEBHOOK_NETWORKS: webhookNetworks }, access, changes, jobs, metrics: undefined },
      { logger, resources },
    );
  const uploads =
    database && createUploads(database, store, { days: 7, partBytes: 2 ** 26, isDirect, presignExpires: 60 });
  const app = await buildApp(
    {
      files,
      thumbnails,
      media,
      signedUrls,
      page,
      contentOrigins,
      isInstallable,
      readOnly,
      trash,
      keepsVersions,
      maxUploadSize,
      access,
      audit,
      auditReads,
      database,
      changes,
      jobs: jobs?.queue,
      webhooks: webhooks?.service,
      dav,
      links,
      appTokens,
      uploads,
      publicUrl,
      basePath,
      contentOrigin,
      corsOrigins,
      metrics,
      apiDocs,
      security,
      limits: { ...LIMITS, ...limits },
    },
    logger,
  );
  resources.adopt(app, (each) => each.close());
  addRoutes(app);
  await app.listen({ host: '127.0.0.1', port });
  if (links && isVisited) {
    await store.createFolder(SHARED_FOLDER);
    const prefix = `${basePath}/-/s/${await createTestLink(links)}`;
    // Registered before the listener of the application.
    app.server.prependListener('request', (request) => {
      // A redirect already leads to the URL of the link.
      if (!request.url?.startsWith(`${prefix}/`)) request.url = `${prefix}${request.url}`;
    });
  }
  const { port: boundPort } = app.server.address() as AddressInfo;
  if (keepsConnections) resources.defer(keepConnections(boundPort));
  return {
    port: boundPort,
    store,
    signsUrls: hasSignedUrls,
    hasDownloadUrls: hasSignedUrls || store.presign !== undefined,
    log,
    changes,
    links,
    access,
    appTokens,
    async empty() {
      await emptyStore(opened);
      log.length = 0;
    },
    stop: () => resources.disposeAsync(),
  };
}

/** The folder that the link of `visited` shares. */
const SHARED_FOLDER = parseFolder('hidden/shared');

/** The requests that a share link does not permit. */
const VISITORS_LACK: Backend['lacks'] = {
  replacements: 'visitors of a share link replace nothing: a taken name gets a number',
  management: 'a share link gives no permission to rename, move or delete',
  'listings-without-rights': 'listings by a share link always have the permissions',
};

const visitedBackends = new WeakSet<Backend>();

/**
 * Returns the backend for services whose requests all come from a visitor of a share link with all permissions. The link
 * shares a folder of the store.
 */
export function visited(backend: Backend): Backend {
  const lacks = { ...backend.lacks, ...VISITORS_LACK };
  const result = { ...backend, lacks, name: `${backend.name}, by a share link` };
  visitedBackends.add(result);
  return result;
}

async function createTestLink({ table }: LinkService): Promise<string> {
  const settings = {
    permissions: ['read', 'write'],
    label: undefined,
    expiresAt: undefined,
    passwordHash: undefined,
    maxDownloads: undefined,
    maxUploads: undefined,
    maxUploadBytes: undefined,
    asksSender: false,
  } as const;
  const { token } = await table.create(SHARED_FOLDER, settings, undefined, { since: await table.follow() });
  return token;
}

async function startTestDatabase(folder: string, resources: AsyncDisposableStack): Promise<Database> {
  const database = new Database(await openEngine(await createSqlite(folder)));
  resources.defer(() => database.close());
  await database.start();
  // These tests lose no power, and waiting for the disk takes longer than most of them.
  await database.run((db) => sql`PRAGMA synchronous = OFF`.execute(db));
  return database;
}

/**
 * Returns a service for all tests of the current `describe`, on an empty store. Without a database and without functions in
 * its options, it is one that earlier tests used. `prepare` runs before the first test.
 */
export function served(
  backend: Backend,
  options: ServiceOptions = {},
  prepare: (service: TestService) => Promise<unknown> = async () => {},
): TestService {
  let service: TestService | undefined;
  before(async () => {
    service = await acquire(backend, options);
    await prepare(service);
  });
  after(() => service && release(service));
  return new Proxy({} as TestService, {
    get: (_, member) => Reflect.get(service ?? assert.fail('The service is not started.'), member),
  });
}

/** Like `served`, and empties the store before each test. */
export function servedEmpty(backend: Backend, options: ServiceOptions = {}): TestService {
  const service = served(backend, options);
  beforeEach(() => service.empty());
  return service;
}

/** The services that no test uses at the moment, by their backend and options. */
const idle = new Map<string, TestService[]>();

/** How to make a service available again. */
const returns = new WeakMap<TestService, () => void>();

/** Prints the end of a log if a test has failed since this call. */
const logPrinter = (log: readonly object[]) =>
  printerAtFailure('The end of the log of the service', () => lastLines(log));

async function acquire(backend: Backend, options: ServiceOptions): Promise<TestService> {
  const key = keyOf(backend, options);
  if (key === undefined) return startService(backend, options);
  const free = idle.get(key) ?? [];
  idle.set(key, free);
  const service = free.pop() ?? (await startService(backend, options));
  const print = logPrinter(service.log);
  await service.empty();
  returns.set(service, () => {
    print();
    free.push(service);
  });
  return service;
}

function release(service: TestService): void | Promise<void> {
  const giveBack = returns.get(service);
  return giveBack ? giveBack() : service.stop();
}

/** Returns a name for services that are the same; undefined for a service that others must not use. */
function keyOf(backend: Backend, options: ServiceOptions): string | undefined {
  if (!REUSED.includes(backend) || options.hasJobs) return undefined;
  let hasFunctions = false;
  const text = JSON.stringify([backend.name, options], (_, value: unknown) => {
    hasFunctions ||= typeof value === 'function';
    return value;
  });
  return hasFunctions ? undefined : text;
}

/** The stores that take less time to empty than to open. */
const REUSED: readonly Backend[] = [memory, bare, disk];

// Registered when the module loads, so that it runs after the last test of the process.
after(async () => {
  for (const service of Array.from(idle.values()).flat()) await service.stop();
});

/** Removes everything in a store, also in its trash, and the versions of its files. */
async function emptyStore(store: Store): Promise<void> {
  const files = createFiles(store, { presignExpires: 60 });
  for (;;) {
    const { entries } = await store.list(ROOT);
    if (entries.length === 0) break;
    for (const entry of entries) {
      if (entry.kind === 'folder') await files.deleteFolder(entry.path);
      else await files.deleteFile(entry.path);
    }
  }
  const { items = [] } = (await store.listTrash?.()) ?? {};
  for (const { id } of items) await store.purgeTrashed?.(id);
  await store.purgeVersions?.(ROOT);
}
