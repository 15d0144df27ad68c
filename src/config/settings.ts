import { availableParallelism } from 'node:os';
import { MIN_KEY_BYTES } from '../domain/url-signer.ts';
import {
  branchName,
  bucketName,
  emailAddress,
  integer,
  oneLine,
  oneOf,
  ownerName,
  password,
  type Reader,
  region,
  repositoryName,
  secret,
  size,
  text,
  url,
  yesOrNo,
} from './readers.ts';

/** One setting: an environment variable, how it is read, and what a person is told of it. */
export interface Setting<Type> {
  readonly read: Reader<Type>;
  /** What holds where the variable is missing or empty, given as it would be written; required where undefined. */
  readonly fallback: string | null;
  readonly example: string;
  readonly help: string;
  /** What holds instead for these values of `STORAGE_TYPE`. */
  readonly fallbackFor?: Readonly<Record<string, string>>;
  /** Its value is never printed. */
  readonly isSecret?: true;
  /** Without it, `STORAGE_TYPE` can't be one of these. */
  readonly neededFor?: readonly string[];
}

/** The values of `STORAGE_TYPE` that mean a bucket. */
const BUCKETS = ['s3', 'r2'] as const;

/** The value of `STORAGE_TYPE` that means a repository. */
const REPOSITORY = 'github';

/** Workers where nothing is set: one for each core, and not so many that their memory counts. */
const DEFAULT_WORKERS = Math.min(availableParallelism(), 8);

/**
 * Every setting: the one list behind reading, `--help` and the documentation, in the order in which a person
 * wants them. A `fallback` of null means that the setting has no value unless it is set.
 */
