import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { quoted } from '../../model/error.ts';
import { childFile, type FilePath, parseFile, parseFolder, ROOT } from '../../model/path.ts';
import type { Upload } from '../../uploads/uploads.ts';
import { accessOf } from '../access/request-access.ts';
import { HttpError } from '../errors.ts';
import { finderOf, parseModifiedField, writeCondition } from '../preconditions.ts';
import { type ContentCheck, type Received, type UploadReceiver, wrongType } from './receiver.ts';

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

/** Returns the headers of a response to OPTIONS. `maxSize` is the maximum size of an upload in bytes. */
export function describeProtocol(maxSize: number | undefined): Readonly<Record<string, string>> {
  return {
    'tus-version': TUS_VERSION,
    'tus-extension': EXTENSIONS,
    'tus-checksum-algorithm': Object.keys(CHECKSUMS).join(','),
    ...(maxSize !== undefined && { 'tus-max-size': String(maxSize) }),
  };
}

/** The methods of this protocol that some networks refuse. */
const OVERRIDING_METHODS = ['PATCH', 'DELETE'];

/** Returns the method in `X-HTTP-Method-Override`, if a request to an upload has one. `target` is its path in the service. */
export function overridingMethod({ method, headers }: IncomingMessage, target: string): string | undefined {
  const isUpload = method === 'POST' && headers['tus-resumable'] !== undefined && target.startsWith('/-/uploads/');
  return isUpload ? OVERRIDING_METHODS.find((each) => each === headers['x-http-method-override']) : undefined;
}

/** Throws `unsupported-tus-version` unless the client speaks this version. */
export function requireVersion(headers: IncomingHttpHeaders): void {
  const version = headers['tus-resumable'];
  if (version === TUS_VERSION) return;
  const found = version === undefined ? 'is missing' : `is ${quoted(String(version))}`;
  throw new HttpError('unsupported-tus-version', `The header Tus-Resumable ${found}. Send "${TUS_VERSION}".`);
}

/** Receives uploads by this protocol. */
export class TusUploads {
  readonly #receiver: UploadReceiver;

  constructor(receiver: UploadReceiver) {
    this.#receiver = receiver;
  }

  /** Begins the upload that the headers of a request describe, and receives the body, if it is the first part. */
  async begin(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { headers } = request;
    const size = parseLength(headers);
    const text = headers['upload-metadata']?.toString();
    const metadata = parseMetadata(text);
    const modified = metadata.get('modified');
    const path = destinationOf(metadata);
    const upload = await this.#receiver.begin(request, {
      path,
      type: metadata.get('filetype') ?? metadata.get('type'),
      size,
      modified: modified === undefined ? undefined : parseModifiedField(modified),
      condition: await writeCondition(headers, finderOf(accessOf(request).files, path)),
      metadata: text,
    });
    reply.header('location', this.#receiver.urlOf(upload));
    reply.headers(this.#receiver.partsHeader(upload));
    const isFirstPart = headers['content-type'] === OFFSET_TYPE || upload.size === 0;
    if (isFirstPart) await this.#receive(request, reply, { upload, offset: 0 });
    else this.#describeOffset(reply, upload, { offset: 0 });
  }

  /** Receives the body of a request to an upload. */
  async append(request: FastifyRequest, reply: FastifyReply, upload: Upload): Promise<void> {
    const { headers } = request;
    if (headers['content-type'] !== OFFSET_TYPE) throw wrongType(headers, OFFSET_TYPE);
    const offset = parseCount('Upload-Offset', headers['upload-offset']?.toString());
    if (offset === undefined) throw new HttpError('invalid-header', 'The header Upload-Offset is missing.');
    await this.#receive(request, reply, { upload, offset });
  }

  async #receive(
    request: FastifyRequest,
    reply: FastifyReply,
    { upload, offset }: { readonly upload: Upload; readonly offset: number },
  ): Promise<void> {
    const size = parseCount('Upload-Length', request.headers['upload-length']?.toString());
    const part = { offset, size, check: checksumOf(request.headers) };
    this.#describeOffset(reply, upload, await this.#receiver.receive(request, reply, upload, part));
  }

  #describeOffset(reply: FastifyReply, { expiresAt }: Upload, received: Received): void {
    const expires = received.expiresAt ?? expiresAt;
    reply.header('upload-offset', String(received.offset)).header('upload-expires', expires.toUTCString());
    this.#receiver.describeStored(reply, received);
  }

  /** Sets the headers with what has arrived of an upload. */
  describe(reply: FastifyReply, upload: Upload, received: Received): void {
    this.#describeOffset(reply, upload, received);
    reply.headers(this.#receiver.partsHeader(upload));
    if (upload.size === undefined) reply.header('upload-defer-length', '1');
    else reply.header('upload-length', String(upload.size));
    if (upload.metadata !== undefined) reply.header('upload-metadata', upload.metadata);
  }
}

/** Returns the path in the metadata of an upload. Throws `invalid-header`, or the error of an invalid path. */
function destinationOf(metadata: ReadonlyMap<string, string>): FilePath {
  const path = metadata.get('path');
  if (path !== undefined) return parseFile(path);
  const name = metadata.get('filename') ?? metadata.get('name');
  if (name === undefined || name === '') {
    throw new HttpError(
      'invalid-header',
      'The header Upload-Metadata has neither "path" nor "filename". Send one of them.',
    );
  }
  const prefix = metadata.get('prefix');
  return childFile(prefix === undefined ? ROOT : parseFolder(prefix), name.slice(name.lastIndexOf('/') + 1));
}

/** Returns the size of an upload; undefined if the client defers it. Throws `invalid-header`. */
function parseLength(headers: IncomingHttpHeaders): number | undefined {
  const deferred = headers['upload-defer-length']?.toString();
  const isDeferred = deferred !== undefined;
  if (isDeferred && deferred !== '1') {
    throw new HttpError('invalid-header', `The header Upload-Defer-Length is ${quoted(deferred)}. Send "1".`);
  }
  const length = parseCount('Upload-Length', headers['upload-length']?.toString());
  if (isDeferred === (length === undefined)) return length;
  throw new HttpError('invalid-header', 'Send either Upload-Length or "Upload-Defer-Length: 1".');
}

/** Returns a number of bytes in a header; undefined without the header. Throws `invalid-header`. */
function parseCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(count)) return count;
  throw new HttpError('invalid-header', `The header ${name} is ${quoted(text)}. Send a number of bytes.`);
}

/** Returns the metadata of an upload: text by name. Throws `invalid-header`. */
function parseMetadata(text: string | undefined): ReadonlyMap<string, string> {
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

/** Returns the check of `Upload-Checksum`; undefined without the header. Throws `invalid-header`. */
function checksumOf(headers: IncomingHttpHeaders): ContentCheck | undefined {
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
