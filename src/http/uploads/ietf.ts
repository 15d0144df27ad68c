import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isStoreError, quoted } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Upload } from '../../uploads/uploads.ts';
import { accessOf } from '../access/request-access.ts';
import { digestCheckOf } from '../digests.ts';
import { HttpError, problemOf } from '../errors.ts';
import { finderOf, parseModifiedHeader, writeCondition } from '../preconditions.ts';
import {
  type DescribedUpload,
  OffsetMismatch,
  type Part,
  type Received,
  type UploadReceiver,
  wrongType,
} from './receiver.ts';
import { lengthOf } from './requests.ts';

/*
 * The headers of "Resumable Uploads for HTTP", an Internet-Draft of the IETF. Its interop version identifies the drafts
 * that agree with each other: https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/
 */

const INTEROP_VERSION = '8';

/** The media type of the body of a PATCH. */
export const PARTIAL_TYPE = 'application/partial-upload';

/** Smaller contents arrive whole in one request, which then costs no more than without this protocol. */
const MIN_RESUMABLE_BYTES = 2 ** 20;

/** Minimum milliseconds between two interim responses with the offset. */
const PROGRESS_INTERVAL_MS = 1000;

/** What a request adds to the content. */
export interface Addition extends Pick<Part, 'offset' | 'size' | 'check'> {
  /** Whether the content ends with its body. */
  readonly isComplete: boolean;
}

/** The file that the last request has stored. */
export interface StoredUpload {
  readonly path: string;
  /** Whether no other file was at the path. */
  readonly isNew: boolean;
  /** The ID of the change. */
  readonly change: string | undefined;
}

/** Receives uploads by this protocol. */
export class IetfUploads {
  readonly #receiver: UploadReceiver;

  constructor(receiver: UploadReceiver) {
    this.#receiver = receiver;
  }

