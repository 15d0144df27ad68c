import type { TestBucket } from './bucket.ts';

/** The environment variables by which the service serves this bucket. */
export function settingsOf({ settings }: Pick<TestBucket, 'settings'>): Record<string, string> {
  return {
    STORAGE_TYPE: 's3',
    S3_BUCKET: settings.bucket,
    S3_ENDPOINT: settings.endpoint ?? '',
    S3_REGION: settings.region,
    S3_ACCESS_KEY_ID: settings.accessKeyId,
    S3_SECRET_ACCESS_KEY: settings.secretAccessKey,
    // Nothing of a test's stays in the home of who runs it.
    CACHE_SIZE: '0',
  };
}
