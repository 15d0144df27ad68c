import assert from 'node:assert/strict';
import { hash, randomUUID } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  ListPartsCommand,
  NoSuchUpload,
  PutBucketVersioningCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import type { S3Options } from '../../src/stores/s3/bucket.ts';
import type { Credentials } from '../../src/stores/s3/credentials.ts';
import { type ObjectStore, testObjectStore } from './object-store.ts';

/** A new bucket in the object store of the tests. */
export interface TestBucket {
  readonly settings: Omit<S3Options, 'warn'> & { readonly credentials: Credentials };
  /** Reads and changes the bucket directly, without the service. */
  readonly client: S3Client;
  readonly name: string;
  /** Whether the bucket's store is temporary, so that nothing has to be removed. */
  readonly isTemporary: boolean;
  /** Returns the keys of all objects, in the order of the store. */
  keys(): Promise<string[]>;
  /** Returns the keys of the multipart uploads that are neither completed nor aborted. */
  openUploads(): Promise<string[]>;
  /** Returns a line with the key and the number of parts of each of them that has parts. */
  openParts(): Promise<string[]>;
  /** Removes all objects and aborts all multipart uploads. */
  empty(): Promise<void>;
  /** Removes the bucket and everything in it, except in a temporary store. */
  remove(): Promise<void>;
}

/** Creates a bucket. With `isVersioned`, it keeps object versions. */
export async function createBucket(
  store: ObjectStore = testObjectStore(),
  { isVersioned = false }: { readonly isVersioned?: boolean } = {},
): Promise<TestBucket> {
  const { endpoint, region, accessKeyId, secretAccessKey, minPartBytes, isTemporary = false } = store;
  const name = `test-${randomUUID()}`;
  const client = clientOf(store);
  const Bucket = name;
  await client.send(new CreateBucketCommand({ Bucket }));
  if (isVersioned) {
    const VersioningConfiguration = { Status: 'Enabled' } as const;
    await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
  }

  let isRemoved = false;

  const keys = async () => {
    const found: string[] = [];
    let token: string | undefined;
    do {
      const page = await client.send(
        new ListObjectsV2Command({ Bucket, ContinuationToken: token, EncodingType: 'url' }),
      );
      for (const { Key = '' } of page.Contents ?? []) found.push(decodeURIComponent(Key.replaceAll('+', ' ')));
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return found;
  };

  const uploads = async () => (await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? [];

  const removeVersions = async () => {
    for (;;) {
      const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
      const all = [...Versions, ...DeleteMarkers];
      if (all.length === 0) return;
      for (const { Key, VersionId } of all) await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
    }
  };

  const empty = async () => {
    if (isVersioned) await removeVersions();
    const [left, open] = await Promise.all([keys(), uploads()]);
    const batches = left.filter(isXmlText);
    while (batches.length > 0) await removeBatch(batches.splice(0, 1000));
    for (const Key of left) if (!isXmlText(Key)) await client.send(new DeleteObjectCommand({ Bucket, Key }));
    for (const { Key, UploadId } of open) {
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    }
  };

  const removeBatch = async (batch: readonly string[]) => {
    const Delete = { Objects: batch.map((Key) => ({ Key })), Quiet: true };
    const { Errors = [] } = await client.send(new DeleteObjectsCommand({ Bucket, Delete }));
    assert.deepEqual(Errors, []);
  };

  return {
    name,
    client,
    isTemporary,
    settings: {
      bucket: name,
      endpoint,
      region,
      credentials: { accessKeyId, secretAccessKey },
      addressing: 'path',
      publicUrl: undefined,
      concurrency: 64,
      ...(minPartBytes !== undefined && { minPartBytes }),
    },
    keys,
    openUploads: async () => (await uploads()).map(({ Key = '' }) => Key),
    async openParts() {
      const found: string[] = [];
      for (const { Key, UploadId } of await uploads()) {
        try {
          const { Parts = [] } = await client.send(new ListPartsCommand({ Bucket, Key, UploadId }));
          if (Parts.length > 0) found.push(`${Key} (${Parts.length} parts)`);
        } catch (error) {
          // It has ended meanwhile.
          if (!(error instanceof NoSuchUpload)) throw error;
        }
      }
      return found;
    },
    empty,
    async remove() {
      if (isRemoved || isTemporary) return;
      isRemoved = true;
      await empty();
      await client.send(new DeleteBucketCommand({ Bucket }));
    },
  };
}

const clients = new Map<string, S3Client>();

/** Returns the client of the store, whose connections all buckets share. Idle connections don't keep the process running. */
function clientOf({ endpoint, region, accessKeyId, secretAccessKey }: ObjectStore): S3Client {
  const key = `${endpoint} ${accessKeyId}`;
  const known = clients.get(key);
  if (known) return known;
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  // Stores such as Swift require Content-MD5 for DeleteObjects. The SDK sends only newer checksums.
  client.middlewareStack.add(
    (next, { commandName }) =>
      (given) => {
        const { request } = given;
        if (commandName === 'DeleteObjectsCommand' && isTextRequest(request))
          request.headers['content-md5'] = hash('md5', request.body, 'base64');
        return next(given);
      },
    { step: 'build' },
  );
  clients.set(key, client);
  return client;
}

/** Returns whether XML 1.0 can contain the key: `DeleteObjects` takes keys as XML. */
const isXmlText = (key: string) => /^[^\p{Cc}\ufffe\uffff]*$/u.test(key);

const isTextRequest = (request: unknown): request is { headers: Record<string, string>; body: string } =>
  typeof request === 'object' && request !== null && 'body' in request && typeof request.body === 'string';
