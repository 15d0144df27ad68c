import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import { quoted } from '../model/error.ts';
import { HttpError } from './errors.ts';

/*
 * The headers of the tus protocol 1.0.0 for resumable uploads: https://tus.io/protocols/resumable-upload
 */

export const TUS_VERSION = '1.0.0';

/** The media type of the body of a PATCH. */
export const OFFSET_TYPE = 'application/offset+octet-stream';

const EXTENSIONS = 'creation,creation-with-upload,creation-defer-length,termination,expiration,checksum';

/** The algorithms of `Upload-Checksum`, with their names in Node.js. tus requires `sha1`. */
const CHECKSUMS: Readonly<Record<string, string>> = { sha1: 'sha1', sha256: 'sha256', sha512: 'sha512', md5: 'md5' };

/** Maximum characters of `Upload-Metadata`. */
const MAX_METADATA = 8 * 1024;

/** Sets the headers of a response to OPTIONS. `maxSize` is the maximum size of an upload in bytes. */
export function describeProtocol(reply: FastifyReply, maxSize: number | undefined): void {
  reply
    .header('tus-version', TUS_VERSION)
    .header('tus-extension', EXTENSIONS)
    .header('tus-checksum-algorithm', Object.keys(CHECKSUMS).join(','));
  if (maxSize !== undefined) reply.header('tus-max-size', String(maxSize));
}

/** Throws `unsupported-tus-version` unless the client speaks this version. */
export function requireVersion(headers: IncomingHttpHeaders): void {
  const version = headers['tus-resumable'];
  if (version === TUS_VERSION) return;
  const found = version === undefined ? 'is missing' : `is ${quoted(String(version))}`;
  throw new HttpError('unsupported-tus-version', `The header Tus-Resumable ${found}. Send "${TUS_VERSION}".`);
}

/** Returns the size of an upload; undefined if the client defers it. Throws `invalid-header`. */
export function parseLength(headers: IncomingHttpHeaders): number | undefined {
  const isDeferred = headers['upload-defer-length'] !== undefined;
  if (isDeferred && headers['upload-defer-length'] !== '1') {
    throw new HttpError('invalid-header', 'The header Upload-Defer-Length must be "1".');
  }
  const length = parseCount('Upload-Length', headers['upload-length']?.toString());
  if (isDeferred === (length === undefined)) return length;
  throw new HttpError('invalid-header', 'Send either Upload-Length or "Upload-Defer-Length: 1".');
}

/** Returns a number of bytes in a header; undefined without the header. Throws `invalid-header`. */
export function parseCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(count)) return count;
  throw new HttpError('invalid-header', `The header ${name} is ${quoted(text)}. Send a number of bytes.`);
}

/** Returns the metadata of an upload: text by name. Throws `invalid-header`. */
export function parseMetadata(text: string | undefined): ReadonlyMap<string, string> {
  const metadata = new Map<string, string>();
  if (text === undefined || text.trim() === '') return metadata;
  if (text.length > MAX_METADATA) {
    throw new HttpError('invalid-header', `The header Upload-Metadata is longer than ${MAX_METADATA} characters.`);
  }
  for (const pair of text.split(',')) {
    const { key, value = '' } = /^ *(?<key>[!-+\--~]+)(?: (?<value>[A-Za-z0-9+/]*={0,2}))? *$/.exec(pair)?.groups ?? {};
    const decoded = key === undefined ? undefined : decode(value);
    if (key === undefined || decoded === undefined || metadata.has(key)) {
      throw new HttpError(
        'invalid-header',
        `The header Upload-Metadata has the invalid pair ${quoted(pair.trim())}. Send a unique name and a value in Base64, which is UTF-8.`,
      );
    }
    metadata.set(key, decoded);
  }
  return metadata;
}

function decode(base64: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return undefined;
  }
}

/** The comparison of a body with the checksum in its headers. */
export interface ChecksumCheck {
  /** Adds the next bytes of the body. */
  readonly update: (bytes: Buffer | string) => void;
  /** Throws `checksum-mismatch`. */
  readonly verify: () => Promise<void>;
}

/** Returns the check of `Upload-Checksum`; undefined without the header. Throws `invalid-header`. */
export function checksumOf(headers: IncomingHttpHeaders): ChecksumCheck | undefined {
  const text = headers['upload-checksum']?.toString();
  if (text === undefined) return undefined;
  const { name = '', base64 = '' } = /^(?<name>[\w-]+) (?<base64>[A-Za-z0-9+/]+={0,2})$/.exec(text)?.groups ?? {};
  const algorithm = Object.hasOwn(CHECKSUMS, name) ? CHECKSUMS[name] : undefined;
  if (algorithm === undefined) {
    throw new HttpError(
      'invalid-header',
      `The header Upload-Checksum is ${quoted(text)}. Send one of ${Object.keys(CHECKSUMS).join(', ')}, a space, and the checksum in Base64.`,
    );
  }
  const hash = createHash(algorithm);
  const expected = Buffer.from(base64, 'base64');
  return {
    update: (bytes) => void hash.update(bytes),
    async verify() {
      const actual = hash.digest();
      if (actual.length === expected.length && timingSafeEqual(actual, expected)) return;
      throw new HttpError(
        'checksum-mismatch',
        `The ${name} of the body is ${actual.toString('base64')}. Its bytes were discarded.`,
      );
    },
  };
}
