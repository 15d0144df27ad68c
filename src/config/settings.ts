import { availableParallelism } from 'node:os';
import { MIN_KEY_BYTES } from '../model/url-signer.ts';
import {
  basePath,
  bearerToken,
  claim,
  contactUri,
  contentOrigin,
  duration,
  host,
  instant,
  integer,
  issuer,
  logDestination,
  networks,
  oneLine,
  oneOf,
  origins,
  pairs,
  password,
  positiveSize,
  postgresUrl,
  ratio,
  redisUrl,
  secret,
  size,
  text,
  url,
  yesOrNo,
} from '../settings/readers.ts';
import type { SettingGroup, ValuesOf } from '../settings/setting.ts';
import { BACKEND_SETTINGS, STORAGE_TYPES, type StorageType } from '../stores/registry.ts';

/** Minimum length of a token in bytes, so that it can't be guessed. */
const MIN_TOKEN_BYTES = 16;

/** Maximum days that deleted and replaced content is kept: a hundred years. */
const MAX_RETENTION_DAYS = 36_500;

/** Default number of workers: one per core, at most 8 to limit their memory. */
const DEFAULT_WORKERS = Math.min(availableParallelism(), 8);

/** The values of `STORAGE_TYPE` with their descriptions. */
const TYPE_HELP = Object.entries(STORAGE_TYPES)
  .map(([type, description]) => `\`${type}\`: ${description}`)
  .join('; ');

/**
 * All settings. Reading, `--help` and the documentation use this list and its order. A `defaultText` of null means that
 * the setting has no value unless it is set.
 */
