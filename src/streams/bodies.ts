import { Readable } from 'node:stream';
import { StoreError } from '../model/error.ts';
import type { ResolvedRange } from '../model/range.ts';
import type { Content, FileEntry } from '../model/store.ts';

/** What is asked of a body while it passes. */
export interface BodyChecks {
  /** Bytes, beyond which it fails with `too-large` at once; unlimited where undefined. */
  readonly limit?: number | undefined;
  /** Is called when all bytes have come; the body ends when it has, and fails with what it throws. */
  readonly atEnd?: (() => Promise<void>) | undefined;
}

/**
 * The same bytes, checked: so that whoever stores them waits for what comes behind. The failure of either reaches the
 * reader of what is given, which is the one that reports it; given up by that reader, both end.
 *
 * One stream that is pushed into: a `Transform` and a `pipeline` for each check cost a small upload more than its bytes.
 */
export function checkedBody(body: Readable, { limit = Number.POSITIVE_INFINITY, atEnd }: BodyChecks): Readable {
  if (limit === Number.POSITIVE_INFINITY && !atEnd) return body;
  const checked = new Readable({
    read: () => void body.resume(),
    destroy(error, done) {
      body.destroy();
      done(error);
    },
  });
  // It may fail before anybody reads it, who then finds it destroyed.
  checked.on('error', () => {});
  const fail = (error: unknown) => void checked.destroy(error as Error);
  const end = () => void checked.push(null);
  let size = 0;

  body.on('data', (piece: Buffer | string) => {
    size += Buffer.byteLength(piece);
    if (size > limit) fail(new StoreError('too-large', `The file is larger than the limit of ${limit} bytes.`));
    else if (!checked.push(piece)) body.pause();
  });
  body.once('end', () => {
    // Of a stream that is destroyed with its last piece, the end may still be told.
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
 * Gives `take` each piece of a body, the next one when what it promises is done. Rejects with what ended the body before
 * its end, or with what `take` throws, and then gives the body up. A loop over the stream itself does the same, for the
 * price of all else that has to be done for a piece of a few kilobytes.
 */
export function forEachChunk(body: Readable, take: (piece: Buffer) => void | Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let taking: Promise<void> | undefined;
    const fail = (error: unknown) => {
      body.destroy();
      reject(error);
    };
    body.on('data', (piece: Buffer | string) => {
      try {
        taking = take(typeof piece === 'string' ? Buffer.from(piece) : piece) ?? undefined;
        if (!taking) return;
        body.pause();
        taking.then(() => body.resume(), fail);
      } catch (error) {
        fail(error);
      }
    });
    // The end may be told while the last piece is being taken.
    body.once('end', () => void Promise.resolve(taking).then(resolve, reject));
    body.on('error', reject);
    body.once('close', () => {
      if (!body.readableEnded) reject(truncatedBody());
    });
    if (body.readableEnded) resolve();
    else if (body.destroyed) reject(body.errored ?? truncatedBody());
  });
}

/** For a body that was given up without a word. */
export const truncatedBody = () => new Error('The body was cut short.');

/**
 * What a read gives whose bytes are at hand; the stream is made for those who ask for it. A class, since a getter of an
 * object literal makes a hidden class of its own for each object, which stays in memory until the next full collection.
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

/**
 * Frees the memory that bytes are in at once, with all that is in it, and leaves them empty. What is left to be collected
 * as garbage counts until then, and has V8 look through its whole heap again and again, for a few buffers.
 */
export function releaseMemory({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
