import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { preferredCoding } from '../accept.ts';

/** How hard Brotli tries, of 11: beyond, a long listing takes longer to compress than it saves on its way. */
const BROTLI_QUALITY = 4;

/** A body as a client that sends this `Accept-Encoding` would like it best, and its `Content-Encoding`, if any. */
export async function compress(
  text: string,
  acceptEncoding: string | undefined,
): Promise<{ body: Buffer; coding: 'br' | 'gzip' | undefined }> {
  const bytes = Buffer.from(text);
  const coding = preferredCoding(acceptEncoding, ['br', 'gzip']);
  switch (coding) {
    case 'br':
      return { coding, body: await brotli(bytes, { params: brotliParameters(bytes.length) }) };
    case 'gzip':
      return { coding, body: await promisify(gzip)(bytes) };
    case undefined:
      return { coding, body: bytes };
  }
}

const brotli = promisify(brotliCompress);

const brotliParameters = (size: number) => ({
  [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
  [constants.BROTLI_PARAM_SIZE_HINT]: size,
});