  /** Begins an upload, and receives the body. Returns the stored file; undefined if more requests must follow. */
  async begin(
    request: FastifyRequest,
    reply: FastifyReply,
    { addition, ...described }: Omit<DescribedUpload, 'size' | 'metadata'> & { readonly addition: Addition },
  ): Promise<StoredUpload | undefined> {
    const upload = await this.#receiver.begin(request, { ...described, size: addition.size, metadata: undefined });
    const headers = {
      location: this.#receiver.urlOf(upload),
      'upload-limit': formatLimits(this.#receiver.maxSize, upload),
      ...this.#receiver.partsHeader(upload),
    };
    announce(request, reply, headers);
    const stored = await this.#receive(request, reply, { upload, addition });
    if (!stored) reply.headers(headers);
    return stored;
  }

  /** Receives the body of a request to an upload. Returns the stored file; undefined if more requests must follow. */
  async append(request: FastifyRequest, reply: FastifyReply, upload: Upload): Promise<StoredUpload | undefined> {
    const { raw, headers } = request;
    if (headers['content-type'] !== PARTIAL_TYPE) throw wrongType(headers, PARTIAL_TYPE);
    const offset = parseInteger(headers, 'Upload-Offset');
    if (offset === undefined) throw invalidField(headers, 'Upload-Offset', '0');
    return this.#receive(request, reply, { upload, addition: parseAddition(raw, { offset }) });
  }

  async #receive(
    request: FastifyRequest,
    reply: FastifyReply,
    { upload, addition }: { readonly upload: Upload; readonly addition: Addition },
  ): Promise<StoredUpload | undefined> {
    const { isComplete, ...part } = addition;
    let isWhole = false;
    const onComplete = () => {
      isWhole = true;
    };
    let reportedAt = Number.NEGATIVE_INFINITY;
    const onDurable = (offset: number) => {
      if (performance.now() - reportedAt < PROGRESS_INTERVAL_MS) return;
      reportedAt = performance.now();
      announce(request, reply, { 'upload-offset': String(offset) });
    };
    try {
      const received = await this.#receiver.receive(request, reply, upload, {
        ...part,
        isLast: isComplete,
        onComplete,
        onDurable,
      });
      this.#describeOffset(reply, received);
      const { file, isNew = false, change } = received;
      return file && { path: file.path, isNew, change };
    } catch (error) {
      if (error instanceof OffsetMismatch) {
        reply.headers({ 'upload-complete': formatBoolean(false), 'upload-offset': String(error.actual) });
      } else if (isWhole) {
        // Storing the file failed. Unless that is temporary, the client must send nothing again.
        const isTemporary =
          (isStoreError(error) && error.kind === 'unavailable') || problemOf(error, request.id).status >= 500;
        reply.header('upload-complete', formatBoolean(!isTemporary));
      } else if (isStoreError(error) && error.code === 'upload-too-large') {
        await this.#receiver.remove(upload);
      }
      throw error;
    }
  }

  #describeOffset(reply: FastifyReply, received: Received): void {
    const { offset, file } = received;
    reply.headers({ 'upload-offset': String(offset), 'upload-complete': formatBoolean(file !== undefined) });
    this.#receiver.describeStored(reply, received);
  }

  /** Sets the headers with what has arrived of an upload. */
  describe(reply: FastifyReply, upload: Upload, received: Received): void {
    this.#describeOffset(reply, received);
    reply.header('upload-limit', formatLimits(this.#receiver.maxSize, upload));
    reply.headers(this.#receiver.partsHeader(upload));
    if (upload.size !== undefined) reply.header('upload-length', String(upload.size));
  }
}

/** Returns whether a request to the URL of uploads is of this protocol. Those of tus have the version of tus. */
export function isIetfRequest({ headers, method }: IncomingMessage): boolean {
  if (headers['tus-resumable'] !== undefined) return false;
  const hasContent = method === 'POST' || method === 'PATCH';
  return !hasContent || headers['upload-complete'] !== undefined || headers['content-type'] === PARTIAL_TYPE;
}

/**
 * Returns what an ordinary upload adds to a new resumable one; undefined if it is not resumable, or would gain nothing.
 * Throws `invalid-header`.
 */
export function parseUpgrade(request: IncomingMessage): Addition | undefined {
  const isComplete = parseComplete(request.headers);
  if (isComplete === undefined || (isComplete && !isWorthResuming(request))) return undefined;
  return parseAddition(request, { offset: 0 });
}

/** Returns whether the client can learn the URL of the upload, and the content is worth it. */
function isWorthResuming(request: IncomingMessage): boolean {
  const size = lengthOf(request) ?? Number.POSITIVE_INFINITY;
  return canAnnounce(request) && request.headers['repr-digest'] === undefined && size >= MIN_RESUMABLE_BYTES;
}

/** Returns what a request adds at an offset. Throws `invalid-header`. */
export function parseAddition(request: IncomingMessage, { offset }: Pick<Addition, 'offset'>): Addition {
  const { headers } = request;
  const isComplete = parseComplete(headers);
  if (isComplete === undefined) throw invalidField(headers, 'Upload-Complete', '?1');
  if (headers['repr-digest'] !== undefined) {
    throw new HttpError(
      'invalid-header',
      'Repr-Digest can be verified only for a file in one request. Send the Content-Digest of each part.',
    );
  }
  return { offset, isComplete, size: sizeOf(request, { offset, isComplete }), check: digestCheckOf(headers) };
}

/** Returns what the headers of a request say about the file that it uploads. Throws `invalid-header` and `condition-failed`. */
export async function describedIn(
  request: FastifyRequest,
  path: FilePath,
): Promise<Pick<DescribedUpload, 'path' | 'type' | 'modified' | 'condition'>> {
  const { headers } = request;
  const modified = parseModifiedHeader(headers);
  const condition = await writeCondition(headers, finderOf(accessOf(request).files, path));
  return { path, type: headers['content-type'], modified, condition };
}

/** Returns the size of the content if the request says it. Throws `invalid-header` if it says two different ones. */
function sizeOf(
  request: IncomingMessage,
  { offset, isComplete }: { readonly offset: number; readonly isComplete: boolean },
): number | undefined {
  const declared = parseInteger(request.headers, 'Upload-Length');
  const length = isComplete ? lengthOf(request) : undefined;
  if (length === undefined) return declared;
  if (declared === undefined || declared === offset + length) return offset + length;
  throw new HttpError(
    'invalid-header',
    `The header Upload-Length is ${declared}, but the content ends at byte ${offset + length}.`,
  );
}

function invalidField(headers: IncomingHttpHeaders, name: string, example: string): HttpError {
  const value = headers[name.toLowerCase()]?.toString() ?? '';
  return new HttpError('invalid-header', `The header ${name} is ${quoted(value)}. Send a value such as "${example}".`);
}

/** Sends an interim response, if the client understands it. */
function announce(request: FastifyRequest, reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  if (!canAnnounce(request.raw)) return;
  reply.raw.writeInformation(104, { 'upload-draft-interop-version': INTEROP_VERSION, ...headers });
}

function canAnnounce({ headers, httpVersion }: IncomingMessage): boolean {
  return headers['upload-draft-interop-version'] === INTEROP_VERSION && httpVersion !== '1.0';
}

/** Returns the value of `Upload-Limit`. `maxSize` is in bytes. */
export function formatLimits(maxSize: number | undefined, upload?: Pick<Upload, 'expiresAt'>): string {
  const limits = { 'max-size': maxSize, 'max-age': upload && Math.max(0, secondsUntil(upload.expiresAt)) };
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  return given.length === 0 ? 'min-size=0' : given.map(([key, value]) => `${key}=${value}`).join(', ');
}

const secondsUntil = (time: Date) => Math.floor((time.getTime() - Date.now()) / 1000);

/**
 * Returns whether the request says that its content is the last part; undefined without the header. Throws `invalid-header` for
 * any other value than a boolean (RFC 9651, section 3.3.6): a part of a file would otherwise be stored as the whole.
 */
export function parseComplete(headers: IncomingHttpHeaders): boolean | undefined {
  const text = headers['upload-complete']?.toString();
  if (text === undefined) return undefined;
  const { digit } = /^ *\?(?<digit>[01]) *(?:;.*)?$/.exec(text)?.groups ?? {};
  if (digit === undefined) throw invalidField(headers, 'Upload-Complete', '?1');
  return digit === '1';
}

const formatBoolean = (value: boolean) => (value ? '?1' : '?0');

/** Returns an integer of a structured field, without its parameters; undefined without the header. Throws `invalid-header`. */
function parseInteger(headers: IncomingHttpHeaders, name: string): number | undefined {
  const text = headers[name.toLowerCase()]?.toString();
  if (text === undefined) return undefined;
  const { digits } = /^ *(?<digits>\d{1,15}) *(?:;.*)?$/.exec(text)?.groups ?? {};
  if (digits === undefined) throw invalidField(headers, name, '0');
  return Number(digits);
}
