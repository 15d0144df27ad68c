import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Config, SettingsError } from '../config/config.ts';
import { EXACT_NAMES, type NameComparison } from '../model/name-comparison.ts';
import type { Store } from '../model/store.ts';
import type { UrlSigner } from '../model/url-signer.ts';
import { openDisk } from './disk/disk.ts';
import type { StoreLog } from './network.ts';
import type { S3Options } from './s3/bucket.ts';
import { loadSigningKey } from './signing-key-file.ts';

/** The configured store and its properties. */
export interface OpenedStore {
  readonly store: Store;
  /** Readable name of the served folder, bucket or branch. */
  readonly name: string;
  /** Verifies the store's presigned URLs. Present if the service itself responds to them. */
  readonly signer?: UrlSigner;
  /** How the store compares names. */
  readonly names: NameComparison;
  /** Origins of the download URLs that the store returns, other than the service itself. */
  readonly contentOrigins: readonly string[];
  /** Whether the store retries temporary failures and enforces timeouts itself. */
  readonly givesUp: boolean;
  /** Default folder for caches. Its content can be recreated. */
  readonly cacheFolder: string;
  /** Folder for persistent state. */
  readonly stateFolder: string;
  /** Returns the key for sessions and for URLs that the service signs: `SIGNING_KEY`, or a key stored in a file. */
  signingKey(): Promise<Buffer>;
}

/** Opens the configured store. This is the only list of backends. The modules of other backends are not loaded. */
export async function openStore(config: Config, log: StoreLog): Promise<OpenedStore> {
  switch (config.STORAGE_TYPE) {
    case 'disk': {
      const { store, signer, key, ownFolder, root, names } = await openDisk({
        root: config.DISK_ROOT,
        signingKey:
          config.SIGNING_KEY ?? (config.STATE_DIR === undefined ? undefined : await keyKeptIn(config.STATE_DIR)),
        threads: config.UV_THREADPOOL_SIZE,
        log,
      });
      return {
        store,
        signer,
        names,
        contentOrigins: [],
        name: root,
        givesUp: false,
        cacheFolder: join(ownFolder, 'cache'),
        stateFolder: config.STATE_DIR ?? ownFolder,
        signingKey: async () => key,
      };
    }
    case 's3':
    case 'r2':
      return openBucket(config, log);
    case 'github':
      return openRepository(config, log);
  }
}

async function openBucket(config: Config, log: StoreLog): Promise<OpenedStore> {
  const { openS3, bucketOrigins } = await import('./s3/s3.ts');
  const options = bucketOptions(config, log);
  const store = openS3(options);
  const name = `${config.S3_ENDPOINT ?? `https://s3.${config.S3_REGION}.amazonaws.com`}/${options.bucket}`;
  const contentOrigins = await bucketOrigins(store, config.S3_PUBLIC_URL);
  return {
    store,
    names: EXACT_NAMES,
    contentOrigins,
    name,
    givesUp: true,
    cacheFolder: cacheFolderOf(name),
    ...stateOf(name, config),
  };
}

/** Returns the options of the configured bucket. Throws if its required settings are missing. */
export function bucketOptions(config: Config, log: Pick<StoreLog, 'warn' | 'retried' | 'asked'>): S3Options {
  const { S3_BUCKET: bucket, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new Error('The settings of the bucket were not checked.');
  }
  return {
    bucket,
    accessKeyId,
    secretAccessKey,
    endpoint: config.S3_ENDPOINT,
    region: config.S3_REGION,
    addressing: config.S3_ADDRESSING,
    publicUrl: config.S3_PUBLIC_URL,
    concurrency: config.S3_CONCURRENCY,
    warn: (message, details) => log.warn(message, details),
    retried: () => log.retried(),
    asked: log.asked,
  };
}

async function openRepository(config: Config, log: StoreLog): Promise<OpenedStore> {
  const { GITHUB_OWNER: owner, GITHUB_REPO: repository, GITHUB_BRANCH: branch, GITHUB_API_URL: apiUrl } = config;
  const { GITHUB_AUTHOR_NAME: author, GITHUB_AUTHOR_EMAIL: email } = config;
  if (owner === undefined || repository === undefined)
    throw new Error('The settings of the repository were not checked.');
  const { openGitHub, repositoryOrigins } = await import('./github/github.ts');
  const name = `${apiUrl}/repos/${owner}/${repository}, branch ${branch}`;
  const cacheFolder = cacheFolderOf(name);
  const store = openGitHub({
    apiUrl,
    owner,
    repository,
    branch,
    token: config.GITHUB_TOKEN,
    createBranch: config.GITHUB_CREATE_BRANCH && !config.READ_ONLY,
    readOnly: config.READ_ONLY,
    trust: config.GITHUB_TRUST,
    quotaWait: config.GITHUB_QUOTA_WAIT,
    writesPerMinute: config.GITHUB_WRITES_PER_MINUTE || undefined,
    commitMessage: config.GITHUB_COMMIT_MESSAGE,
    author: author === undefined || email === undefined ? undefined : { name: author, email },
    cache: { folder: join(config.CACHE_DIR ?? cacheFolder, 'blobs'), size: config.GITHUB_CACHE_SIZE },
    log,
  });
  return {
    store,
    names: EXACT_NAMES,
    contentOrigins: repositoryOrigins(apiUrl),
    name,
    givesUp: true,
    cacheFolder,
    ...stateOf(name, config),
  };
}

/** Returns a local cache folder for a store. The name of the store makes it unique. */
function cacheFolderOf(name: string): string {
  return join(homedir(), '.cache', 'holdall', idOf(name));
}

/** Returns the state folder and key of a remote store, whose state is on the local machine. */
function stateOf(name: string, { STATE_DIR, SIGNING_KEY }: Config): Pick<OpenedStore, 'stateFolder' | 'signingKey'> {
  const stateFolder = STATE_DIR ?? join(homedir(), '.local', 'state', 'holdall', idOf(name));
  return { stateFolder, signingKey: async () => SIGNING_KEY ?? keyKeptIn(stateFolder) };
}

async function keyKeptIn(folder: string): Promise<Buffer> {
  try {
    return await loadSigningKey(folder);
  } catch (error) {
    throw unusableState(folder, error);
  }
}

/** Returns a settings error for the operator: why the folder can't store state. */
export function unusableState(folder: string, error: unknown): SettingsError {
  const reason = error instanceof Error ? error.message : String(error);
  return new SettingsError([`STATE_DIR ${folder} can't be used: ${reason}. Example: STATE_DIR=/var/lib/holdall`]);
}

function idOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 16);
}
