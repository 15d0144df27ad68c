import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Dicer } from '@fastify/busboy';
import { quoted } from '../model/error.ts';
import { forEachChunk } from '../streams/bodies.ts';
import { freeOwnedChunk, setRecycler } from '../streams/chunk-recycling.ts';
import { HttpError } from './errors.ts';
import { type BufferedPart, type FormField, parseBufferedForm, parseFormDisposition } from './form-fields.ts';

/** One part of a form. Its body must be read to the end, or resumed, before the next part arrives. */
export interface Part extends FormField {
  /** The media type that the part declares. */
  readonly type: string | undefined;
  /** The `Content-Transfer-Encoding` that the part declares. Only text fields evaluate it. */
  readonly encoding?: string | undefined;
  readonly body: Readable;
}

/** Maximum number of parts, more than any valid form has. Many small parts cost more than their bytes. */
const MAX_PARTS = 100;

/** Maximum bytes of the headers of one part, and maximum number of headers that are parsed. Two are relevant. */
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 50;

/** Maximum bytes of a form that is parsed in one step, if it has arrived whole. */
const MAX_BUFFERED_FORM_BYTES = 64 * 1024;

/** Maximum bytes of an unknown part. */
const MAX_UNKNOWN_PART_BYTES = 1024 * 1024;

/**
 * Maximum bytes before the first boundary. RFC 2046 requires parsers to ignore them, and no current client sends any.
 */
const MAX_PREAMBLE_BYTES = 4 * 1024;

/** Maximum bytes before the file part and after it, including the headers of all parts. */
const MAX_BYTES_AROUND_FILE = 2 * MAX_UNKNOWN_PART_BYTES;

/** A form that is being received. */
export interface Form {
  /** Returns the next part; undefined after the last one, once the whole request has been received. */
  next(): Promise<Part | undefined>;
  /** Lifts the limit on bytes until the body of this part ends, because it is the file. */
  beginFile(part: Part): void;
  /** Returns the error of the form, if any. It is more specific than errors that result from it elsewhere. */
  problem(): HttpError | undefined;
}

/**
 * Reads the `multipart/form-data` body of a request. A truncated or invalid form, or one with too many parts, fails:
 * `next()` rejects, the current part's body ends with an error, and `problem()` returns it. Never destroys the request,
 * because it still needs a response.
 */
export async function readForm(request: IncomingMessage): Promise<Form> {
  const boundary = boundaryOf(request.headers['content-type']);
  // Data that arrived together with the headers is available after this turn.
  await setImmediate();
  return parseBuffered(request, boundary) ?? new StreamedForm(request, boundary);
}

/** Parses a small form that has arrived whole. For any other form, returns undefined and leaves the request unread. */
function parseBuffered(request: IncomingMessage, boundary: string): Form | undefined {
  if (!request.complete || request.readableLength > MAX_BUFFERED_FORM_BYTES) return undefined;
  const bytes: Buffer | null = request.read();
  const parts = bytes && parseBufferedForm(bytes, boundary)?.map(bufferedPart);
  if (parts) return { next: async () => parts.shift(), beginFile: () => {}, problem: () => undefined };
  if (bytes) request.unshift(bytes);
  return undefined;
}

function bufferedPart({ bytes, ...field }: BufferedPart): Part {
  const body = new Readable({ read() {} });
  // The code that destroys the body handles the error.
  body.on('error', () => {});
  body.push(bytes);
  body.push(null);
  return { ...field, body };
}

/** A form that is parsed while it arrives. */
class StreamedForm implements Form {
  readonly #request: IncomingMessage;
  readonly #dicer: Dicer;
  /** Parts that have begun and were not yet returned by `next`. */
  readonly #parts: Part[] = [];
  #wake = () => {};
  #isComplete = false;
  #problem: HttpError | undefined;
  #position: 'before' | 'in' | 'after' = 'before';
  /** Bytes before the file, or since its end. */
  #bytesAroundFile = 0;
  #preambleBytes = 0;
  #partCount = 0;
  /** Parts whose headers have not arrived whole. */
  #partsWithoutHeaders = 0;
  #currentBody: Readable | undefined;
  #file: Readable | undefined;
  /** The bodies that have been received to their end. */
  readonly #received = new WeakSet<Readable>();

