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
import { mediaTypeOf } from '../../src/model/presentation.ts';
import { forEachConcurrently } from '../../testing/for-each-concurrently.ts';
import type { TestBucket } from '../../testing/servers/bucket.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { contentsOf } from '../process/temporary-files.ts';

/** The store of a site, read and changed without the service. Paths are relative to the site's root. */
export interface Stored {
  /** Returns the content of a file. Rejects if it does not exist. */
  read(path: string): Promise<Buffer>;
  /** Returns whether this file exists, or this folder if the path ends with a `/`. */
  exists(path: string): Promise<boolean>;
  /** Returns the sorted paths of all files. */
  paths(): Promise<string[]>;
  /** Stores files. A path that ends with a `/` is an empty folder. */
  place(files: Readonly<Record<string, string | Uint8Array>>): Promise<void>;
  /** The origins of the bucket, which pages download large files from. */
  readonly bucketOrigins: readonly string[];
  /** The environment variables with which the service uses this store. */
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

/** `cacheFolder` is the folder of the thumbnails. The default is in the home folder of the user who runs the tests. */
export function storedInBucket(bucket: TestBucket, cacheFolder: string): Stored {
  const { client, name: Bucket, settings } = bucket;
  return {
    async read(path) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: path }));
      assert.ok(Body, `${path} has no body.`);
      return Buffer.from(await Body.transformToByteArray());
    },
    async exists(path) {
      // The first key that starts with the path is the path itself, if it exists.
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: path, MaxKeys: 1 }));
      return Contents.some(({ Key }) => path.endsWith('/') || Key === path);
    },
    paths: async () => (await bucket.keys()).filter((key) => !key.endsWith('/')).toSorted(),
    place: (files) =>
      forEachConcurrently(Object.entries(files), 16, async ([Key, content]) => {
        const Body = Buffer.from(content);
        const ContentType = Key.endsWith('/') ? undefined : mediaTypeOf(Key);
        await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentType }));
      }),
    bucketOrigins: [new URL(settings.endpoint ?? '').origin],
    settings: { ...settingsOf(bucket), CACHE_DIR: cacheFolder, CACHE_SIZE: '256MiB' },
  };
}

/** Lets pages of an origin read the bucket's responses, with the CORS configuration of docs/how-to/stores/s3.md. */
export async function allowOrigin({ client, name: Bucket }: TestBucket, origin: string): Promise<void> {
  const rules = (await documentedCors()).map((rule): CORSRule => ({ ...rule, AllowedOrigins: [origin] }));
  await client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules: rules } }));
}

async function documentedCors(): Promise<CORSRule[]> {
  const page = await readFile(new URL('../../docs/how-to/stores/s3.md', import.meta.url), 'utf8');
  const example = [...page.matchAll(/```json\n(.*?)```/gs)].find(([, json = '']) => json.includes('AllowedOrigins'));
  assert.ok(example?.[1], 'docs/how-to/stores/s3.md gives a CORS configuration.');
  return JSON.parse(example[1]);
}
