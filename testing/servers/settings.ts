import type { TestBucket } from './bucket.ts';
import type { HostedRepository } from './hosted-repository.ts';

/** Returns the environment variables for a service on this bucket. */
export function settingsOf({ settings }: Pick<TestBucket, 'settings'>): Record<string, string> {
  return {
    STORAGE_TYPE: 's3',
    S3_BUCKET: settings.bucket,
    S3_ENDPOINT: settings.endpoint ?? '',
    S3_REGION: settings.region,
    S3_ACCESS_KEY_ID: settings.credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: settings.credentials.secretAccessKey,
    // Prevents files in the home folder of the user who runs the tests.
    CACHE_SIZE: '0',
  };
}

/**
 * Returns the environment variables for a service on this repository, without delays between commits and with a cache
 * of the test's own.
 */
export function settingsOfRepository({ options }: Pick<HostedRepository, 'options'>): Record<string, string> {
  return {
    STORAGE_TYPE: 'github',
    GITHUB_API_URL: options.apiUrl,
    GITHUB_OWNER: options.owner,
    GITHUB_REPO: options.repository,
    GITHUB_BRANCH: options.branch,
    GITHUB_TOKEN: options.token ?? '',
    GITHUB_WRITES_PER_MINUTE: '0',
    CACHE_DIR: options.cache.folder,
    CACHE_SIZE: '0',
  };
}
