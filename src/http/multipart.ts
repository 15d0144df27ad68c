import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { quoted, StoreError } from '../domain/error.ts';
import { type FormField, parseFormDisposition } from './content-disposition.ts';
import { HttpError } from './errors.ts';

/** One part of a form. Its body is read to the end, or resumed, before the next part comes. */
export interface Part extends FormField {
  /** The media type that the part declares. */
  readonly type: string | undefined;
  readonly body: Readable;
}

/** More parts than any form of ours has; many small ones cost more than their bytes. */
const MAX_PARTS = 100;

/** Bytes of the headers of one part. */
const MAX_HEADER = 16 * 1024;

/** Bytes of a part that nobody asked for. */
const MAX_UNKNOWN = 1024 * 1024;

/** A form as it arrives. */
export interface Form {
  /** In their order, and at an end only when the whole request has been received. */
  readonly parts: AsyncIterable<Part>;
  /** What is wrong with the form, if something is: the reason for what fails in other words than ours. */
  problem(): StoreError | HttpError | undefined;
}

/**
 * Reads the `multipart/form-data` body of a request. One that is cut short, is no form, or has too many parts ends
 * the parts, and the body of the one at hand, with an error, and has a `problem`. The request itself is never
 * destroyed: it still has to be answered.
 */
export function readForm(request: IncomingMessage): Form {
  const limits = { maxHeaderSize: MAX_HEADER, maxHeaderPairs: 50 };
  const dicer = new Dicer({ boundary: boundaryOf(request.headers['content-type']), ...limits });
  const parts = new Readable({ objectMode: true, read() {} });
  let count = 0;
  let current: Readable | undefined;
  let problem: StoreError | HttpError | undefined;

  const fail = (error: StoreError | HttpError) => {
    problem ??= error;
    request.unpipe(dicer);
    current?.destroy(error);
    parts.destroy(error);
  };

  dicer.on('part', (body) => {
    current = body;
    // Dicer tells of a body that is cut short by itself, and whoever destroys a body has a reason of their own.
    body.on('error', () => {});
    body.on('header', (header: Record<string, string[] | undefined>) => {
      if (++count > MAX_PARTS) return fail(invalid(`The form has more than ${MAX_PARTS} parts.`));
      const field = parseFormDisposition(header['content-disposition']?.[0] ?? '');
      if (!field) return fail(invalid('A part of the form has no Content-Disposition: form-data with UTF-8 names.'));
      parts.push({ ...field, type: header['content-type']?.[0], body });
      return undefined;
    });
  });
  dicer.on('finish', () => {
    if (request.readableEnded) return parts.push(null);
    // What follows the form's end is nothing, but a client that still sends it could not read an answer.
    request.once('end', () => parts.push(null));
    request.unpipe(dicer);
    return request.resume();
  });
  dicer.on('error', () => fail(cutShort()));
  // That the client is slow is told in words of its own; what else ends a request is that it was cut short.
  request.on('error', (error) => fail(error instanceof HttpError ? error : cutShort()));
  request.on('aborted', () => fail(cutShort()));
  request.pipe(dicer);
  return { parts: parts as AsyncIterable<Part>, problem: () => problem };
}

/** Reads past a part that means nothing to the form; `too-large` for one that is no mere extra field. */
export async function skipPart({ name, body }: Part): Promise<void> {
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_UNKNOWN) continue;
    const message = `The field ${quoted(name ?? '')} is larger than 1 MiB, and none that an upload has: the file is the field "file", with a file name.`;
    throw new StoreError('too-large', message);
  }
}

/** The text of a small part, in UTF-8. */
export async function readText({ name, body }: Part, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw invalid(`The field ${JSON.stringify(name)} is longer than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw invalid(`The field ${JSON.stringify(name)} is not UTF-8.`);
  }
}

/** The boundary that a form's `Content-Type` announces; `invalid-request` for everything that is no form. */
export function boundaryOf(contentType: string | undefined): string {
  const match = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))/i.exec(
    contentType ?? '',
  );
  const boundary = match?.[1] ?? match?.[2];
  if (boundary !== undefined) return boundary;
  throw invalid('The body must be a form, sent with Content-Type: multipart/form-data and its boundary.');
}

const invalid = (message: string) => new StoreError('invalid-request', message);
const cutShort = () => invalid('The body ends in the middle of the form.');
