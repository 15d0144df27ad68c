import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readConfig } from '../../src/config/config.ts';
import { openStore } from '../../src/stores/registry.ts';
import { temporaryFolder } from '../../testing/holdall.ts';

const BUCKET = {
  STORAGE_TYPE: 's3',
  S3_BUCKET: 'my-files',
  S3_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
  S3_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const REPOSITORY = { STORAGE_TYPE: 'github', READ_ONLY: 'true', GITHUB_OWNER: 'octocat', GITHUB_REPO: 'my-files' };
const R2 = 'https://0123.r2.cloudflarestorage.com';

describe('contentOrigins', () => {
  for (const [name, settings, origins] of [
    ['a disk', {}, []],
    ['a bucket', { ...BUCKET, S3_ENDPOINT: R2 }, [R2]],
    ['a bucket at an IP address', { ...BUCKET, S3_ENDPOINT: 'http://127.0.0.1:9000/' }, ['http://127.0.0.1:9000']],
    [
      'a bucket with virtual-hosted addressing',
      { ...BUCKET, S3_ENDPOINT: R2, S3_ADDRESSING: 'virtual' },
      ['https://my-files.0123.r2.cloudflarestorage.com'],
    ],
    [
      'a bucket on AWS',
      { ...BUCKET, S3_REGION: 'eu-central-1', S3_ADDRESSING: 'virtual' },
      ['https://my-files.s3.eu-central-1.amazonaws.com'],
    ],
    ['a bucket on AWS in China', { ...BUCKET, S3_REGION: 'cn-north-1' }, ['https://s3.cn-north-1.amazonaws.com.cn']],
    [
      'a bucket with S3_PUBLIC_URL',
      { ...BUCKET, S3_ENDPOINT: R2, S3_PUBLIC_URL: 'https://files.example.org/all' },
      [R2, 'https://files.example.org'],
    ],
    [
      'a GitHub repository',
      REPOSITORY,
      [
        'https://raw.githubusercontent.com',
        'https://media.githubusercontent.com',
        'https://objects.githubusercontent.com',
        'https://github-cloud.githubusercontent.com',
        'https://github-cloud.s3.amazonaws.com',
      ],
    ],
    [
      'a GitHub Enterprise repository',
      { ...REPOSITORY, GITHUB_API_URL: 'https://github.example.org:8443/api/v3' },
      [
        'https://github.example.org:8443',
        'https://raw.github.example.org:8443',
        'https://media.github.example.org:8443',
      ],
    ],
    [
      'a repository on a server at an IP address',
      { ...REPOSITORY, GITHUB_API_URL: 'http://127.0.0.1:3000' },
      ['http://127.0.0.1:3000'],
    ],
  ] as const) {
    it(`lists ${origins.length} origins for ${name}`, async (t) => {
      const config = readConfig({
        DISK_ROOT: await temporaryFolder(t),
        CACHE_DIR: await temporaryFolder(t),
        ...settings,
      });
      const opened = await openStore(config, { info() {}, warn() {}, error() {}, onRetry() {}, onCommit() {} });
      await opened.store.close?.();
      assert.deepEqual(opened.contentOrigins, origins);
    });
  }
});