  constructor(request: IncomingMessage, boundary: string) {
    this.#request = request;
    // The type declarations lack these two limits.
    const limits = { maxHeaderSize: MAX_HEADER_BYTES, maxHeaderPairs: MAX_HEADERS };
    this.#dicer = new Dicer({ boundary, ...limits });
    this.#dicer.on('preamble', (body: Readable) => this.#skipPreamble(body));
    this.#dicer.on('part', (body) => this.#beginPart(body));
    // Dicer repeats the event if a form without parts has several closing boundaries.
    this.#dicer.once('finish', () => this.#finish());
    this.#dicer.on('error', () => this.#fail(truncated()));
    // A slow client has its own error. Every other error means that the request is truncated.
    request.on('error', (error) => this.#fail(error instanceof HttpError ? error : truncated()));
    request.on('aborted', () => this.#fail(truncated()));
    // Runs before each chunk is parsed, so that the chunk in which the file begins is not counted.
    request.on('data', (chunk: Buffer) => this.#count(chunk));
    if (request.destroyed) this.#fail(truncated());
    else request.pipe(this.#dicer);
  }

  async next(): Promise<Part | undefined> {
    while (!this.#problem && !this.#isComplete && this.#parts.length === 0) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#problem) throw this.#problem;
    return this.#parts.shift();
  }

  beginFile({ body }: Part): void {
    this.#file = body;
    this.#position = 'in';
    if (this.#received.has(body)) this.#endFile();
  }

  problem(): HttpError | undefined {
    return this.#problem;
  }

  #endFile(): void {
    this.#position = 'after';
    this.#bytesAroundFile = 0;
  }

  #skipPreamble(body: Readable): void {
    body.on('error', () => {});
    body.on('data', (chunk: Buffer) => {
      this.#preambleBytes += chunk.length;
      if (this.#preambleBytes <= MAX_PREAMBLE_BYTES) return;
      this.#fail(invalid(`The form has more than ${MAX_PREAMBLE_BYTES} bytes before its first part.`));
    });
  }

  #beginPart(body: Readable): void {
    if (++this.#partCount > MAX_PARTS) return this.#fail(invalid(`The form has more than ${MAX_PARTS} parts.`));
    this.#currentBody = body;
    this.#partsWithoutHeaders++;
    this.#observeEnd(body);
    // Dicer reports a truncated body separately, and code that destroys a body handles the error.
    body.on('error', () => {});
    body.on('header', (header: PartHeader) => this.#addPart(header, body));
  }

  /**
   * Notes the end of a body when it is received. Dicer has no event for that, and `end` waits for the reader, which can be as slow
   * as the store while the client sends more.
   */
  #observeEnd(body: Readable): void {
    body.push = (...args) => {
      if (args[0] === null) {
        this.#received.add(body);
        if (body === this.#file) this.#endFile();
      }
      return Readable.prototype.push.apply(body, args);
    };
  }

  #addPart(header: PartHeader, body: Readable): void {
    this.#partsWithoutHeaders--;
    const field = parseFormDisposition(header['content-disposition']?.[0] ?? '');
    if (!field)
      return this.#fail(invalid('A part of the form has no Content-Disposition: form-data with UTF-8 names.'));
    // If chunks share a buffer, Dicer might have found the rest of a part, or the next part, in it. The boundary bytes that
    // Dicer keeps are shorter than any chunk freed here.
    setRecycler(body, freeOwnedChunk);
    const encoding = header['content-transfer-encoding']?.[0];
    this.#parts.push({ ...field, type: header['content-type']?.[0], encoding, body });
    this.#wake();
  }

  #finish(): void {
    // A file that contains the boundary ends like this too: it would be stored truncated.
    if (this.#partsWithoutHeaders > 0) return this.#fail(invalid('A part of the form ends inside its headers.'));
    if (this.#request.readableEnded) return this.#complete();
    // The epilogue is ignored, but a client that still sends it could not read a response.
    this.#request.once('end', () => this.#complete());
    this.#request.unpipe(this.#dicer);
    this.#request.resume();
  }

  #complete(): void {
    this.#isComplete = true;
    this.#wake();
  }

  #count(chunk: Buffer): void {
    // If the reader rejected a field, report that error instead of the bytes that arrive until the response is sent.
    const isRejected = this.#currentBody?.destroyed && !this.#currentBody.readableEnded;
    if (this.#position !== 'in' && !isRejected && this.#bytesAroundFile > MAX_BYTES_AROUND_FILE) {
      this.#fail(this.#partsWithoutHeaders > 0 ? headersTooLong() : tooManyBytes(this.#position));
    }
    this.#bytesAroundFile += chunk.length;
  }

  #fail(error: HttpError): void {
    this.#problem ??= error;
    this.#request.unpipe(this.#dicer);
    this.#currentBody?.destroy(error);
    this.#wake();
  }
}

/** The headers of a part, by lower-case name. */
type PartHeader = Record<string, string[] | undefined>;

/** Skips an unknown part. Throws `form-too-large` if it is larger than an extra field could be. */
export async function skipPart({ name, body }: Part): Promise<void> {
  let size = 0;
  await forEachChunk(body, (chunk) => {
    size += chunk.length;
    if (size <= MAX_UNKNOWN_PART_BYTES) return;
    const message = `The field ${quoted(name ?? '')} is larger than ${MAX_UNKNOWN_PART_BYTES / 1024 ** 2} MiB and unknown. Send the file as the part "file", with a file name.`;
    throw new HttpError('form-too-large', message);
  });
}

/** Reads a small part as text, in the charset of its `Content-Type` (RFC 7578, section 4.5), otherwise in UTF-8. */
export async function readText({ name, type, encoding, body }: Part, maxBytes: number): Promise<string> {
  if (encoding !== undefined && !isIdentityEncoding(encoding)) throw encodedField(name, encoding);
  const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(type ?? '')?.[1] ?? 'utf-8';
  const decoder = decoderOf(charset);
  if (!decoder) throw invalid(`The field ${quoted(name ?? '')} has the unknown charset ${quoted(charset)}. Use UTF-8.`);
  const chunks: Buffer[] = [];
  let size = 0;
  await forEachChunk(body, (chunk) => {
    size += chunk.length;
    if (size > maxBytes) throw invalid(`The field ${quoted(name ?? '')} is longer than ${maxBytes} bytes.`);
    chunks.push(chunk);
  });
  try {
    return decoder.decode(Buffer.concat(chunks));
  } catch {
    throw invalid(`The field ${quoted(name ?? '')} is not ${charset.toUpperCase()}.`);
  }
}

function decoderOf(charset: string): TextDecoder | undefined {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true });
  } catch {
    return undefined;
  }
}

