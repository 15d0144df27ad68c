import { folderPath, integer, oneOf, password, type Reader, url } from '../../settings/readers.ts';
import type { SettingGroup } from '../../settings/setting.ts';
import type { SettingsOf } from '../backend.ts';
import type { StoreLog } from '../network.ts';
import type { S3Options } from './bucket.ts';

/** Reads a bucket name. It must be a single URL segment, so that a path or URL is rejected. */
const bucketName: Reader<string> = (text) =>
  /^[A-Za-z0-9][\w.-]{0,254}$/.test(text)
    ? { value: text }
    : { problem: 'must be a bucket name: letters, digits, dots and hyphens' };

/** Reads the name of a region. */
const region: Reader<string> = (text) =>
  /^[\w-]{1,64}$/.test(text) ? { value: text } : { problem: 'must be a region name: letters, digits and hyphens' };

/** The settings of a bucket. */
export const S3_SETTINGS = {
  S3_BUCKET: {
    read: bucketName,
    defaultText: null,
    example: 'my-files',
    help: 'Name of the bucket.',
    isRequired: true,
  },
  S3_ENDPOINT: {
    read: url({ path: false }),
    defaultText: null,
    example: 'https://0123456789abcdef.r2.cloudflarestorage.com',
    help: 'URL of the store, without the bucket. Default: the AWS endpoint of `S3_REGION`.',
  },
  S3_REGION: {
    read: region,
    defaultText: 'auto',
    example: 'eu-central-1',
    help: 'Region of the bucket. Use `auto` for R2 and for stores without regions.',
  },
  S3_ACCESS_KEY_ID: {
    read: password,
    defaultText: null,
    example: 'AKIAIOSFODNN7EXAMPLE',
    help: 'Access key ID. Default for `s3`: the AWS credentials of the environment.',
    isSecret: true,
  },
  S3_SECRET_ACCESS_KEY: {
    read: password,
    defaultText: null,
    example: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    help: 'Secret access key.',
    isSecret: true,
  },
  S3_SESSION_TOKEN: {
    read: password,
    defaultText: null,
    example: 'IQoJb3JpZ2luX2VjEXAMPLE',
    help: 'Session token of a temporary access key.',
    isSecret: true,
  },
  S3_PREFIX: {
    read: folderPath,
    defaultText: null,
    example: 'team/files',
    help: 'Folder of the bucket to serve. Everything outside it is invisible. Default: the whole bucket.',
  },
  S3_ADDRESSING: {
    read: oneOf('path', 'virtual'),
    defaultText: 'path',
    example: 'virtual',
    help: 'Where URLs contain the bucket: in the `path`, or in the host name (`virtual`).',
  },
  S3_PUBLIC_URL: {
    read: url({ path: true }),
    defaultText: null,
    example: 'https://files.example.org',
    help: 'Public URL of the bucket. Listings then contain the `publicUrl` of each file.',
  },
  S3_CONCURRENCY: {
    read: integer(1, 1000),
    defaultText: '64',
    example: '16',
    help: 'Maximum parallel requests per folder operation.',
  },
} as const satisfies SettingGroup;

export type S3Settings = SettingsOf<typeof S3_SETTINGS>;

/** Returns the URL of the store. */
export function endpointOf({ S3_ENDPOINT, S3_REGION }: S3Settings): string {
  return S3_ENDPOINT ?? `https://s3.${S3_REGION}.amazonaws.com`;
}

/** Returns the name of the bucket. Each prefix has a name of its own, so that it has its own caches and state. */
export function nameOfBucket(settings: S3Settings): string {
  const { S3_BUCKET: bucket, S3_PREFIX: prefix } = settings;
  return [endpointOf(settings), bucket, ...(prefix ? [prefix] : [])].join('/');
}

/** Returns the options of the configured bucket. */
export function bucketOptions(settings: S3Settings, log: Pick<StoreLog, 'warn' | 'onRetry' | 'onRequest'>): S3Options {
  const { S3_BUCKET: bucket, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = settings;
  if (bucket === undefined) throw new Error('The settings of the bucket were not checked.');
  const hasKey = accessKeyId !== undefined && secretAccessKey !== undefined;
  return {
    bucket,
    credentials: hasKey ? { accessKeyId, secretAccessKey, sessionToken: settings.S3_SESSION_TOKEN } : undefined,
    endpoint: settings.S3_ENDPOINT,
    region: settings.S3_REGION,
    ...(settings.S3_PREFIX !== undefined && { prefix: settings.S3_PREFIX }),
    addressing: settings.S3_ADDRESSING,
    publicUrl: settings.S3_PUBLIC_URL,
    concurrency: settings.S3_CONCURRENCY,
    warn: (message, details) => log.warn(message, details),
    onRetry: () => log.onRetry(),
    onRequest: log.onRequest,
  };
}
