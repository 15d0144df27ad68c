import { PassThrough, pipeline, Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { asError } from '../../../domain/error.ts';

/*
 * What is taken out of the host's answers. What does not have it is no answer of GitHub's.
 */

/** Whether this is the sha of an object. */
export function isSha(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);
}

/** A URL of http or https as a header can hold it; undefined for every other value. */
export function webUrlIn(value: unknown): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/** The bytes of an answer, whose errors are what `translated` makes of them. */
export function bytesOf(body: ReadableStream<Uint8Array> | null, translated: (error: unknown) => unknown): Readable {
  const bytes = new PassThrough({
    destroy: (error, done) => done(error && asError(translated(error))),
  });
  // Whichever of the two ends early ends the other.
  pipeline(body ? Readable.fromWeb(body) : Readable.from([]), bytes, () => {});
  return bytes;
}
