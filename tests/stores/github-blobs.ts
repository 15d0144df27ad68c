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

/** A cache that is closed at the end of the test, when no file may be open. It must not warn unless that is meant. */
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

/** A host that sends a blob, in pieces as a network does. */
export function hostOf({ bytes }: TestBlob) {
  const host = {
    calls: 0,
    signals: [] as AbortSignal[],
    fetch: async (signal: AbortSignal) => {
      host.calls++;
      host.signals.push(signal);
      return Readable.from(piecesOf(bytes));
    },
  };
  return host;
}

function* piecesOf(bytes: Buffer) {
  for (let start = 0; start < bytes.length; start += 16_000) yield bytes.subarray(start, start + 16_000);
}

/** Fails the read of whoever asks a host though nobody should. */
export const neverAsked: Fetch = async () => assert.fail('The host was asked.');

/** A host whose body is sent by hand. It answers at once, or with `answer`; until then, it ends when told. */
export function heldHost(answer?: Promise<Readable>) {
  const body = new PassThrough();
  const signals: AbortSignal[] = [];
  const fetch = (signal: AbortSignal) => {
    signals.push(signal);
    return untilAborted(answer ?? Promise.resolve(body), signal);
  };
  return { body, signals, fetch };
}

export function* endless() {
  for (;;) yield Buffer.alloc(64 * KIB);
}

export async function* brokenOff(bytes: Buffer) {
  yield bytes;
  throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
}

/** What came so far, and the end of all. */
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

/** Waits for bytes, takes one chunk, and reads no more. */
export async function firstBytes(readable: Readable): Promise<Buffer> {
  return until('there are bytes', () => {
    const chunk: unknown = readable.read();
    return Buffer.isBuffer(chunk) && chunk;
  });
}

export async function sizesIn(folder: string): Promise<number[]> {
  return Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
}

/** What this process has open in a folder, also of what was removed there. */
export async function openFilesIn(folder: string): Promise<string[]> {
  const files = '/proc/self/fd';
  const numbers = await readdir(files).catch(() => []);
  const paths = await Promise.all(numbers.map((number) => readlink(join(files, number)).catch(() => '')));
  return paths.filter((path) => path.startsWith(`${folder}/`));
}

export function unavailable(message: RegExp) {
  return { name: 'StoreError', kind: 'unavailable', message };
}
