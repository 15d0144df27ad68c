import { pipeline, type Readable, Transform } from 'node:stream';

/** The same bytes, ending only when `last` has: so that whoever stores them waits for what comes behind. */
export function endingWith(body: Readable, last: () => Promise<void>): Readable {
  const ending = new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush: (done) => void last().then(() => done(), done),
  });
  // The failure of either reaches the reader of `ending`, which is the one that reports it.
  return pipeline(body, ending, () => {});
}
