import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Store, Upload } from '../../src/model/store.ts';
import { file } from '../../tests/contract/bytes.ts';
import { partBytesOf, testObjectStore } from './object-store.ts';

/** The bytes of five parts. They differ at every offset, so that parts in a wrong order are detected. */
export const BYTES = Buffer.alloc(5 * partBytesOf(testObjectStore()));
for (let at = 0; at + 4 <= BYTES.length; at += 4) BYTES.writeUInt32LE(at, at);

/** Returns the first `size` of these bytes as an upload, in chunks whose size is no divisor of the part size. */
export function video(size: number): Upload {
  const chunks = function* () {
    for (let at = 0; at < size; at += 300_000) yield BYTES.subarray(at, Math.min(size, at + 300_000));
  };
  return { body: Readable.from(chunks(), { objectMode: false }), size, type: 'video/mp4' };
}

/** Asserts that a path has these bytes and their media type. */
export async function assertVideo({ store }: { readonly store: Store }, path: string, size: number): Promise<void> {
  const { file: entry, body } = await store.read(file(path));
  assert.equal(entry.type, 'video/mp4');
  assert.equal(entry.size, size);
  assert.ok((await buffer(body)).equals(BYTES.subarray(0, size)), 'The bytes are the same.');
}
