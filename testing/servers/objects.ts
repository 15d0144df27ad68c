import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import type { Store } from '../../src/model/store.ts';
import { file } from '../../tests/contract/bytes.ts';
import type { TestBucket } from './bucket.ts';
import { minPartBytesOfTests, partBytesOf } from './object-store.ts';

type InBucket = { readonly bucket: TestBucket };

/** Maximum bytes that tests copy in one request: the minimum size of an object's part. */
export const MAX_COPY_BYTES = minPartBytesOfTests().minPartBytes ?? 5 * 2 ** 20;

/** Two objects of the same size, which are uploaded and copied in two parts. The parts differ. */
export const LARGE = Buffer.alloc(partBytesOf(minPartBytesOfTests()) + 1000, 'a large object ');
export const OTHER = Buffer.alloc(LARGE.length, '0123456');

/** The metadata of the objects. */
export const ATTRIBUTES = {
  ContentType: 'text/csv',
  CacheControl: 'max-age=7',
  ContentDisposition: 'attachment; filename="x"',
  ContentLanguage: 'de',
  Metadata: { author: 'somebody', year: '2026' },
};

/** Puts an object with all this metadata, without the service. */
export async function put({ bucket }: InBucket, Key: string, Body: Buffer | string): Promise<void> {
  const command = new PutObjectCommand({ Bucket: bucket.name, Key, Body, ...ATTRIBUTES });
  await bucket.client.send(command);
}

/** Returns the metadata of an object, including the record of what it is a copy of. */
export async function attributesOf(
  { bucket }: InBucket,
  Key: string,
): Promise<{ copyOf: string | undefined; attributes: object }> {
  const head = await bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key }));
  const { ContentType, CacheControl, ContentDisposition, ContentLanguage, Metadata } = head;
  const { 'holdall-copy-of': copyOf, ...own } = Metadata ?? {};
  return {
    copyOf: copyOf?.split(' ')[0],
    attributes: { ContentType, CacheControl, ContentDisposition, ContentLanguage, Metadata: own },
  };
}

export async function bytesAt({ store }: { readonly store: Store }, path: string): Promise<Buffer> {
  const { body } = await store.read(file(path));
  return buffer(body);
}

/**
 * Makes all leases below a prefix those of processes that have left them, which other processes acquire like expired ones.
 */
export async function expireLeases({ bucket: { client, name: Bucket } }: InBucket, prefix = ''): Promise<void> {
  const { Contents = [] } = await client.send(
    new ListObjectsV2Command({ Bucket, Prefix: `${prefix}.holdall/leases/` }),
  );
  for (const { Key } of Contents) {
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    const lease: object = JSON.parse((await Body?.transformToString()) ?? '{}');
    await client.send(new PutObjectCommand({ Bucket, Key, Body: JSON.stringify({ ...lease, owner: '' }) }));
  }
}

/** The optional members that a bucket store has. */
export function transfersOf(store: Store): Required<Pick<Store, 'copy' | 'move' | 'copyFolder' | 'moveFolder'>> {
  const { copy, move, copyFolder, moveFolder } = store;
  assert.ok(copy && move && copyFolder && moveFolder);
  return { copy, move, copyFolder, moveFolder };
}
