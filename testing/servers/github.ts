import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_PATH, defaultHeaders, describeApiRequest, type Quota, serveApi } from './github/api.ts';
import { createDownloads, type Downloads, describeDownload } from './github/downloads.ts';
import type { Host, Interceptor, Limits, RespondedRequest } from './github/exchange.ts';
import { describeLfsRequest, serveLfs } from './github/lfs.ts';
import {
  checkRepositories,
  createBareRepository,
  type HostedRepository,
  type RepositoryOptions,
  type TestRepository,
} from './github/repository.ts';
import { BLOB_UPLOAD } from './github/routes.ts';
import { handle, type Service } from './github/serving.ts';

export type {
  GitHubRequest,
  Interceptor,
  OwnResponse,
  RespondedRequest,
  Verdict,
} from './github/exchange.ts';
export type { Changes, Content } from './github/pushes.ts';
export type { RepositoryOptions, TestRepository } from './github/repository.ts';

/** A fake GitHub host: it serves git repositories like GitHub, as far as a store needs. */
export interface GitHubFake {
  /** `http://127.0.0.1:PORT/api/v3`, as of an Enterprise server. */
  readonly apiUrl: string;
  /** The origin of Git LFS: `{origin}/{owner}/{repo}.git/info/lfs/objects/batch`. */
  readonly origin: string;
  /** The only valid token. */
  readonly token: string;
  /**
   * Creates a repository: by default, a private one. Its first commit contains `files`. Without them, it has no commit.
   */
  createRepository(options?: RepositoryOptions): Promise<TestRepository>;
  /** All API requests since the start or the last `forget`, in the order of their responses. */
  readonly requests: readonly RespondedRequest[];
  /** All other requests, in the same way: `GET download`, `HEAD download` and the batches of Git LFS. */
  readonly downloadRequests: readonly RespondedRequest[];
  forget(): void;
  /** Passes all further requests to this interceptor instead of an earlier one. Its responses cost no quota. */
  intercept(interceptor: Interceptor | undefined): void;
  /** The quota of the token. Mutable, like everything below. */
  readonly quota: Quota;
  /** The quota of requests without a token. */
  readonly anonymousQuota: Quota;
  readonly limits: Limits;
  /** The permissions of the token, in all repositories. */
  readonly permissions: { read: boolean; write: boolean };
  readonly features: {
    /** Whether files have a `download_url`. */
    downloads: boolean;
    lfs: boolean;
    /** Milliseconds until a URL that the API returns expires. */
    lifetime: number;
  };
  /** Throws the first failure since the last call: a violation of GitHub's API description, or an interceptor's error. */
  throwFailure(): void;
  /**
   * Aborts the requests in progress, removes all repositories, and restores the initial settings, for the next test.
   * Rejects like `throwFailure`.
   */
  reset(): Promise<void>;
  /**
   * Stops the servers and removes their data. Rejects if a request or response violated GitHub's description of its
   * API, if `git fsck --strict` finds a fault in a repository, or if an interceptor threw.
   */
  stop(): Promise<void>;
}

export async function startGitHub(): Promise<GitHubFake> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-github-'));
  const [api, files] = await Promise.all([listen(), listen()]);
  const repositories: HostedRepository[] = [];
  const removed: HostedRepository[] = [];
  const failures: unknown[] = [];
  const settings = defaultSettings();
  const watch = createRequestLog((error) => failures.push(error));
  const downloads = createDownloads(files.origin, () => settings.features.lifetime);
  connect({ api, files, settings, watch, repositories, downloads });
  const throwFailure = () => {
    const [first] = failures.splice(0);
    if (first !== undefined) throw first;
  };
  const removeRepositories = async () => {
    await Promise.all(repositories.map((repository) => repository.close()));
    removed.push(...repositories.splice(0));
  };
  return {
    ...settings,
    apiUrl: `${api.origin}${API_PATH}`,
    origin: api.origin,
    requests: watch.requests,
    downloadRequests: watch.downloadRequests,
    forget: watch.forget,
    intercept: watch.intercept,
    throwFailure,
    async createRepository(options = {}) {
      const id = removed.length + repositories.length + 1;
      const { hosted, test } = await createBareRepository(folder, id, options);
      repositories.push(hosted);
      return test;
    },
    async reset() {
      watch.intercept(undefined);
      await Promise.all([api.cut(), files.cut()]);
      await removeRepositories();
      downloads.clear();
      watch.forget();
      restore(settings);
      throwFailure();
    },
    async stop() {
      await Promise.all([api.stop(), files.stop()]);
      await removeRepositories();
      await checkRepositories(removed).catch((error: unknown) => failures.push(error));
      await rm(folder, { recursive: true, force: true });
      throwFailure();
    },
  };
}

type Settings = Pick<GitHubFake, 'token' | 'quota' | 'anonymousQuota' | 'limits' | 'permissions' | 'features'>;

