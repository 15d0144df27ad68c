import assert from 'node:assert/strict';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { ownerWithin } from '../../testing/at-end.ts';
import { atEnd, type LogLine, type Owner, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { createManyFiles } from '../../testing/many-files.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { testFile } from './file-owner.ts';
import { allowOrigin, type Stored, storedInBucket, storedOnDisk } from './stored.ts';

/** The real service on its own port, and its store, accessed without the service. */
export interface Site extends Omit<Stored, 'settings'> {
  /** Ends with a `/`. `restart` keeps it. */
  readonly url: string;
  /** The served folder; undefined for a bucket. */
  readonly root: string | undefined;
  /** The log lines of this test since the last start of the service. */
  log(): readonly LogLine[];
  /** Gives the bucket the documented CORS configuration for the page's origin. */
  allowCors(): Promise<void>;
  /** Replaces the access file and waits until the service applies it. */
  grant(access: SiteAccess): Promise<void>;
  /** Stops the service and waits until it has closed its connections. The pages stay open. */
  stop(): Promise<void>;
  /** Kills the process of a site with `isProcess`, as a power failure would: its connections are reset. */
  kill(): Promise<void>;
  /** Starts the service again on the same port, with additional settings. Stops it first if it runs. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
}

export interface SiteOptions {
  /** A folder, or a bucket of the run's object store. A test with a bucket must have `s3` in its path. */
  readonly store: 'disk' | 's3';
  /** The stored files: paths to contents. A path that ends with a `/` is an empty folder. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Additional environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether the bucket has the documented CORS configuration for the page's origin. Default: true. */
  readonly cors?: boolean;
  /** The access file. Default: none, so that loopback clients have all permissions. */
  readonly access?: SiteAccess;
  /**
   * Starts a service for this test alone: for tests that leave state in the service, such as throttled sign-ins, and for those
   * that need an empty log of changes.
   */
  readonly isOwn?: boolean;
  /** Starts a process of the service for this test alone: for tests that kill it. Default: it runs in the test process. */
  readonly isProcess?: boolean;
}

export interface SiteAccess {
  /** Usernames to passwords in plain text. */
  readonly people: Readonly<Record<string, string>>;
  readonly grants: readonly {
    readonly folder: string;
    readonly to: 'everyone' | 'signed-in' | { readonly person: string };
    readonly rights: readonly ('read' | 'write' | 'manage')[];
  }[];
}

/**
 * Returns a running service whose store has exactly these files. On disk, tests of one process with the same settings
 * and access file share a service with its log of changes, one after the other. The runner decides which files share a
 * process. A service that a test stops, restarts or gives another access file ends with that test.
 */
export async function startSite(t: TestContext, options: SiteOptions): Promise<Site> {
  const { files = {} } = options;
  const service = await acquire(t, options);
  // The page closes first, as with a service that was not restarted. Otherwise its requests fail.
  const restarted = ownerWithin(t);
  await service.stored.place(files);
  const { stored, root, accessFile, port } = service;
  const url = `http://127.0.0.1:${port}/`;
  let { settings } = service;
  let running: Running | undefined = service.running;
  let firstLine = running.log.length;

  const stop = async () => {
    service.isReusable = false;
    await running?.stop();
    running = undefined;
  };
  const policyChanges = () => (running?.log ?? []).filter(({ msg }) => msg === 'Access file reloaded').length;
  return {
    ...stored,
    url,
    root,
    log: () => running?.log.slice(firstLine) ?? [],
    allowCors: () => service.allowOrigin(new URL(url).origin),
    stop,
    async grant(next) {
      assert.ok(accessFile !== undefined, 'The site has an access file.');
      service.isReusable = false;
      const before = policyChanges();
      await writeAccessFile(accessFile, next);
      await until('the new grants are in force', async () => policyChanges() > before);
    },
    async kill() {
      service.isReusable = false;
      assert.ok(running?.kill, 'The service is a process.');
      await running.kill();
      running = undefined;
    },
    async restart(additional) {
      await stop();
      settings = { ...settings, ...additional };
      firstLine = 0;
      running = await start(restarted, { root, settings: { ...settings, PORT: String(port) } }, options);
    },
  };
}

/** A running service that one test at a time uses. */
interface Service extends Location {
  readonly settings: Readonly<Record<string, string>>;
  readonly accessFile: string | undefined;
  readonly running: Running;
  readonly port: number;
  isReusable: boolean;
}

/** A service in the test process or in its own. */
interface Running {
  readonly port: number;
  readonly log: readonly LogLine[];
  stop(): Promise<unknown>;
  kill?(): Promise<void>;
}

/** The services that no test uses at the moment, by their options. */
const idle = new Map<string, Service[]>();

async function acquire(t: TestContext, options: SiteOptions): Promise<Service> {
  // Within seconds, the service may return the metadata of an object that it read for the previous test.
  if (options.store === 's3' || options.isOwn || options.isProcess) return startService(t, options);
  const key = JSON.stringify([options.settings ?? {}, options.access ?? null]);
  const free = idle.get(key) ?? [];
  idle.set(key, free);
  const known = free.pop();
  const service = known && (await isQuiet(known)) ? known : await startService(testFile, options);
  if (service.root !== undefined && service === known) await emptyRoot(service.root);
  atEnd(t, async () => {
    if (t.passed && service.isReusable) free.push(service);
    else await service.running.stop();
  });
  return service;
}

/**
 * Waits until the service has answered all requests of the previous test, and logged them. Returns false and stops the
 * service if that takes too long.
 */
async function isQuiet({ port, running }: Service): Promise<boolean> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  for (let looks = 0; looks < 100; looks++) {
    const response = await fetch(`http://127.0.0.1:${port}/-/metrics`, { headers });
    // The request for the metrics counts itself.
    const isOnlyRequest = /^holdall_http_requests_in_flight\{.*\} 1$/m.test(await response.text());
    const id = response.headers.get('x-request-id');
    await until('the request is logged', () =>
      running.log.some(({ msg, requestId }) => msg === 'request' && requestId === id),
    );
    if (isOnlyRequest) return true;
  }
  await running.stop();
  return false;
}

