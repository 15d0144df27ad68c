import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TestContext } from 'node:test';
import { untilAborted } from '../../src/concurrency/single-flight.ts';
import { BlobCache, type BlobCacheOptions, type Fetch } from '../../src/stores/github/blobs/blob-cache.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';

export const KIB = 1024;
export const MIB = 1024 * KIB;

interface Opened {
  readonly cache: BlobCache;
  readonly folder: string;
  readonly warnings: string[];
}

/** Opens a cache, closes it at the end of the test, and checks that no file is open and, by default, nothing was logged. */
export async function openCache(
  t: TestContext,
  { mayWarn = false, ...options }: Partial<BlobCacheOptions> & { mayWarn?: boolean } = {},
): Promise<Opened> {
  const folder = options.folder ?? join(await temporaryFolder(t), 'made', 'blobs');
  const warnings: string[] = [];
  const cache = new BlobCache({
    size: 100 * MIB,
    warn: (message) => void warnings.push(message),
    ...options,
    folder,
  });
  atEnd(t, async () => {
    await cache.close();
    assert.deepEqual(await openFilesIn(folder), []);
    if (!mayWarn) assert.deepEqual(warnings, []);
  });
  return { cache, folder, warnings };
}

interface TestBlob {
  readonly sha: string;
  readonly size: number;
  readonly bytes: Buffer;
}

export function blobOf(bytes: Buffer): TestBlob {
  const sha = hash('sha1', Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes]));
  return { sha, size: bytes.length, bytes };
}

/** Creates a host that sends a blob in chunks. */
export function hostOf({ bytes }: TestBlob) {
  const host = {
    calls: 0,
    signals: [] as AbortSignal[],
    fetch: async (signal: AbortSignal) => {
      host.calls++;
      host.signals.push(signal);
      return Readable.from(chunksOf(bytes));
    },
  };
  return host;
}

function* chunksOf(bytes: Buffer) {
  for (let start = 0; start < bytes.length; start += 16_000) yield bytes.subarray(start, start + 16_000);
}

/** Fails the test when a cached blob is fetched. */
export const failOnFetch: Fetch = async () => assert.fail('The blob was fetched again.');

/** Creates a host whose body the test writes. It responds immediately, or when `response` resolves. Aborts end it. */
export function controlledHost(response?: Promise<Readable>) {
  const body = new PassThrough();
  const signals: AbortSignal[] = [];
  const fetch = (signal: AbortSignal) => {
    signals.push(signal);
    return untilAborted(response ?? Promise.resolve(body), signal);
  };
  return { body, signals, fetch };
}

export function* endless() {
  for (;;) yield Buffer.alloc(64 * KIB);
}

export async function* truncatedBlob(bytes: Buffer) {
  yield bytes;
  throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
}

/** Collects the bytes of a stream; `ended` settles at its end. */
export function collect(readable: Readable) {
  const chunks: Buffer[] = [];
  const received = { length: 0, bytes: () => Buffer.concat(chunks) };
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      received.length += chunk.length;
      done();
    },
  });
  const ended = pipeline(readable, sink);
  ended.catch(() => {});
  return { received, ended };
}

/** Reads one chunk and then stops reading. */
export async function firstBytes(readable: Readable): Promise<Buffer> {
  return until('a chunk has arrived', () => {
    const chunk: unknown = readable.read();
    return Buffer.isBuffer(chunk) && chunk;
  });
}

export async function sizesIn(folder: string): Promise<number[]> {
  return Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
}

/** Returns the open files of this process in a folder, including deleted ones. */
export async function openFilesIn(folder: string): Promise<string[]> {
  const files = '/proc/self/fd';
  const numbers = await readdir(files).catch(() => []);
  const paths = await Promise.all(numbers.map((number) => readlink(join(files, number)).catch(() => '')));
  return paths.filter((path) => path.startsWith(`${folder}/`));
}

export function unavailable(message: RegExp) {
  return { name: 'StoreError', kind: 'unavailable', message };
}
