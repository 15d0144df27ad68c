import { Readable } from 'node:stream';
import { StoreError } from '../model/error.ts';
import type { ResolvedRange } from '../model/range.ts';
import type { Content, FileEntry } from '../model/store.ts';
import { inheritRecycler } from './chunk-recycling.ts';

/** The checks on a body while it is read. */
export interface BodyChecks {
  /** Maximum size in bytes; undefined for no limit. The body fails with `too-large` as soon as it exceeds it. */
  readonly limit?: number | undefined;
  /** Called with each chunk before the reader gets it. */
  readonly onChunk?: ((chunk: Buffer | string) => void) | undefined;
  /** Called after the last byte. The body ends when it resolves, and fails with its error when it rejects. */
  readonly atEnd?: (() => Promise<void>) | undefined;
}

/**
 * Returns a stream of the same bytes that ends only after `atEnd` has resolved. A store therefore commits only after
 * the rest of the request is valid. Errors of both streams reach the reader of the result, which reports them. If
 * that reader destroys the result, `body` is destroyed too.
 *
 * This is a single stream with `push`: a `Transform` and a `pipeline` per check cost more than the content of a small
 * upload.
 */
export function checkedBody(
  body: Readable,
  { limit = Number.POSITIVE_INFINITY, onChunk, atEnd }: BodyChecks,
): Readable {
  if (limit === Number.POSITIVE_INFINITY && !onChunk && !atEnd) return body;
  const checked = new Readable({
    read: () => void body.resume(),
    destroy(error, done) {
      body.destroy();
      done(error);
    },
  });
  inheritRecycler(checked, body);
  // The stream can fail before it has a reader. The reader then finds it destroyed.
  checked.on('error', () => {});
  const fail = (error: unknown) => void checked.destroy(error as Error);
  const end = () => void checked.push(null);
  let size = 0;

  body.on('data', (chunk: Buffer | string) => {
    size += Buffer.byteLength(chunk);
    onChunk?.(chunk);
    if (size > limit) fail(new StoreError('upload-too-large', `The file is larger than the limit of ${limit} bytes.`));
    else if (!checked.push(chunk)) body.pause();
  });
  body.once('end', () => {
    // A stream that is destroyed with its last chunk can still emit `end`.
    if (checked.destroyed) return;
    if (atEnd) atEnd().then(end, fail);
    else end();
  });
  body.on('error', fail);
  body.once('close', () => {
    if (!body.readableEnded) fail(truncatedBody());
  });
  if (body.destroyed) fail(body.errored ?? truncatedBody());
  return checked;
}

/**
 * Calls `consume` for each chunk of a body, and waits for its promise before the next chunk. Rejects with the error that
 * ended the body early, or with the error of `consume`, which also destroys the body. Costs less per chunk than `for
 * await`, which matters for chunks of a few kilobytes.
 */
export function forEachChunk(body: Readable, consume: (chunk: Buffer) => void | Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let consuming: Promise<void> | undefined;
    const fail = (error: unknown) => {
      body.destroy();
      reject(error);
    };
    body.on('data', (chunk: Buffer | string) => {
      try {
        consuming = consume(typeof chunk === 'string' ? Buffer.from(chunk) : chunk) ?? undefined;
        if (!consuming) return;
        body.pause();
        consuming.then(() => body.resume(), fail);
      } catch (error) {
        fail(error);
      }
    });
    // `end` can be emitted while `consume` is processing the last chunk.
    body.once('end', () => void Promise.resolve(consuming).then(resolve, reject));
    body.on('error', reject);
    body.once('close', () => {
      if (!body.readableEnded) reject(truncatedBody());
    });
    if (body.readableEnded) resolve();
    else if (body.destroyed) reject(body.errored ?? truncatedBody());
  });
}

/** The error for a body that was closed before its end, without an error. */
export const truncatedBody = () => new Error('The body was interrupted.');

/**
 * Content that is in memory. The stream is created on demand. This is a class because each getter in an object
 * literal creates a hidden class, which stays in memory until the next full collection.
 */
export class BufferedContent implements Content {
  readonly file: FileEntry;
  readonly range: ResolvedRange | undefined;
  readonly bytes: Buffer;

  constructor(file: FileEntry, range: ResolvedRange | undefined, bytes: Buffer) {
    this.file = file;
    this.range = range;
    this.bytes = bytes;
  }

  get body(): Readable {
    return Readable.from(this.bytes.length > 0 ? [this.bytes] : [], { objectMode: false });
  }
}
