import { availableParallelism } from 'node:os';
import { MIN_KEY_BYTES } from '../domain/url-signer.ts';
import { integer, oneOf, type Reader, secret, size, text, yesOrNo } from './readers.ts';

/** One setting: an environment variable, how it is read, and what a person is told of it. */
export interface Setting<Type> {
  readonly read: Reader<Type>;
  /** What holds where the variable is missing or empty, given as it would be written; required where undefined. */
  readonly fallback: string | null;
  readonly example: string;
  readonly help: string;
  /** Its value is never printed. */
  readonly isSecret?: true;
}

/** Workers where nothing is set: one for each core, and not so many that their memory counts. */
const DEFAULT_WORKERS = Math.min(availableParallelism(), 8);

/**
 * Every setting: the one list behind reading, `--help` and the documentation, in the order in which a person
 * wants them. A `fallback` of null means that the setting has no value unless it is set.
 */
export const SETTINGS = {
  STORAGE_TYPE: {
    read: oneOf('disk'),
    fallback: 'disk',
    example: 'disk',
    help: 'Where the files are: `disk` is a folder of this machine.',
  },
  DISK_ROOT: {
    read: text,
    fallback: './data',
    example: '/srv/files',
    help: "The folder to serve, made when it is missing. `.holdall` in it is the service's own.",
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
    example: '4',
    help: 'Processes that serve requests. The default is the number of cores, 8 at most.',
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
    help: 'The folder for thumbnails that were made. Without it, it is `.holdall/cache` under `DISK_ROOT`.',
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