export const SETTINGS = {
  STORAGE_TYPE: {
    read: oneOf(...(Object.keys(STORAGE_TYPES) as StorageType[])),
    defaultText: 'disk',
    example: 's3',
    help: `Storage backend. ${TYPE_HELP}.`,
  },
  ...BACKEND_SETTINGS,
  HOST: {
    read: host,
    defaultText: '127.0.0.1',
    example: '0.0.0.0',
    help: 'Address to listen on. Addresses other than loopback require `ACCESS_FILE` or `ACCESS=open`.',
  },
  PORT: {
    read: integer(0, 65535),
    defaultText: '8080',
    example: '8080',
    help: 'Port to listen on. 0 selects a free port.',
  },
  PUBLIC_URL: {
    read: url({ path: true }),
    defaultText: null,
    example: 'https://files.example.org',
    help: 'URL of the service for users. Requests for other hosts, except loopback, are refused.',
  },
  BASE_PATH: {
    read: basePath,
    defaultText: '/',
    example: '/files',
    help: 'Path prefix of all URLs, for a reverse proxy that does not remove it.',
  },
  TRUST_PROXY: {
    read: networks({ effect: 'trust every client' }),
    defaultText: null,
    example: 'loopback,10.0.0.0/8',
    help: 'Reverse proxies whose `X-Forwarded-*` headers are trusted: addresses, networks, or `loopback`.',
  },
  ACCESS: {
    read: oneOf('open'),
    defaultText: null,
    example: 'open',
    help: '`open` gives everyone who reaches the port all permissions.',
  },
  ACCESS_FILE: {
    read: text,
    defaultText: null,
    example: '/etc/holdall/access.json',
    help: 'File with the users and their permissions: see docs/reference/access-file.md. Reloaded when it changes.',
  },
  SESSION_LIFETIME: {
    read: duration('s', 60, 31_536_000),
    defaultText: '604800',
    example: '12h',
    help: 'Seconds until a session expires.',
  },
  STATE_DIR: {
    read: text,
    defaultText: null,
    example: '/var/lib/holdall',
    help: 'Folder for signing key, revoked sessions, database. Default: `.holdall` in `DISK_ROOT`, or below `~/.local/state`.',
  },
  DATABASE_URL: {
    read: postgresUrl,
    defaultText: null,
    example: 'postgres://holdall:password@postgres.example.org/holdall',
    help: 'PostgreSQL database that several machines share. Default: the SQLite file `holdall.sqlite` in `STATE_DIR`.',
    isSecret: true,
  },
  CHANGES_DAYS: {
    read: integer(1, 3650),
    defaultText: '30',
    example: '90',
    help: 'Days for which the log of changes is kept.',
  },
  WATCH_CHANGES: {
    read: yesOrNo,
    defaultText: 'false',
    example: 'true',
    help: 'Whether the log of changes also has changes by other programs.',
  },
  WEBHOOK_NETWORKS: {
    read: networks({ effect: 'allow every private address' }),
    defaultText: null,
    example: '10.20.0.0/16,loopback',
    help: 'Private networks that webhooks may reach, also over `http://`. Default: none.',
  },
  OIDC_ISSUER: {
    read: issuer,
    defaultText: null,
    example: 'https://login.example.org',
    help: 'OpenID Connect provider for signing in. Requires `OIDC_CLIENT_ID`, `PUBLIC_URL` and `ACCESS_FILE`.',
  },
  OIDC_CLIENT_ID: {
    read: oneLine,
    defaultText: null,
    example: 'holdall',
    help: 'Client ID of this service at the provider.',
  },
  OIDC_CLIENT_SECRET: {
    read: password,
    defaultText: null,
    example: 'the-secret-that-the-provider-gave',
    help: 'Client secret. Without it, the service is a public client.',
    isSecret: true,
  },
  OIDC_SCOPE: {
    read: oneLine,
    defaultText: 'openid email profile',
    example: 'openid email profile groups',
    help: 'Scopes to request from the provider.',
  },
  OIDC_NAME_CLAIM: {
    read: claim,
    defaultText: 'email',
    example: 'preferred_username',
    help: 'Claim with the username. `email` counts only if the provider has verified it.',
  },
  OIDC_GROUPS_CLAIM: {
    read: claim,
    defaultText: 'groups',
    example: 'roles',
    help: "Claim with the user's groups: a list, or one name.",
  },
  JWT_ISSUER: {
    read: issuer,
    defaultText: null,
    example: 'https://login.example.org',
    help: 'Issuer of JSON Web Tokens that are accepted as `Authorization: Bearer`. Requires `JWT_AUDIENCE`.',
  },
  JWT_AUDIENCE: {
    read: oneLine,
    defaultText: null,
    example: 'https://files.example.org',
    help: 'Audience that these tokens must contain.',
  },
  JWT_JWKS_URL: {
    read: issuer,
    defaultText: null,
    example: 'https://login.example.org/jwks.json',
    help: 'URL of the keys of the issuer. Default: from its discovery document.',
  },
  JWT_NAME_CLAIM: {
    read: claim,
    defaultText: 'sub',
    example: 'client_id',
    help: 'Claim of these tokens with the username in the access file.',
  },
  JWT_GROUPS_CLAIM: {
    read: claim,
    defaultText: 'groups',
    example: 'roles',
    help: "Claim of these tokens with the user's groups.",
  },
  CONTENT_ORIGIN: {
    read: contentOrigin,
    defaultText: null,
    example: 'https://files-content.example.org',
    help: 'Separate origin for file contents, which also leads to this service.',
  },
  CORS_ORIGINS: {
    read: origins,
    defaultText: null,
    example: 'https://app.example.org,http://localhost:5173',
    help: 'Other origins whose pages may call the HTTP API: exact origins, or `*` without cookies.',
  },
  AUDIT_LOG: {
    read: logDestination,
    defaultText: 'stdout',
    example: '/var/log/holdall/audit.log',
    help: 'Destination of the audit log: `stdout`, a file path with a `/`, or `off`.',
  },
  AUDIT_READS: {
    read: yesOrNo,
    defaultText: 'false',
    example: 'true',
    help: 'Whether the audit log has reads of file contents.',
  },
  RATE_LIMIT: {
    read: integer(0, 10_000_000),
    defaultText: null,
    example: '600',
    help: 'Maximum requests per client and minute. 0 removes it. Default: 6000; none for local access.',
  },
  REDIS_URL: {
    read: redisUrl,
    defaultText: null,
    example: 'rediss://default:password@redis.example.org:6379/0',
    help: 'Redis server that several machines share for rate limits and revoked sessions.',
    isSecret: true,
  },
  MAX_CONNECTIONS: {
    read: integer(1, 1_000_000),
    defaultText: '10000',
    example: '2000',
    help: 'Maximum connections per process. One client can open a quarter of them.',
  },
  HEADERS_TIMEOUT: {
    read: duration('s', 1, 3600),
    defaultText: '20',
    example: '10s',
    help: 'Seconds within which all request headers must arrive.',
  },
  IDLE_TIMEOUT: {
    read: duration('s', 1, 86_400),
    defaultText: '60',
    example: '30s',
    help: 'Seconds without progress until the connection of a client is closed.',
  },
  MAX_EVENT_LOOP_DELAY: {
    read: duration('ms', 0, 60_000),
    defaultText: '1000',
    example: '250ms',
    help: 'Event loop delay in milliseconds above which requests get a 503. 0 disables this.',
  },
  WORKERS: {
    read: integer(1, 256),
    defaultText: String(DEFAULT_WORKERS),
    example: '4',
    help: 'Number of processes. Default: the number of CPU cores, at most 8; 1 for repositories.',
  },
  UV_THREADPOOL_SIZE: {
    read: integer(4, 1024),
    defaultText: '32',
    example: '128',
    help: 'Threads per process for system calls. Half of them can wait for the disk.',
  },
  INSTALLABLE: {
    read: yesOrNo,
    defaultText: 'true',
    example: 'false',
    help: 'Whether browsers can install the web UI as an app, with an offline page.',
  },
  READ_ONLY: {
    read: yesOrNo,
    defaultText: 'false',
    example: 'true',
    help: 'Whether to refuse all changes with 403.',
  },
  MAX_UPLOAD_SIZE: {
    read: size,
    defaultText: null,
    example: '5GiB',
    help: 'Maximum size of an uploaded file. Default: the limit of the store.',
  },
  MIN_FREE_SPACE: {
    read: size,
    defaultText: null,
    example: '5GB',
    help: 'Disk space that new content leaves free. Default: 5 %, at most 1 GB.',
  },
  UPLOAD_CHUNK_SIZE: {
    read: positiveSize,
    defaultText: '64MiB',
    example: '16MiB',
    help: 'The web UI uploads larger files in parts of this size.',
  },
  UPLOAD_DIRECT: {
    read: yesOrNo,
    defaultText: 'true',
    example: 'false',
    help: 'Whether clients may send large files to the bucket directly, by presigned URLs.',
  },
  UPLOAD_EXPIRES: {
    read: integer(1, 365),
    defaultText: '7',
    example: '30',
    help: 'Days until an unfinished resumable upload is removed.',
  },
  DAV: {
    read: yesOrNo,
    defaultText: 'true',
    example: 'false',
    help: 'Whether WebDAV clients can connect, at `/-/dav/`.',
  },
  DAV_CLUTTER: {
    read: oneOf('store', 'hide', 'refuse'),
    defaultText: 'store',
    example: 'hide',
    help: 'Files such as `.DS_Store` and `Thumbs.db`: `store`; `hide` from all except WebDAV clients; or `refuse`.',
  },
  DAV_REDIRECTS: {
    read: yesOrNo,
    defaultText: 'false',
    example: 'true',
    help: 'Whether WebDAV clients get large files by a redirect to a presigned URL.',
  },
  TRASH_DAYS: {
    read: integer(0, MAX_RETENTION_DAYS),
    defaultText: '30',
    example: '90',
    help: 'Days until deleted files and folders are removed from the trash. 0 deletes at once.',
  },
  TRASH_SIZE: {
    read: positiveSize,
    defaultText: null,
    example: '100GB',
    help: 'Maximum bytes in the trash, in equal shares of the users. Default: no limit.',
  },
  VERSIONS_DAYS: {
    read: integer(0, MAX_RETENTION_DAYS),
    defaultText: '30',
    example: '365',
    help: 'Days until the earlier contents of replaced files are removed. 0 keeps none.',
  },
  VERSIONS_SIZE: {
    read: positiveSize,
    defaultText: '10GB',
    example: '50GB',
    help: 'Maximum bytes of earlier contents of files, in equal shares of the users.',
  },
  HISTORY_PERMISSION: {
    read: oneOf('write', 'manage', 'read'),
    defaultText: 'write',
    example: 'manage',
    help: 'Permission that the trash and versions need, in addition to `read`. `manage` includes `write` here.',
  },
  PRESIGN_EXPIRES: {
    read: duration('s', 1, 604_800),
    defaultText: '3600',
    example: '10m',
    help: 'Seconds until a presigned URL expires.',
  },
  SIGNING_KEY: {
    read: secret(MIN_KEY_BYTES),
    defaultText: null,
    example: 'the output of: openssl rand -hex 32',
    help: 'Key of sessions and signed URLs. Default: a key generated in `STATE_DIR`.',
    isSecret: true,
  },
  API_DOCS: {
    read: yesOrNo,
    defaultText: 'true',
    example: 'false',
    help: 'Whether `/-/docs` and `/-/openapi.json` describe the HTTP API. With `false`, both return 404.',
  },
  SECURITY_CONTACT: {
    read: contactUri,
    defaultText: null,
    example: 'mailto:security@example.org',
    help: 'URI for vulnerability reports in `/.well-known/security.txt`. Requires `SECURITY_EXPIRES`.',
  },
  SECURITY_EXPIRES: {
    read: instant,
    defaultText: null,
    example: '2027-06-30T00:00:00Z',
    help: 'Expiry of `/.well-known/security.txt`, at most a year ahead. Requires `SECURITY_CONTACT`.',
  },
  CACHE_DIR: {
    read: text,
    defaultText: null,
    example: '/var/cache/holdall',
    help: 'Folder for cached thumbnails. Default: `.holdall/cache` in `DISK_ROOT`; for other stores, a folder under `~/.cache/holdall`.',
  },
  CACHE_SIZE: {
    read: size,
    defaultText: '256MiB',
    example: '1GiB',
    help: 'Maximum bytes of cached thumbnails. 0 disables the cache.',
  },
  THUMBNAIL_MEMORY: {
    read: size,
    defaultText: null,
    example: '512MiB',
    help: 'Maximum memory of the processes that draw large images. Default: half of the memory.',
  },
  THUMBNAIL_PROGRAMS: {
    read: yesOrNo,
    defaultText: 'true',
    example: 'false',
    help: 'Whether ffmpeg, pdftoppm and heif-dec draw videos, PDFs and HEIC images in a sandbox.',
  },
  LOG_LEVEL: {
    read: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    defaultText: 'info',
    example: 'warn',
    help: 'Minimum level of log lines. `info` logs requests; `debug` also logs backend calls.',
  },
  LOG_FORMAT: {
    read: oneOf('json', 'pretty'),
    defaultText: null,
    example: 'json',
    help: 'Format of log lines. Default: `pretty` on a terminal, `json` otherwise.',
  },
  METRICS_TOKEN: {
    read: bearerToken(MIN_TOKEN_BYTES),
    defaultText: null,
    example: 'replace-with-the-output-of-openssl-rand-hex-32',
    help: 'Bearer token for `/-/metrics`. Without it, metrics are disabled.',
    isSecret: true,
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    read: url({ path: true }),
    defaultText: null,
    example: 'http://127.0.0.1:4318',
    help: 'Base URL of the OpenTelemetry collector. Traces are sent to `/v1/traces` under it.',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    read: url({ path: true }),
    defaultText: null,
    example: 'https://otlp.example.org/v1/traces',
    help: 'Full URL of the collector for traces.',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    read: pairs,
    defaultText: null,
    example: 'authorization=Bearer%20the-token-of-the-collector',
    help: 'Request headers for the collector: `name=value`, separated by commas, with `%20` for a space.',
    isSecret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    read: oneOf('http/protobuf'),
    defaultText: 'http/protobuf',
    example: 'http/protobuf',
    help: 'Protocol of the collector, usually on port 4318. gRPC (port 4317) is not supported.',
  },
  OTEL_TRACES_EXPORTER: {
    read: oneOf('otlp', 'none'),
    defaultText: 'otlp',
    example: 'none',
    help: '`none` disables tracing.',
  },
  OTEL_TRACES_SAMPLER: {
    read: oneOf(
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ),
    defaultText: 'parentbased_always_on',
    example: 'parentbased_traceidratio',
    help: 'Sampler of requests. With `parentbased_` samplers, the `traceparent` header decides if present.',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    read: ratio,
    defaultText: '1',
    example: '0.01',
    help: 'Fraction of requests to trace, for samplers that end with `traceidratio`.',
  },
  OTEL_SERVICE_NAME: {
    read: oneLine,
    defaultText: null,
    example: 'files',
    help: 'Service name in traces. Default: `service.name` in `OTEL_RESOURCE_ATTRIBUTES`, or `holdall`.',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    read: pairs,
    defaultText: null,
    example: 'deployment.environment.name=production,service.instance.id=files-1',
    help: 'Resource attributes of traces: `name=value`, separated by commas.',
  },
  OTEL_SDK_DISABLED: {
    read: yesOrNo,
    defaultText: 'false',
    example: 'true',
    help: 'Whether to disable tracing.',
  },
  SHUTDOWN_TIMEOUT: {
    read: duration('s', 0, 3600),
    defaultText: '30',
    example: '10s',
    help: 'Seconds for requests in progress to finish after SIGTERM.',
  },
} as const satisfies SettingGroup;

export type SettingName = keyof typeof SETTINGS;

/** A file that contains a secret, and the variable that names it. */
export interface SecretFile {
  readonly variable: string;
  readonly path: string;
}

/** The values of all settings by name, and the files that secrets were read from. */
export type Config = ValuesOf<typeof SETTINGS> & { readonly secretFiles: readonly SecretFile[] };