function defaultSettings(): Settings {
  const reset = Math.ceil(Date.now() / 1000) + 3600;
  return {
    token: `github_pat_${randomBytes(20).toString('hex')}`,
    quota: { limit: 5000, remaining: 5000, reset },
    anonymousQuota: { limit: 60, remaining: 60, reset },
    limits: { treeEntries: 100_000, treeBytes: 7_000_000, blobBytes: 100 * 2 ** 20, blobRequestBytes: undefined },
    permissions: { read: true, write: true },
    features: { downloads: true, lfs: true, lifetime: 5 * 60_000 },
  };
}

function restore({ quota, anonymousQuota, limits, permissions, features }: Settings): void {
  const defaults = defaultSettings();
  Object.assign(quota, defaults.quota);
  Object.assign(anonymousQuota, defaults.anonymousQuota);
  Object.assign(limits, defaults.limits);
  Object.assign(permissions, defaults.permissions);
  Object.assign(features, defaults.features);
}

/** Records the requests, and holds the interceptor. */
function createRequestLog(fail: (error: unknown) => void) {
  const requests: RespondedRequest[] = [];
  const downloadRequests: RespondedRequest[] = [];
  let interceptor: Interceptor | undefined;
  return {
    requests,
    downloadRequests,
    interceptor: () => interceptor,
    fail,
    forget() {
      requests.length = 0;
      downloadRequests.length = 0;
    },
    intercept(next: Interceptor | undefined) {
      interceptor = next;
    },
  };
}

interface Parts {
  readonly api: Listener;
  readonly files: Listener;
  readonly settings: Settings;
  readonly watch: ReturnType<typeof createRequestLog>;
  readonly repositories: readonly HostedRepository[];
  readonly downloads: Downloads;
}

function connect({ api, files, settings, watch, repositories, downloads }: Parts): void {
  const { limits, permissions, features } = settings;
  const { interceptor, fail, requests, downloadRequests } = watch;
  const lifetime = () => features.lifetime;
  const apiUrl = `${api.origin}${API_PATH}`;
  const downloadUrl: Host['downloadUrl'] = (...location) =>
    features.downloads ? downloads.fileUrl(...location) : null;
  const find = finderIn(repositories);
  const state = { ...settings, host: { apiUrl, limits, permissions, downloadUrl }, repositories, find, fail };
  const lfs = { ...settings, downloads, find, isEnabled: () => features.lfs, lifetime };

  const unlimited = () => Number.POSITIVE_INFINITY;
  const apiService: Service = {
    interceptor,
    fail,
    describe: describeApiRequest,
    isUpload: ({ route }) => route === BLOB_UPLOAD,
    maxBodyBytes: ({ route }) => (route === BLOB_UPLOAD ? limits.blobRequestBytes : undefined) ?? unlimited(),
    serve: (request, body) => serveApi(state, request, body),
    headers: () => defaultHeaders(settings.quota),
    record: (request) => requests.push(request),
  };
  const outsideApi = {
    interceptor,
    fail,
    isUpload: () => false,
    maxBodyBytes: unlimited,
    headers: () => ({}),
    record: (request: RespondedRequest) => downloadRequests.push(request),
  };
  const lfsService: Service = {
    ...outsideApi,
    describe: describeLfsRequest,
    serve: (request) => serveLfs(lfs, request),
  };
  api.serve(({ url }) => (url?.startsWith(`${API_PATH}/`) ? apiService : lfsService));
  files.serve(() => ({ ...outsideApi, describe: describeDownload, serve: downloads.serve }));
}

/** Returns a function that finds a repository by its current or a former name. */
function finderIn(repositories: readonly HostedRepository[]) {
  return (owner: string, name: string): HostedRepository | undefined => {
    const wanted = `${owner}/${name}`.toLowerCase();
    const isAt = (one: HostedRepository, named: string) => `${one.owner}/${named}`.toLowerCase() === wanted;
    return (
      repositories.find((one) => isAt(one, one.name)) ??
      repositories.find((one) => one.formerNames.some((former) => isAt(one, former)))
    );
  };
}

interface Listener {
  readonly origin: string;
  /** Starts to serve requests. */
  serve(serviceOf: (incoming: IncomingMessage) => Service): void;
  /** Aborts the requests in progress, and waits until the server has stopped processing them. */
  cut(): Promise<void>;
  /** Also closes all connections. */
  stop(): Promise<void>;
}

async function listen(): Promise<Listener> {
  let serviceOf: ((incoming: IncomingMessage) => Service) | undefined;
  const exchanges = new Map<ServerResponse, Promise<void>>();
  const server: Server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    // The port is not known to any client yet.
    assert.ok(serviceOf);
    const exchange = handle(serviceOf(incoming), incoming, response).finally(() => exchanges.delete(response));
    exchanges.set(response, exchange);
  });
  // If an idle connection is closed at the moment of its reuse, the client repeats its request, which would be counted.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve(next) {
      serviceOf = next;
    },
    async cut() {
      for (const response of exchanges.keys()) response.destroy();
      await Promise.all(exchanges.values());
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await Promise.all(exchanges.values());
    },
  };
}
