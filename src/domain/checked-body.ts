import { Readable } from 'node:stream';
import { cutShort } from './each-piece.ts';
import { StoreError } from './error.ts';

/** What is asked of a body while it passes. */
export interface Checks {
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
export function checkedBody(body: Readable, { limit = Number.POSITIVE_INFINITY, atEnd }: Checks): Readable {
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
    if (!body.readableEnded) fail(cutShort());
  });
  if (body.destroyed) fail(body.errored ?? cutShort());
  return checked;
}
