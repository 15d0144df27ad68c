import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { forEachConcurrently } from '../../testing/for-each-concurrently.ts';
import type { ObjectStore } from './object-store.ts';

/** A new bucket, which is emptied and removed with its owner unless its store is temporary. */
export interface Bucket extends AsyncDisposable {
  readonly name: string;
  readonly store: ObjectStore;
  /** Stores objects by key. */
  put(objects: ReadonlyMap<string, Buffer>, signal: AbortSignal): Promise<void>;
  /** Returns all objects whose keys have this prefix. */
  list(prefix: string, signal: AbortSignal): Promise<StoredObject[]>;
  read(key: string, signal: AbortSignal): Promise<Readable>;
  /** Removes all objects whose keys have this prefix. */
  clear(prefix: string, signal: AbortSignal): Promise<void>;
  /** Returns a presigned URL of an object, valid for an hour. */
  presignObject(key: string): Promise<URL>;
  /** Returns a presigned URL that lists the first 1,000 entries of a folder as XML. */
  presignList(prefix: string): Promise<URL>;
}

interface StoredObject {
  readonly key: string;
  readonly size: number;
  /** Returns the MD5 of an object in hexadecimal, if it was uploaded in one request and is not encrypted. */
  readonly etag: string;
}

export async function createBucket(store: ObjectStore, signal: AbortSignal): Promise<Bucket> {
  const client = connect(store);
  const name = `holdall-bench-${randomUUID()}`;
  await client.send(new CreateBucketCommand({ Bucket: name }), { abortSignal: signal });
  const bucket = openBucket(name, store, client);
  return {
    ...bucket,
    [Symbol.asyncDispose]: async () => {
      if (!store.isOwn) {
        // Must not be interrupted, because orphaned objects in a remote store cost money.
        await bucket.clear('', new AbortController().signal);
        await client.send(new DeleteBucketCommand({ Bucket: name }));
      }
      client.destroy();
    },
  };
}

function connect({ account }: ObjectStore): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey } = account;
  return new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

/** Concurrent requests that store or remove objects. */
const concurrency = 32;

function openBucket(name: string, store: ObjectStore, client: S3Client): Omit<Bucket, keyof AsyncDisposable> {
  const bucket: Omit<Bucket, keyof AsyncDisposable> = {
    name,
    store,
    put: async (objects, abortSignal) => {
      await forEachConcurrently(objects, concurrency, async ([key, body]) => {
        await client.send(new PutObjectCommand({ Bucket: name, Key: key, Body: body }), { abortSignal });
      });
    },
    list: async (prefix, abortSignal) => {
      const found: StoredObject[] = [];
      const pages = paginateListObjectsV2({ client }, { Bucket: name, Prefix: prefix }, { abortSignal });
      for await (const { Contents = [] } of pages) {
        for (const { Key = '', Size = 0, ETag = '' } of Contents) {
          found.push({ key: Key, size: Size, etag: ETag.replaceAll('"', '') });
        }
      }
      return found;
    },
    read: async (key, abortSignal) => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: name, Key: key }), { abortSignal });
      if (!(Body instanceof Readable)) throw new Error(`${key} came without its content`);
      return Body;
    },
    clear: async (prefix, abortSignal) => {
      const found = await bucket.list(prefix, abortSignal);
      // One by one, because some stores don't support DeleteObjects.
      await forEachConcurrently(found, concurrency, async ({ key }) => {
        await client.send(new DeleteObjectCommand({ Bucket: name, Key: key }), { abortSignal });
      });
    },
    presignObject: async (key) => {
      return new URL(await getSignedUrl(client, new GetObjectCommand({ Bucket: name, Key: key }), lifetime));
    },
    presignList: async (prefix) => {
      const command = new ListObjectsV2Command({ Bucket: name, Prefix: prefix, Delimiter: '/', MaxKeys: 1000 });
      return new URL(await getSignedUrl(client, command, lifetime));
    },
  };
  return bucket;
}

const lifetime = { expiresIn: 3600 };
