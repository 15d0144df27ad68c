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

/**
 * The URL by which the host itself gives a file, if it gives one. The client reads an answer as JSON if its type is
 * plainly that, and gives others as a text. Throws for a text that is no JSON.
 */
export function downloadUrlIn(data: unknown): string | undefined {
  const file: unknown = typeof data === 'string' ? JSON.parse(data) : data;
  if (typeof file !== 'object' || file === null || !('download_url' in file)) return undefined;
  return typeof file.download_url === 'string' ? file.download_url : undefined;
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
