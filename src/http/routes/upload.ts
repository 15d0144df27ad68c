import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { IncomingFile, UploadTarget } from '../../files/upload.ts';
import { quoted } from '../../model/error.ts';
import { childFile, type FilePath, type FolderPath, parseFolder, ROOT } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import { type LinkRequestAccess, visitorOf } from '../access/link-access.ts';
import { accessOf, changeOf } from '../access/request-access.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { allowLongBody } from '../limits/slow-clients.ts';
import { clientSignal } from '../long-operations.ts';
import { boundaryOf, type Form, type Part, readForm, readText, skipPart } from '../multipart.ts';
import {
  finderOf,
  findNothing,
  parseModifiedField,
  parseModifiedHeader,
  quoteEtag,
  writeCondition,
} from '../preconditions.ts';
import { Failure, Upload, Uploaded } from '../schemas.ts';
import type { Service } from '../service.ts';
import { discardRest } from '../unread-bodies.ts';
import {
  confirmModified,
  lengthOf,
  parseSender,
  rejectEarly,
  senderMissing,
  uploadOfVisitor,
} from '../uploads/requests.ts';

/**
 * Bytes of the field `prefix`. Enough that a too long path fails with the error of the path rule instead of this limit.
 */
const MAX_PREFIX_BYTES = 8 * 1024;

/** Bytes of the field `modified`. Every valid date is shorter. */
const MAX_MODIFIED_BYTES = 1024;

/** Bytes of the field `sender`. */
const MAX_SENDER_BYTES = 1024;

export function uploadRoute(app: App, { readOnly }: Pick<Service, 'readOnly'>): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.post(
    '/upload',
    {
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Files'],
        summary: 'Upload a file',
        description:
          'The two parts come in either order. An existing file is replaced, unless the request has `If-None-Match: *`. The `ETag` header of the response is that of the stored file. The header `X-OC-Mtime` (Unix seconds) gives the modification time in the same way as the field `modified`; the response has `X-OC-Mtime: accepted` if the store keeps it.',
        consumes: ['multipart/form-data'],
        body: Upload,
        response: { 200: Uploaded, '4xx': Failure, '5xx': Failure },
      },
      // The handler reads the body as it arrives and validates it itself.
      validatorCompiler: () => () => true,
      onRequest: async (request, reply) =>
        rejectEarly(request, reply, {
          readOnly,
          requireValid: () => void boundaryOf(request.headers['content-type']),
        }),
    },
    async (request, reply) => {
      const signal = clientSignal(reply);
      const inHeader = parseModifiedHeader(request.headers);
      const visitor = visitorOf(request);
      if (visitor) return receiveFromVisitor(request, reply, { visitor, signal });
      const { files } = accessOf(request);
      const form = await readForm(request.raw);
      const fields: Fields = {};
      // The field has a higher resolution than the seconds of the header.
      const modified = () => fields.modified ?? inHeader;
      try {
        const part = await nextFile(form, fields);
        form.beginFile(part);
        allowLongBody(request.raw);
        const incoming: IncomingFile = {
          target: await targetOf(part, fields, (path) => writeCondition(request.headers, finderOf(files, path))),
          body: part.body,
          declaredType: part.type,
          atEnd: () => readRest(form, fields),
          maxSize: lengthOf(request.raw),
          modified,
        };
        const file = await files.upload(incoming, { signal });
        reply.header('etag', quoteEtag(file.etag));
        confirmModified(reply, modified, file);
        return { success: true, message: 'File uploaded successfully', path: file.path, ...changeOf(request) } as const;
      } catch (error) {
        discardRest(request.raw);
        throw form.problem() ?? error;
      }
    },
  );
}

/**
 * Receives an upload of the visitor of a share link. It never replaces a file: a name that is taken gets a number. Without
 * the read permission, the response has the requested path, because the number would reveal the other file.
 */
