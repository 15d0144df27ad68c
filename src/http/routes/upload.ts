import type { IncomingMessage } from 'node:http';
import { quoted, StoreError } from '../../domain/error.ts';
import type { Files, UploadOptions } from '../../domain/files.ts';
import { childFile, type FolderPath, parseFolder, ROOT } from '../../domain/path.ts';
import { readOnlyError } from '../../domain/problems.ts';
import type { FileEntry } from '../../domain/store.ts';
import { accessOf } from '../access/request-access.ts';
import { clientSignal } from '../client-signal.ts';
import { allowLongBody } from '../limits/slow-bodies.ts';
import { isKept, modifiedInHeader, parseModified } from '../modified-time.ts';
import { boundaryOf, type Form, type Part, readForm, readText, skipPart } from '../multipart.ts';
import { quote, writeCondition } from '../preconditions.ts';
import { Failure, Upload, Uploaded } from '../schemas.ts';
import type { App, Service } from '../service.ts';

/** Bytes of the field `prefix`: enough for an error that names the rule of paths instead of this one. */
const MAX_PREFIX = 8 * 1024;

/** Bytes of the field `modified`: more than any date has. */
const MAX_MODIFIED = 1024;

/** Milliseconds in which a client that still sends, though it was refused, can read why. */
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
      // The body is read as it arrives, and its rules are kept below.
      validatorCompiler: () => () => true,
      // Before the body: a client that can't upload anything must not hold a connection open with one.
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
      const inHeader = modifiedInHeader(request.headers);
      const form = await readForm(request.raw);
      const fields: Fields = {};
      // A field is more exact than the seconds of the header.
      const modified = () => fields.modified ?? inHeader;
      try {
        const onFile = () => {
          form.beginFile();
          allowLongBody(request.raw);
        };
        const sizeAtMost = lengthOf(request.raw);
        const file = await receive(
          accessOf(request).files,
          form,
          { fields, modified },
          { ...options, sizeAtMost, onFile },
        );
        reply.header('etag', quote(file.etag));
        if (isKept(modified(), file)) reply.header('x-oc-mtime', 'accepted');
        return { success: true, message: 'File uploaded successfully', path: file.path } as const;
      } catch (error) {
        discardRest(request.raw);
        throw form.problem() ?? error;
      }
    },
  );
}

/** Bytes of the whole form, where the client says: its file can't have more. */
function lengthOf({ headers }: IncomingMessage): number | undefined {
  return headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
}

type StoreOptions = UploadOptions & { readonly sizeAtMost: number | undefined };

/** `onFile` is called when the file part begins. */
type ReceiveOptions = StoreOptions & { readonly onFile: () => void };

/** The fields of a form beside its file, as far as they have arrived. */
interface Fields {
  prefix?: FolderPath;
  modified?: Date;
}

/** What is known about the file beside its part. */
interface Metadata {
  readonly fields: Fields;
  /** Returns the modification time to keep, once the whole form has arrived. */
  readonly modified: () => Date | undefined;
}

/** Stores the file of a form. Nothing is changed before the whole form has arrived and is found to be right. */
async function receive(
  files: Files,
  form: Form,
  meta: Metadata,
  { onFile, ...options }: ReceiveOptions,
): Promise<FileEntry> {
  for (let part = await form.next(); part; part = await form.next()) {
    if (isFile(part)) {
      onFile();
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
  // A wrong name is found before the bytes are taken in.
  const file = childFile(fields.prefix ?? ROOT, name);
  if (fields.prefix !== undefined) {
    const atEnd = () => readRest(rest, fields);
    return files.upload(file, { ...incoming, atEnd, sizeAtMost }, options);
  }
  const waiting = await files.takeIn(incoming, options);
  try {
    await readRest(rest, fields);
    return await waiting.uploadTo(childFile(fields.prefix ?? ROOT, name), options);
  } finally {
    await waiting.discard();
  }
}

/** Reads what follows the file: perhaps fields, and no second file. */
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

/** Reads a part that is not the file. It may have a file name: Python's `files=` gives one to every field. */
async function readField(part: Part, fields: Fields): Promise<void> {
  const { name } = part;
  if (name !== 'prefix' && name !== 'modified') return skipPart(part);
  if (fields[name] !== undefined) throw new StoreError('invalid-request', `The form has two parts ${quoted(name)}.`);
  if (name === 'prefix') fields.prefix = parseFolder(await readText(part, MAX_PREFIX));
  else fields.modified = parseModified(await readText(part, MAX_MODIFIED));
}

/** The last segment of the file name: some programs send the whole path. */
function fileName({ filename = '' }: Part): string {
  const name = filename.slice(filename.lastIndexOf('/') + 1);
  if (name !== '') return name;
  throw new StoreError('invalid-request', `The file name ${quoted(filename)} of the part "file" is empty.`);
}

/**
 * Reads on without keeping anything, so that a client that is still sending can read its answer, and ends the
 * connection when it does not stop.
 */
function discardRest(request: IncomingMessage): void {
  if (request.destroyed) return;
  request.unpipe();
  // Also one that has come whole: what is not read to its end is never closed, and with it all that was made of it stays.
  request.resume();
  if (request.complete) return;
  const timer = setTimeout(() => request.destroy(), LINGER);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}
