import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';

/** The content codings of HTTP that stored bytes can have (RFC 9110, section 8.4.1), with their decoders. */
const DECODERS = {
  gzip: createGunzip,
  br: createBrotliDecompress,
  deflate: createInflate,
  zstd: createZstdDecompress,
} as const;

export type ContentCoding = keyof typeof DECODERS;

/**
 * Returns the coding in a `Content-Encoding`; undefined for none, and for a value that HTTP doesn't define. Some stores keep
 * `aws-chunked`, which described only the upload.
 */
export function parseContentCoding(header: string | undefined): ContentCoding | undefined {
  const [coding = '', ...others] = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== 'aws-chunked' && each !== 'identity' && each !== '');
  const name = coding === 'x-gzip' ? 'gzip' : coding;
  return others.length === 0 && Object.hasOwn(DECODERS, name) ? (name as ContentCoding) : undefined;
}

/** Creates a stream that decodes a content. */
export const createDecoder = (coding: ContentCoding) => DECODERS[coding]();