async function receiveFromVisitor(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    visitor,
    signal,
  }: {
    readonly visitor: LinkRequestAccess;
    readonly signal: AbortSignal;
  },
): Promise<Static<typeof Uploaded>> {
  const { link } = visitor;
  const condition = await writeCondition(request.headers, findNothing);
  const canRead = visitor.permissions.includes('read');
  const inHeader = parseModifiedHeader(request.headers);
  const fields: Fields = { asksSender: link.asksSender };
  const modified = () => fields.modified ?? inHeader;
  let requested: FilePath | undefined;
  const receive = async (count: () => Promise<void>): Promise<FileEntry> => {
    const form = await readForm(request.raw);
    try {
      const part = await nextFile(form, fields);
      const name = fileName(part);
      // Rejects an invalid name before the bytes are read.
      childFile(fields.prefix ?? ROOT, name);
      form.beginFile(part);
      allowLongBody(request.raw);
      const findPath = async () => {
        requested = childFile(folderOf(fields), name);
        await count();
        return requested;
      };
      const incoming: Omit<IncomingFile, 'target'> = {
        body: part.body,
        declaredType: part.type,
        atEnd: () => readRest(form, fields),
        maxSize: lengthOf(request.raw),
        sizeLimit: link.maxUploadBytes,
        modified,
      };
      return await uploadOfVisitor(visitor, incoming, { findPath, condition, signal });
    } catch (error) {
      throw form.problem() ?? error;
    }
  };
  try {
    const file = await visitor.countUpload(receive);
    if (canRead) reply.header('etag', quoteEtag(file.etag));
    confirmModified(reply, modified, file);
    const path = canRead ? file.path : (requested ?? file.path);
    return { success: true, message: 'File uploaded successfully', path };
  } catch (error) {
    discardRest(request.raw);
    throw error;
  }
}

/** Returns the folder of an upload, in the folder of its sender if the link asks for them. */
function folderOf({ prefix = ROOT, sender, asksSender = false }: Fields): FolderPath {
  if (!asksSender) return prefix;
  if (sender === undefined) {
    throw senderMissing('the form field');
  }
  return parseFolder(sender + prefix);
}

/** The fields of a form that have arrived so far, without the file. */
interface Fields {
  prefix?: FolderPath;
  modified?: Date;
  /** The folder of the sender; undefined unless `asksSender`. */
  sender?: FolderPath;
  readonly asksSender?: boolean;
}

/** Reads the fields before the file, and returns the part of the file. */
async function nextFile(form: Form, fields: Fields): Promise<Part> {
  for (let part = await form.next(); part; part = await form.next()) {
    if (isFile(part)) return part;
    await readField(part, fields);
  }
  throw new HttpError('missing-file', 'The form has no part "file" with a file name. Send the file as this part.');
}

/** Returns the target of a file, or a function that does, if its folder can still arrive after the file. */
async function targetOf(
  part: Part,
  fields: Fields,
  conditionAt: (path: FilePath) => Promise<UploadTarget['condition']>,
): Promise<IncomingFile['target']> {
  const name = fileName(part);
  // Rejects an invalid name before the bytes are read.
  const path = childFile(fields.prefix ?? ROOT, name);
  const at = async (to: FilePath) => ({ path: to, condition: await conditionAt(to) });
  return fields.prefix === undefined ? () => at(childFile(fields.prefix ?? ROOT, name)) : at(path);
}

/** Reads the parts after the file: optional fields, and no second file. */
async function readRest(rest: Form, fields: Fields): Promise<void> {
  for (let part = await rest.next(); part; part = await rest.next()) {
    if (isFile(part))
      throw new HttpError('invalid-form', 'The form has two parts "file". Send one request for each file.');
    await readField(part, fields);
  }
}

function isFile({ name, filename, unreadable }: Part): boolean {
  if (name !== 'file' || unreadable === undefined) return name === 'file' && filename !== undefined;
  throw new HttpError(
    'invalid-form',
    `The file name of the part "file" can't be read from the parameter ${quoted(unreadable)}. Send it as "filename", in UTF-8.`,
  );
}

/** Reads a part that is not the file. It can have a file name: Python's `files=` adds one to every field. */
async function readField(part: Part, fields: Fields): Promise<void> {
  const { name } = part;
  if (name !== 'prefix' && name !== 'modified' && !(name === 'sender' && fields.asksSender)) return skipPart(part);
  if (fields[name] !== undefined)
    throw new HttpError('invalid-form', `The form has two parts ${quoted(name)}. Send only one.`);
  if (name === 'prefix') fields.prefix = parseFolder(await readText(part, MAX_PREFIX_BYTES));
  else if (name === 'sender') fields.sender = parseSender(await readText(part, MAX_SENDER_BYTES));
  else fields.modified = parseModifiedField(await readText(part, MAX_MODIFIED_BYTES));
}

/** Returns the last segment of the file name, because some clients send the whole path. */
function fileName({ filename = '' }: Part): string {
  const name = filename.slice(filename.lastIndexOf('/') + 1);
  if (name !== '') return name;
  throw new HttpError('invalid-form', `The file name ${quoted(filename)} of the part "file" is empty.`);
}
