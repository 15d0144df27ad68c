import assert from 'node:assert/strict';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type CORSRule,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketCorsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { eachOf } from '../../bench/harness/each-of.ts';
import { mediaTypeOf } from '../../src/domain/media-type.ts';
import { contentsOf } from '../process/debris.ts';
import type { TestBucket } from '../servers/bucket.ts';
import { settingsOf } from '../servers/settings.ts';

/** What a site has stored, looked at and changed without the service. Paths are relative to the site's root. */
export interface Stored {
  /** The bytes of a file; rejects where there is none. */
  read(path: string): Promise<Buffer>;
  /** Whether there is a file of this path or, where it ends with a `/`, a folder. */
  exists(path: string): Promise<boolean>;
  /** The paths of all files, in their order. */
  paths(): Promise<string[]>;
  /** Stores files as somebody else would; a path that ends with a `/` is an empty folder. */
  place(files: Readonly<Record<string, string | Uint8Array>>): Promise<void>;
  /** Where a bucket answers by itself, as it does for large files: pages have to be allowed to ask there. */
  readonly bucketOrigins: readonly string[];
  /** The environment variables by which the service serves it. */
  readonly settings: Readonly<Record<string, string>>;
}

export function storedOnDisk(root: string): Stored {
  return {
    read: (path) => readFile(join(root, path)),
    async exists(path) {
      const found = await stat(join(root, path)).catch(() => undefined);
      return found !== undefined && found.isDirectory() === path.endsWith('/');
    },
    paths: async () => (await contentsOf(root)).filter((path) => !path.endsWith('/')),
    async place(files) {
      for (const [path, content] of Object.entries(files)) {
        await mkdir(path.endsWith('/') ? join(root, path) : dirname(join(root, path)), { recursive: true });
        if (!path.endsWith('/')) await writeFile(join(root, path), content);
      }
    },
    bucketOrigins: [],
    settings: {},
  };
}

/** `cacheFolder` takes the thumbnails, which would lie in the home of who runs the tests. */
export function storedInBucket(bucket: TestBucket, cacheFolder: string): Stored {
  const { client, name: Bucket, settings } = bucket;
  return {
    async read(path) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: path }));
      assert.ok(Body, `${path} has no body.`);
      return Buffer.from(await Body.transformToByteArray());
    },
    async exists(path) {
      // The first key that begins with a path is the path itself, if it is there.
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: path, MaxKeys: 1 }));
      return Contents.some(({ Key }) => path.endsWith('/') || Key === path);
    },
    paths: async () => (await bucket.keys()).filter((key) => !key.endsWith('/')).toSorted(),
    place: (files) =>
      eachOf(Object.entries(files), 16, async ([Key, content]) => {
        const Body = Buffer.from(content);
        const ContentType = Key.endsWith('/') ? undefined : mediaTypeOf(Key);
        await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType }));
      }),
    bucketOrigins: [new URL(settings.endpoint ?? '').origin],
    settings: { ...settingsOf(bucket), CACHE_DIR: cacheFolder, CACHE_SIZE: '256MiB' },
  };
}

/** Lets pages of an origin read what the bucket answers, by the configuration that docs/stores/s3.md gives for that. */
export async function allowOrigin({ client, name: Bucket }: TestBucket, origin: string): Promise<void> {
  const rules = (await documentedCors()).map((rule): CORSRule => ({ ...rule, AllowedOrigins: [origin] }));
  await client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules: rules } }));
}

async function documentedCors(): Promise<CORSRule[]> {
  const page = await readFile(new URL('../../docs/stores/s3.md', import.meta.url), 'utf8');
  const example = [...page.matchAll(/```json\n(.*?)```/gs)].find(([, json = '']) => json.includes('AllowedOrigins'));
  assert.ok(example?.[1], 'docs/stores/s3.md gives a CORS configuration.');
  return JSON.parse(example[1]);
}
