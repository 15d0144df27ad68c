import type { IncomingMessage } from 'node:http';
import type { Files, UploadOptions } from '../../files/files.ts';
import { quoted, StoreError } from '../../model/error.ts';
import { childFile, type FolderPath, parseFolder, ROOT } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { accessOf } from '../access/request-access.ts';
import type { App } from '../fastify-app.ts';
import { allowLongBody } from '../limits/slow-clients.ts';
import { clientSignal } from '../long-operations.ts';
import { boundaryOf, type Form, type Part, readForm, readText, skipPart } from '../multipart.ts';
import {
  isModifiedTimeKept,
  parseModifiedField,
  parseModifiedHeader,
  quoteEtag,
  writeCondition,
} from '../preconditions.ts';
import { Failure, Upload, Uploaded } from '../schemas.ts';
import type { Service } from '../service.ts';

/**
 * Bytes of the field `prefix`. Enough that a too long path fails with the error of the path rule instead of this limit.
 */
const MAX_PREFIX = 8 * 1024;

/** Bytes of the field `modified`. Every valid date is shorter. */
const MAX_MODIFIED = 1024;

/** Milliseconds that a client has to read the response to a rejected upload while it still sends. */
const LINGER = 5_000;

export function uploadRoute(app: App, { readOnly }: Pick<Service, 'readOnly'>): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.post(
    '/upload',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Files'],
        summary: 'Upload a file',
        description:
          'The two parts come in either order. A file of this path is replaced, unless `If-None-Match: *` is sent. The `ETag` header of the answer is that of what was stored. The header `X-OC-Mtime` (Unix seconds) gives the modification time in the same way as the field `modified`; the response has `X-OC-Mtime: accepted` if the store keeps it.',
        consumes: ['multipart/form-data'],
        body: Upload,
        response: { 200: Uploaded, '4xx': Failure, '5xx': Failure },
      },
      // The handler reads the body as it arrives and validates it itself.
      validatorCompiler: () => () => true,
      // Before the body is read: a client that can't upload must not keep the connection open with a body.
      onRequest: async (request, reply) => {
        try {
          accessOf(request).files.requireUpload();
          if (readOnly) throw readOnlyError();
          boundaryOf(request.headers['content-type']);
        } catch (error) {
          reply.raw.once('finish', () => discardRest(request.raw));
          throw error;
        }
      },
    },
    async (request, reply) => {
      const options = { condition: writeCondition(request.headers), signal: clientSignal(reply) };
      const inHeader = parseModifiedHeader(request.headers);
      const form = await readForm(request.raw);
      const fields: Fields = {};
      // The field has a higher resolution than the seconds of the header.
      const modified = () => fields.modified ?? inHeader;
      try {
        const onFile = (part: Part) => {
          form.beginFile(part);
          allowLongBody(request.raw);
        };
        const sizeAtMost = lengthOf(request.raw);
        const file = await receive(
          accessOf(request).files,
          form,
          { fields, modified },
          { ...options, sizeAtMost, onFile },
        );
        reply.header('etag', quoteEtag(file.etag));
        if (isModifiedTimeKept(modified(), file)) reply.header('x-oc-mtime', 'accepted');
        return { success: true, message: 'File uploaded successfully', path: file.path } as const;
      } catch (error) {
        discardRest(request.raw);
        throw form.problem() ?? error;
      }
    },
  );
}

/**
 * Returns the `Content-Length` of the whole form, an upper bound of the size of its file; undefined without the header.
 */
function lengthOf({ headers }: IncomingMessage): number | undefined {
  return headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
}

type StoreOptions = UploadOptions & { readonly sizeAtMost: number | undefined };

/** `onFile` is called when the file part begins. */
type ReceiveOptions = StoreOptions & { readonly onFile: (part: Part) => void };

/** The fields that have arrived so far, without the file. */
interface Fields {
  prefix?: FolderPath;
  modified?: Date;
}

/** Metadata of the file that other parts and headers carry. */
interface Metadata {
  readonly fields: Fields;
  /** Returns the modification time to keep, once the whole form has arrived. */
  readonly modified: () => Date | undefined;
}

/** Stores the file of a form. Changes nothing before the whole form has arrived and is valid. */
async function receive(
  files: Files,
  form: Form,
  meta: Metadata,
  { onFile, ...options }: ReceiveOptions,
): Promise<FileEntry> {
  for (let part = await form.next(); part; part = await form.next()) {
    if (isFile(part)) {
      onFile(part);
      return storeFile(files, part, { ...meta, rest: form }, options);
    }
    await readField(part, meta.fields);
  }
  throw new StoreError('invalid-request', 'The form has no part "file" with a file name.');
}

async function storeFile(
  files: Files,
  part: Part,
  { fields, modified, rest }: Metadata & { readonly rest: Form },
  { sizeAtMost, ...options }: StoreOptions,
): Promise<FileEntry> {
  const name = fileName(part);
  const { body, release, type: declaredType } = part;
  const incoming = { body, release, declaredType, modified };
  // Rejects an invalid name before the bytes are read.
  const file = childFile(fields.prefix ?? ROOT, name);
  if (fields.prefix !== undefined) {
    const atEnd = () => readRest(rest, fields);
    return files.upload(file, { ...incoming, atEnd, sizeAtMost }, options);
  }
  const waiting = await files.stage(incoming, options);
  try {
    await readRest(rest, fields);
    return await waiting.commit(childFile(fields.prefix ?? ROOT, name), options);
  } finally {
    await waiting.discard();
  }
}

/** Reads the parts after the file: optional fields, and no second file. */
async function readRest(rest: Form, fields: Fields): Promise<void> {
  for (let part = await rest.next(); part; part = await rest.next()) {
    if (isFile(part))
      throw new StoreError('invalid-request', 'The form has two parts "file"; send one request for each file.');
    await readField(part, fields);
  }
}

function isFile({ name, filename, unreadable }: Part): boolean {
  if (name !== 'file' || unreadable === undefined) return name === 'file' && filename !== undefined;
  throw new StoreError(
    'invalid-request',
    `The file name of the part "file" can't be read from the parameter ${quoted(unreadable)}. Send it as "filename", in UTF-8.`,
  );
}

/** Reads a part that is not the file. It can have a file name: Python's `files=` adds one to every field. */
async function readField(part: Part, fields: Fields): Promise<void> {
  const { name } = part;
  if (name !== 'prefix' && name !== 'modified') return skipPart(part);
  if (fields[name] !== undefined) throw new StoreError('invalid-request', `The form has two parts ${quoted(name)}.`);
  if (name === 'prefix') fields.prefix = parseFolder(await readText(part, MAX_PREFIX));
  else fields.modified = parseModifiedField(await readText(part, MAX_MODIFIED));
}

/** Returns the last segment of the file name, because some clients send the whole path. */
function fileName({ filename = '' }: Part): string {
  const name = filename.slice(filename.lastIndexOf('/') + 1);
  if (name !== '') return name;
  throw new StoreError('invalid-request', `The file name ${quoted(filename)} of the part "file" is empty.`);
}

/**
 * Reads and drops the rest of the body, so that a client that is still sending can read the response. Closes the
 * connection if the client does not stop.
 */
function discardRest(request: IncomingMessage): void {
  if (request.destroyed) return;
  request.unpipe();
  // Also drain a body that has arrived whole: an unread stream never closes, and everything that refers to it stays in
  // memory.
  request.resume();
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), LINGER);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}
