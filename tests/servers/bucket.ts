import { randomUUID } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import type { S3Options } from '../../src/stores/s3/settings.ts';
import { type ObjectStore, testObjectStore } from './object-store.ts';

/** A bucket of a test's own in the store that the tests were given. */
export interface TestBucket {
  readonly settings: Omit<S3Options, 'warn'>;
  /** For looking behind the interface. */
  readonly client: S3Client;
  readonly name: string;
  /** The keys of all objects, in the order of the store. */
  keys(): Promise<string[]>;
  /** The keys of the uploads in parts that were begun and neither completed nor given up. */
  openUploads(): Promise<string[]>;
  /** Removes it with everything in it. */
  remove(): Promise<void>;
}

export async function createBucket(store: ObjectStore = testObjectStore()): Promise<TestBucket> {
  const { endpoint, region, accessKeyId, secretAccessKey } = store;
  const name = `test-${randomUUID()}`;
  const client = new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const Bucket = name;
  await client.send(new CreateBucketCommand({ Bucket }));

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

  return {
    name,
    client,
    settings: {
      bucket: name,
      endpoint,
      region,
      accessKeyId,
      secretAccessKey,
      addressing: 'path',
      publicUrl: undefined,
      concurrency: 64,
    },
    keys,
    openUploads: async () => (await uploads()).map(({ Key = '' }) => Key),
    async remove() {
      if (isRemoved) return;
      isRemoved = true;
      const left = await keys();
      while (left.length > 0) {
        await Promise.all(left.splice(0, 32).map((Key) => client.send(new DeleteObjectCommand({ Bucket, Key }))));
      }
      for (const { Key, UploadId } of await uploads()) {
        await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
      }
      await client.send(new DeleteBucketCommand({ Bucket }));
      client.destroy();
    },
  };
}
