import { availableParallelism } from 'node:os';
import { MIN_KEY_BYTES } from '../model/url-signer.ts';
import {
  claim,
  contactUri,
  contentOrigin,
  host,
  instant,
  integer,
  issuer,
  logDestination,
  oneLine,
  oneOf,
  pairs,
  password,
  proxies,
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

/** Default number of workers: one per core, at most 8 to limit their memory. */
const DEFAULT_WORKERS = Math.min(availableParallelism(), 8);

/** The values of `STORAGE_TYPE` with their descriptions. */
const TYPE_HELP = Object.entries(STORAGE_TYPES)
  .map(([type, description]) => `\`${type}\`: ${description}`)
  .join('; ');

/**
 * All settings. Reading, `--help` and the documentation use this list and its order. A `fallback` of null means that
 * the setting has no value unless it is set.
 */
export const SETTINGS = {
  STORAGE_TYPE: {
    read: oneOf(...(Object.keys(STORAGE_TYPES) as StorageType[])),
    fallback: 'disk',
    example: 's3',
    help: `Storage backend. ${TYPE_HELP}.`,
  },
  ...BACKEND_SETTINGS,
  HOST: {
    read: host,
    fallback: '127.0.0.1',
    example: '0.0.0.0',
    help: 'The address to listen on. The default is reached from this machine alone; any other needs `ACCESS_FILE`, or `ACCESS=open`.',
  },
  PORT: {
    read: integer(0, 65535),
    fallback: '8080',
    example: '8080',
    help: 'The port to listen on; 0 takes a free one.',
  },
  PUBLIC_URL: {
    read: url({ path: true }),
    fallback: null,
    example: 'https://files.example.org',
    help: 'The address by which people reach the service. Requests for other hosts are refused then, but for those of this machine; signing in by `OIDC_ISSUER` needs it.',
  },
  TRUST_PROXY: {
    read: proxies,
    fallback: null,
    example: 'loopback,10.0.0.0/8',
    help: 'The proxies whose `X-Forwarded-For`, `-Proto` and `-Host` are believed: addresses, networks, or `loopback`. Without it, none is.',
  },
  ACCESS: {
    read: oneOf('open'),
    fallback: null,
    example: 'open',
    help: '`open` says that whoever reaches the port may do everything. Without it and without `ACCESS_FILE`, only this machine may, on a loopback `HOST`.',
  },
  ACCESS_FILE: {
    read: text,
    fallback: null,
    example: '/etc/holdall/access.json',
    help: 'The file that says who there is and what they may do: see docs/access.md. It is read again when it changes.',
  },
  SESSION_LIFETIME: {
    read: integer(60, 31_536_000),
    fallback: '604800',
    example: '43200',
    help: 'Seconds after which somebody who signed in has to do so again.',
  },
  STATE_DIR: {
    read: text,
    fallback: null,
    example: '/var/lib/holdall',
    help: 'The folder for what has to be remembered: the key, and the sessions that were ended. Without it: on disk `.holdall` under `DISK_ROOT`, for a bucket or a repository a folder of its own under `~/.local/state/holdall`.',
  },
  OIDC_ISSUER: {
    read: issuer,
    fallback: null,
    example: 'https://login.example.org',
    help: 'The OpenID Connect provider by which people sign in to the page. It needs `OIDC_CLIENT_ID` and `PUBLIC_URL`, under which `/-/sign-in/callback` is where it sends them back to.',
  },
  OIDC_CLIENT_ID: {
    read: oneLine,
    fallback: null,
    example: 'holdall',
    help: 'The id under which the provider knows this service.',
  },
  OIDC_CLIENT_SECRET: {
    read: password,
    fallback: null,
    example: 'the-secret-that-the-provider-gave',
    help: 'The secret that goes with it. Without one, the service is a public client.',
    isSecret: true,
  },
  OIDC_SCOPE: {
    read: oneLine,
    fallback: 'openid email profile',
    example: 'openid email profile groups',
    help: 'What the provider is asked for.',
  },
  OIDC_NAME_CLAIM: {
    read: claim,
    fallback: 'email',
    example: 'preferred_username',
    help: 'The claim that is the name of a person in the access file. An `email` counts only if the provider says that it is verified.',
  },
  OIDC_GROUPS_CLAIM: {
    read: claim,
    fallback: 'groups',
    example: 'roles',
    help: 'The claim with the groups of a person: a list, or one name.',
  },
  JWT_ISSUER: {
    read: issuer,
    fallback: null,
    example: 'https://login.example.org',
    help: 'Whose JSON Web Tokens are taken as `Authorization: Bearer`. It needs `JWT_AUDIENCE`.',
  },
  JWT_AUDIENCE: {
    read: oneLine,
    fallback: null,
    example: 'https://files.example.org',
    help: 'The audience that such a token must be for.',
  },
  JWT_JWKS_URL: {
    read: issuer,
    fallback: null,
    example: 'https://login.example.org/jwks.json',
    help: 'Where the keys of the issuer are. Without it, its discovery document says.',
  },
  JWT_NAME_CLAIM: {
    read: claim,
    fallback: 'sub',
    example: 'client_id',
    help: 'The claim of such a token that is the name of a person in the access file.',
  },
  JWT_GROUPS_CLAIM: {
    read: claim,
    fallback: 'groups',
    example: 'roles',
    help: 'The claim of such a token with the groups of that person.',
  },
  CONTENT_ORIGIN: {
    read: contentOrigin,
    fallback: null,
    example: 'https://files-content.example.org',
    help: 'An origin of its own for the contents of files, which leads to this service as well: nothing in a file can then act on the page. `/file/` redirects there.',
  },
  AUDIT_LOG: {
    read: logDestination,
    fallback: 'stdout',
    example: '/var/log/holdall/audit.log',
    help: 'Where each sign-in, refusal and change is written, as a line of JSON: `stdout`, the path of a file, with a `/` in it, or `off`. SIGHUP opens the file anew.',
  },
  RATE_LIMIT: {
    read: integer(0, 10_000_000),
    fallback: null,
    example: '600',
    help: 'Requests that one client may send in a minute; 0 is without limit. Without it, 6000, and no limit for a service that only this machine reaches.',
  },
  REDIS_URL: {
    read: redisUrl,
    fallback: null,
    example: 'rediss://default:password@redis.example.org:6379/0',
    help: 'A Redis that services on several machines share: for limits on requests, and the sessions that were ended. Without it, each machine counts for itself.',
    isSecret: true,
  },
  MAX_CONNECTIONS: {
    read: integer(1, 1_000_000),
    fallback: '10000',
    example: '2000',
    help: 'Connections that a process has at once; further ones are closed. One client has a quarter of them.',
  },
  HEADERS_TIMEOUT: {
    read: integer(1, 3600),
    fallback: '20',
    example: '10',
    help: 'Seconds within which the head of a request must have come.',
  },
  IDLE_TIMEOUT: {
    read: integer(1, 86_400),
    fallback: '60',
    example: '30',
    help: 'Seconds after which a connection is closed whose client neither sends what it announced nor takes what it asked for.',
  },
  MAX_EVENT_LOOP_DELAY: {
    read: integer(0, 60_000),
    fallback: '1000',
    example: '250',
    help: 'Milliseconds by which a process may lag behind before it answers requests with 503; 0 never does.',
  },
  WORKERS: {
    read: integer(1, 256),
    fallback: String(DEFAULT_WORKERS),
    example: '4',
    help: 'Processes that serve requests. The default is the number of cores, 8 at most; for a repository it is 1, as processes share neither its quota nor their commits.',
  },
  UV_THREADPOOL_SIZE: {
    read: integer(4, 1024),
    fallback: '32',
    example: '128',
    help: 'Threads of each process for what the system takes its time for. Half of them read from a disk at once: one that takes 0.2 seconds for each read gives 80 files a second with 32.',
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
    help: 'The key of sessions, and of the URLs that the service signs itself. Without it, one is made and kept in `STATE_DIR`; services on several machines need the same one.',
    isSecret: true,
  },
  API_DOCS: {
    read: yesOrNo,
    fallback: 'true',
    example: 'false',
    help: 'Whether `/-/docs` and `/-/openapi.json` describe the HTTP API. With `false`, both return 404.',
  },
  SECURITY_CONTACT: {
    read: contactUri,
    fallback: null,
    example: 'mailto:security@example.org',
    help: 'Where to report vulnerabilities, for `/.well-known/security.txt`. It needs `SECURITY_EXPIRES`.',
  },
  SECURITY_EXPIRES: {
    read: instant,
    fallback: null,
    example: '2027-06-30T00:00:00Z',
    help: 'When `/.well-known/security.txt` becomes outdated, at most a year ahead. It needs `SECURITY_CONTACT`.',
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
  THUMBNAIL_MEMORY: {
    read: size,
    fallback: null,
    example: '512MiB',
    help: 'Maximum memory of all processes that draw large images, divided among the workers. Default: half of the memory. Minimum: 128 MiB for each worker.',
  },
  LOG_LEVEL: {
    read: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    fallback: 'info',
    example: 'warn',
    help: 'The least level that is logged. `info` has a line for each request, `debug` one for each call of the store, and for each request that it sends.',
  },
  METRICS_TOKEN: {
    read: secret(MIN_TOKEN_BYTES),
    fallback: null,
    example: 'the output of: openssl rand -hex 32',
    help: 'Who sends this as `Authorization: Bearer` may read `/-/metrics`. Without it, nothing is counted, and there are no metrics.',
    isSecret: true,
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    read: url({ path: true }),
    fallback: null,
    example: 'http://127.0.0.1:4318',
    help: 'The collector of OpenTelemetry that traces are sent to, by OTLP over HTTP: `/v1/traces` under this address. Without it, and without the next one, there are no traces.',
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    read: url({ path: true }),
    fallback: null,
    example: 'https://otlp.example.org/v1/traces',
    help: 'The same as a whole address, for traces alone.',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    read: pairs,
    fallback: null,
    example: 'authorization=Bearer%20the-token-of-the-collector',
    help: 'Headers of what is sent there, as `name=value`, with commas between them, and `%20` for a space.',
    isSecret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    read: oneOf('http/protobuf'),
    fallback: 'http/protobuf',
    example: 'http/protobuf',
    help: 'How it is sent. Collectors take it on port 4318; gRPC, on 4317, is not spoken here.',
  },
  OTEL_TRACES_EXPORTER: {
    read: oneOf('otlp', 'none'),
    fallback: 'otlp',
    example: 'none',
    help: '`none` sends no traces, whatever the address.',
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
    fallback: 'parentbased_always_on',
    example: 'parentbased_traceidratio',
    help: 'Which requests are traced. Those that begin with `parentbased_` do as the `traceparent` of the request says, where it has one.',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    read: ratio,
    fallback: '1',
    example: '0.01',
    help: 'The part of the requests that is traced where the sampler ends with `traceidratio`.',
  },
  OTEL_SERVICE_NAME: {
    read: oneLine,
    fallback: null,
    example: 'files',
    help: 'The name of the service in traces. Without it, `service.name` of the next one, or `holdall`.',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    read: pairs,
    fallback: null,
    example: 'deployment.environment.name=production,service.instance.id=files-1',
    help: 'What else traces say of the service, as `name=value`, with commas between them.',
  },
  OTEL_SDK_DISABLED: {
    read: yesOrNo,
    fallback: 'false',
    example: 'true',
    help: 'With `true`, there are no traces, whatever else is set.',
  },
  SHUTDOWN_TIMEOUT: {
    read: integer(0, 3600),
    fallback: '30',
    example: '10',
    help: 'Seconds that requests in flight may take to finish after SIGTERM.',
  },
} as const satisfies SettingGroup;

export type SettingName = keyof typeof SETTINGS;

/** The values of all settings by name. */
export type Config = ValuesOf<typeof SETTINGS>;