/**
 * Returns whether a `Content-Transfer-Encoding` leaves bytes unchanged. Forms must not use others (RFC 7578, section
 * 4.7).
 */
function isIdentityEncoding(encoding: string): boolean {
  return /^\s*(?:7bit|8bit|binary)\s*$/i.test(encoding);
}

const encodedField = (name: string | undefined, encoding: string) =>
  invalid(
    `The field ${quoted(name ?? '')} has Content-Transfer-Encoding ${quoted(encoding.trim())}. Send its bytes as they are, without this header.`,
  );

/**
 * Returns the boundary of a form's `Content-Type`. Throws `invalid-form` for other media types or a missing
 * boundary.
 */
export function boundaryOf(contentType: string | undefined): string {
  const match = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))/i.exec(
    contentType ?? '',
  );
  const boundary = match?.[1] ?? match?.[2];
  if (boundary !== undefined) return boundary;
  throw invalid('The body must be a form. Send it with Content-Type: multipart/form-data and its boundary.');
}

const invalid = (message: string) => new HttpError('invalid-form', message);
const headersTooLong = () =>
  invalid(`The headers of a part of the form are larger than ${MAX_HEADER_BYTES / 1024} KiB.`);
const tooManyBytes = (position: 'before' | 'after') =>
  new HttpError(
    'form-too-large',
    `The form has more than ${MAX_BYTES_AROUND_FILE / 1024 ** 2} MiB ${position} its file.`,
  );
const truncated = () => new HttpError('incomplete-body', 'The body ends in the middle of the form.');
