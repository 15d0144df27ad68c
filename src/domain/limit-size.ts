import { pipeline, type Readable, Transform } from 'node:stream';
import { StoreError } from './error.ts';

/** The same bytes, failing with `too-large` as soon as there are more than `limit`. */
export function limitSize(body: Readable, limit: number | undefined): Readable {
  if (limit === undefined) return body;
  let size = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size > limit) done(new StoreError('too-large', `The file is larger than the limit of ${limit} bytes.`));
      else done(null, chunk);
    },
  });
  // The failure of either reaches the reader of `counter`, which is the one that reports it.
  return pipeline(body, counter, () => {});
}