export const SETTINGS = {
  STORAGE_TYPE: {
    read: oneOf('disk', ...BUCKETS, REPOSITORY),
    fallback: 'disk',
    example: 's3',
    help: 'Where the files are: `disk` is a folder of this machine, `s3` a bucket of any S3-compatible store, `r2` the same, `github` a branch of a repository.',
  },
  DISK_ROOT: {
    read: text,
    fallback: './data',
    example: '/srv/files',
    help: "The folder to serve, made when it is missing. `.holdall` in it is the service's own.",
  },
  S3_BUCKET: {
    read: bucketName,
    fallback: null,
    example: 'my-files',
    help: 'The bucket to serve.',
    neededFor: BUCKETS,
  },
  S3_ENDPOINT: {
    read: url({ path: false }),
    fallback: null,
    example: 'https://0123456789abcdef.r2.cloudflarestorage.com',
    help: "The store's address, without the bucket. Without it, it is that of AWS in `S3_REGION`.",
  },
  S3_REGION: {
    read: region,
    fallback: 'auto',
    example: 'eu-central-1',
    help: "The bucket's region. `auto` suits R2, and stores that have none.",
  },
  S3_ACCESS_KEY_ID: {
    read: password,
    fallback: null,
    example: 'AKIAIOSFODNN7EXAMPLE',
    help: 'The id of the access key.',
    isSecret: true,
    neededFor: BUCKETS,
  },
  S3_SECRET_ACCESS_KEY: {
    read: password,
    fallback: null,
    example: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    help: 'The secret of the access key.',
    isSecret: true,
    neededFor: BUCKETS,
  },
  S3_ADDRESSING: {
    read: oneOf('path', 'virtual'),
    fallback: 'path',
    example: 'virtual',
    help: "Whether the bucket's name stands in the path of the store's URLs, or in front of the host's name.",
  },
  S3_PUBLIC_URL: {
    read: url({ path: true }),
    fallback: null,
    example: 'https://files.example.org',
    help: 'Where everybody may read the bucket, if it is public: listings then give the `publicUrl` of each file.',
  },
  S3_CONCURRENCY: {
    read: integer(1, 1000),
    fallback: '64',
    example: '16',
    help: 'How many objects of a folder are copied or moved at once.',
  },
  GITHUB_OWNER: {
    read: ownerName,
    fallback: null,
    example: 'octocat',
    help: 'Whose the repository is: a person or an organisation.',
    neededFor: [REPOSITORY],
  },
  GITHUB_REPO: {
    read: repositoryName,
    fallback: null,
    example: 'my-files',
    help: "The repository's name, without its owner.",
    neededFor: [REPOSITORY],
  },
  GITHUB_TOKEN: {
    read: password,
    fallback: null,
    example: 'github_pat_11ABCDEFG0EXAMPLE',
    help: 'The access token, with the permission "Contents: read and write". Without one, a public repository can be read, with 60 requests an hour.',
    isSecret: true,
  },
  GITHUB_BRANCH: {
    read: branchName,
    fallback: 'main',
    example: 'files',
    help: 'The branch to serve and to commit to.',
  },
  GITHUB_CREATE_BRANCH: {
    read: yesOrNo,
    fallback: 'false',
    example: 'true',
    help: 'With `true`, a branch that is not there is made, from the default branch.',
  },
  GITHUB_API_URL: {
    read: url({ path: true }),
    fallback: 'https://api.github.com',
    example: 'https://github.example.org/api/v3',
    help: 'The address of the REST interface: that of GitHub, or of an Enterprise server.',
  },
  GITHUB_COMMIT_MESSAGE: {
    read: oneLine,
    fallback: '{summary}',
    example: 'files: {summary}',
    help: 'The first line of commits. `{summary}` stands for what was changed, `{count}` for the number of changes.',
  },
  GITHUB_AUTHOR_NAME: {
    read: oneLine,
    fallback: null,
    example: 'Holdall',
    help: 'Who commits are by. Without it, whom the token belongs to.',
  },
  GITHUB_AUTHOR_EMAIL: {
    read: emailAddress,
    fallback: null,
    example: 'holdall@example.org',
    help: 'The e-mail address of that name; the two are set together.',
  },
  GITHUB_TRUST: {
    read: integer(0, 3600),
    fallback: '2',
    example: '0',
    help: 'Seconds for which the branch is taken to be as it was last seen. With 0, each reading request asks first, which is free while nothing changes.',
  },
  GITHUB_QUOTA_WAIT: {
    read: integer(0, 3600),
    fallback: '10',
    example: '60',
    help: 'Seconds for which a request waits at the most when GitHub takes no more of them; if it would be longer, the answer is a 503 that says when.',
  },
  GITHUB_WRITES_PER_MINUTE: {
    read: integer(0, 100_000),
    fallback: '80',
    example: '0',
    help: 'Writing requests that are sent to GitHub in a minute at the most, as it asks of programs; a commit takes three. 0 is for an Enterprise server without such limits.',
  },
  GITHUB_CACHE_SIZE: {
    read: size,
    fallback: '1GiB',
    example: '10GiB',
    help: 'How many bytes of files that were read are kept in `blobs` under `CACHE_DIR`; 0 keeps none.',
  },
  HOST: {
    read: text,
    fallback: '127.0.0.1',
    example: '0.0.0.0',
    help: 'The address to listen on. The default is reached from this machine alone.',
  },
  PORT: {
    read: integer(0, 65535),
    fallback: '8080',
    example: '8080',
    help: 'The port to listen on; 0 takes a free one.',
  },
  WORKERS: {
    read: integer(1, 256),
    fallback: String(DEFAULT_WORKERS),
    fallbackFor: { [REPOSITORY]: '1' },
    example: '4',
    help: 'Processes that serve requests. The default is the number of cores, 8 at most; for a repository it is 1, as processes share neither its quota nor their commits.',
  },
  READ_ONLY: {
    read: yesOrNo,
    fallback: 'false',
    example: 'true',
    help: 'With `true`, everything that would change a file or folder is refused with 403.',
  },
  MAX_UPLOAD_SIZE: {
    read: size,
    fallback: null,
    example: '5GiB',
    help: "The largest file that may be uploaded. Without it, the store's own limit holds.",
  },
  PRESIGN_EXPIRES: {
    read: integer(1, 604_800),
    fallback: '3600',
    example: '600',
    help: 'Seconds for which a presigned URL is good.',
  },
  SIGNING_KEY: {
    read: secret(MIN_KEY_BYTES),
    fallback: null,
    example: 'the output of: openssl rand -hex 32',
    help: 'The key of the URLs that the service signs itself (disk). Without it, one is made and kept in `.holdall`.',
    isSecret: true,
  },
  CACHE_DIR: {
    read: text,
    fallback: null,
    example: '/var/cache/holdall',
    help: 'The folder for thumbnails that were made. Without it: on disk `.holdall/cache` under `DISK_ROOT`, for a bucket or a repository a folder of its own under `~/.cache/holdall`.',
  },
  CACHE_SIZE: {
    read: size,
    fallback: '256MiB',
    example: '1GiB',
    help: 'How many bytes of thumbnails are kept there; 0 keeps none.',
  },
  LOG_LEVEL: {
    read: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    fallback: 'info',
    example: 'warn',
    help: 'The least level that is logged. `info` has a line for each request, `debug` one for each call of the store.',
  },
  SHUTDOWN_TIMEOUT: {
    read: integer(0, 3600),
    fallback: '30',
    example: '10',
    help: 'Seconds that requests in flight may take to finish after SIGTERM.',
  },
} as const satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;

type Value<Name extends SettingName> = (typeof SETTINGS)[Name] extends Setting<infer Type> ? Type : never;

/** The settings by their names, as read. One without a fallback may be undefined. */
export type Settings = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name]['fallback'] extends string
    ? Value<Name>
    : Value<Name> | undefined;
};