async function startService(owner: Owner, options: SiteOptions): Promise<Service> {
  const { store, settings = {}, cors = true, access } = options;
  const location = await (store === 'disk' ? onDisk(owner) : inBucket(owner));
  const { root, stored } = location;
  const accessFile = access && join(await temporaryFolder(owner), 'access.json');
  if (access && accessFile) await writeAccessFile(accessFile, access);
  const all = {
    SHUTDOWN_TIMEOUT,
    METRICS_TOKEN,
    // Most tests delete with the confirmation that services without a trash ask for.
    TRASH_DAYS: '0',
    ...stored.settings,
    ...(accessFile && { ACCESS_FILE: accessFile }),
    ...settings,
  };
  const running = await start(owner, { root, settings: all }, options);
  if (cors) await location.allowOrigin(`http://127.0.0.1:${running.port}`);
  return { ...location, settings: all, accessFile, running, port: running.port, isReusable: true };
}

/** Starts a service on the folder. Without one, the settings name its bucket. */
async function start(
  owner: Owner,
  service: { readonly root: string | undefined; readonly settings: Readonly<Record<string, string>> },
  { isProcess = false }: SiteOptions,
): Promise<Running> {
  if (!isProcess) return startInProcess(owner, service);
  const { port, log, kill, signal, ended } = await startHoldall(owner, service);
  const stop = () => {
    signal('SIGTERM');
    return ended;
  };
  return { port, log, stop, kill };
}

/** Seconds. Browsers keep requests open, and the service would wait for them for longer by default. */
const SHUTDOWN_TIMEOUT = '2';

/** Lets the tests read the number of requests in progress. */
export const METRICS_TOKEN = 'metrics-token-of-the-browser-tests';

async function writeAccessFile(file: string, { people, grants }: SiteAccess): Promise<void> {
  const hashed = Object.entries(people).map(([name, password]) => [name, { password: hashOf(password) }]);
  await writeFile(file, JSON.stringify({ people: Object.fromEntries(hashed), grants }));
}

const hashes = new Map<string, string>();

/** Returns the same hash for the same password, because a changed hash ends the sessions of its user. */
function hashOf(password: string): string {
  const hash = hashes.get(password) ?? hashForTest(password);
  hashes.set(password, hash);
  return hash;
}

/** Creates a folder of `count` files of a few bytes in a site on disk: a few seconds for 100,000. */
export async function fillFolder({ root }: Site, folder: string, count: number): Promise<void> {
  assert.ok(root !== undefined, 'The site is on disk.');
  await mkdir(join(root, folder), { recursive: true });
  createManyFiles(join(root, folder), count);
}

/** Where the files of a service are. */
interface Location {
  readonly stored: Stored;
  readonly root: string | undefined;
  /** Lets pages of this origin read the store's own responses. */
  allowOrigin(origin: string): Promise<void>;
}

async function onDisk(owner: Owner): Promise<Location> {
  const root = await temporaryFolder(owner);
  return { stored: storedOnDisk(root), root, allowOrigin: async () => {} };
}

/** Removes all files and folders except the service's own, and what the service keeps of deleted and replaced ones. */
async function emptyRoot(root: string): Promise<void> {
  const names = (await readdir(root)).filter((name) => name !== '.holdall');
  const kept = ['.holdall/trash', '.holdall/versions'];
  await Promise.all([...names, ...kept].map((name) => rm(join(root, name), { recursive: true, force: true })));
}

async function inBucket(owner: Owner): Promise<Location> {
  const bucket = await createBucket();
  atEnd(owner, () => bucket.remove());
  const stored = storedInBucket(bucket, await temporaryFolder(owner));
  return { stored, root: undefined, allowOrigin: (origin) => allowOrigin(bucket, origin) };
}
