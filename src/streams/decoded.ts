import { pipeline, Readable } from 'node:stream';
import { createDecoder } from '../model/content-coding.ts';
import { systemErrorCode } from '../model/error.ts';
import type { Content } from '../model/store.ts';

/** Returns the content of a file without its coding. Its size is unknown. Fails if the stored bytes don't have the coding. */
export function decoded({ file: { encoding }, bytes, body }: Pick<Content, 'file' | 'bytes' | 'body'>): Readable {
  const stored = bytes ? Readable.from([bytes]) : body;
  // The caller gets an error by the stream.
  return encoding === undefined ? stored : pipeline(stored, createDecoder(encoding), () => {});
}

/** Returns whether an error of such a stream means that the stored bytes don't have the coding (codes of zlib, zstd, Brotli). */
export function isDecodingError(error: unknown): error is Error {
  return error instanceof Error && /^(?:Z_|ZSTD_|ERR__ERROR_)/.test(systemErrorCode(error) ?? '');
}
