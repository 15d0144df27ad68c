import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { PendingUpload, Store, UploadDestination } from '../../src/model/store.ts';
import { partBytesOf, testObjectStore } from '../../testing/servers/object-store.ts';
import type { ProxiedBucket } from '../../testing/servers/proxied-bucket.ts';
import { assertSameBytes, file } from '../contract/bytes.ts';

/* An upload in parts of the file `a` to a bucket. */

/** Bytes of a part. */
export const PART = partBytesOf(testObjectStore());

export const TYPE = 'text/x-a';

/** Begins the upload `id` of the file `a`. */
export async function begin(
  { createUpload }: Store,
  { id = 'id', ...target }: Partial<UploadDestination> & { readonly id?: string },
): Promise<void> {
  await createUpload?.(id, { file: file('a'), type: TYPE, ...target });
}

export async function open({ openUpload }: Store, id = 'id'): Promise<PendingUpload> {
  assert.ok(openUpload);
  return openUpload(id);
}

export async function append(store: Store, bytes: Buffer | string, id = 'id'): Promise<number> {
  return (await open(store, id)).append(Readable.from([Buffer.from(bytes)]));
}

export async function commit(store: Store, id = 'id', options: Parameters<PendingUpload['commit']>[2] = {}) {
  return (await open(store, id)).commit(file('a'), { type: TYPE }, options);
}

export async function assertStored(store: Store, bytes: Buffer): Promise<void> {
  assertSameBytes(await buffer((await store.read(file('a'))).body), bytes);
}

/** Asserts that the bucket has only the file and some others. */
export async function assertOnly({ store, bucket }: ProxiedBucket, bytes: Buffer, ...others: string[]): Promise<void> {
  await assertStored(store, bytes);
  assert.deepEqual(await bucket.keys(), ['a', ...others]);
  assert.deepEqual(await bucket.openUploads(), []);
}
