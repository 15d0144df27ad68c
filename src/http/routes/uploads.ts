import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { quoted, StoreError, undefinedIfNotFound } from '../../model/error.ts';
import { childFile, encodePath, type FilePath, nameOf, parseFile, parseFolder, ROOT } from '../../model/path.ts';
import { mediaTypeOfUpload } from '../../model/presentation.ts';
import type { PendingUpload } from '../../model/store.ts';
import { checkedBody } from '../../streams/bodies.ts';
import { removeUpload } from '../../uploads/expiry.ts';
import type { NewUpload, Upload } from '../../uploads/uploads.ts';
import { accessOf, changeOf } from '../access/request-access.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { allowLongBody } from '../limits/slow-clients.ts';
import { clientSignal } from '../long-operations.ts';
import { parseModifiedField, quoteEtag, writeCondition } from '../preconditions.ts';
import { Failure, UploadList, type PendingUpload as UploadSchema } from '../schemas.ts';
import type { Service, UploadService } from '../service.ts';
import {
  checksumOf,
  describeProtocol,
  OFFSET_TYPE,
  parseCount,
  parseLength,
  parseMetadata,
  requireVersion,
  TUS_VERSION,
} from '../tus.ts';
import { discardRest, type EarlyChecks, lengthOf, RequestBody, rejectEarly } from '../upload-requests.ts';

const params = Type.Object({ id: Type.String({ description: 'The ID of the upload.' }) });
const Nothing = Type.Null();
const failures = { '4xx': Failure, '5xx': Failure };

/** Registers the routes of resumable uploads by the tus protocol. */
export function uploadsRoutes(app: App, service: Service, uploads: UploadService): void {
  const { readOnly, maxUploadSize, basePath } = service;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onSend', (_request, reply, _payload, done) => {
    reply.header('tus-resumable', TUS_VERSION).header('cache-control', 'no-store');
    done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    // tus requires the version in each response to another one.
    if (request.headers['tus-resumable'] !== TUS_VERSION) reply.header('tus-version', TUS_VERSION);
    done();
  });
  const reject = (request: FastifyRequest, reply: FastifyReply, { isBegun }: Pick<EarlyChecks, 'isBegun'>) =>
    rejectEarly(request, reply, { readOnly, isBegun, requireValid: () => requireVersion(request.headers) });
  const find = async (request: FastifyRequest, id: string) => {
    const found = await uploads.table.find(id);
    if (found && found.owner === accessOf(request).user?.name) return found;
    throw new HttpError('upload-not-found', `The upload ${quoted(id)} does not exist or has expired.`);
  };
  const receiver = new Receiver(service, uploads);

  for (const url of ['/-/uploads', '/-/uploads/:id']) {
    app.options(url, { config: { access: 'public' }, schema: { hide: true } }, (_request, reply) => {
      describeProtocol(reply, maxUploadSize);
      return reply.code(204).send(null);
    });
  }

  app.get(
    '/-/uploads',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'List unfinished uploads',
        description:
          "Returns the user's own ones, the newest first, at most 1,000. Those of anonymous users are not listed.",
        response: { 200: UploadList, ...failures },
      },
    },
    async (request) => {
      const owner = accessOf(request).user?.name;
      const found = owner === undefined ? [] : await uploads.table.list(owner);
      const described = [];
      for (const upload of found) {
        const content = await undefinedIfNotFound(uploads.contents.openUpload(upload.id));
        described.push(describeUpload(upload, content?.offset ?? 0));
      }
      return { success: true, uploads: described } as const;
    },
  );

  app.post(
    '/-/uploads',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'Begin an upload',
        description:
          'By the tus protocol 1.0.0, with `Upload-Length` or `Upload-Defer-Length`. The metadata is `path`, or `filename` and optionally `prefix`; and optionally `filetype` and `modified`. The URL of the upload is in `Location`. The body can be the first part.',
        consumes: [OFFSET_TYPE],
        response: { 201: { ...Nothing, description: 'The upload has begun, or is complete.' }, ...failures },
      },
      onRequest: async (request, reply) => reject(request, reply, { isBegun: false }),
    },
    async (request, reply) => {
      try {
        const upload = await receiver.begin(request);
        reply.code(201).header('location', `${basePath}/-/uploads/${upload.id}`);
        const hasBody = request.headers['content-type'] === OFFSET_TYPE;
        if (!hasBody && upload.size !== 0) {
          describeState(reply, upload, { offset: 0 });
        } else {
          describeState(reply, upload, await receiver.receive(request, reply, { upload, offset: 0 }));
        }
        return reply.send(null);
      } catch (error) {
        discardRest(request.raw);
        throw error;
      }
    },
  );

  app.head(
    '/-/uploads/:id',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'Get the offset of an upload',
        description: 'Ends a request that still writes the upload.',
        params,
        response: {
          200: { ...Nothing, description: '`Upload-Offset` is the number of bytes that arrived.' },
          ...failures,
        },
      },
    },
    async (request, reply) => {
      requireVersion(request.headers);
      const upload = await find(request, request.params.id);
      describeState(reply, upload, await receiver.stateOf(upload));
      if (upload.size === undefined) reply.header('upload-defer-length', '1');
      else reply.header('upload-length', String(upload.size));
      if (upload.metadata !== undefined) reply.header('upload-metadata', upload.metadata);
      return reply.send(null);
    },
  );

  app.patch(
    '/-/uploads/:id',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'Continue an upload',
        description:
          'The body is the part of the content that begins at `Upload-Offset`. Ends an earlier request that still writes the upload. The last part stores the file.',
        consumes: [OFFSET_TYPE],
        params,
        response: {
          204: { ...Nothing, description: '`Upload-Offset` is the number of bytes that arrived.' },
          ...failures,
        },
      },
      onRequest: async (request, reply) => reject(request, reply, { isBegun: true }),
    },
    async (request, reply) => {
      try {
        const upload = await find(request, request.params.id);
        const { headers } = request;
        if (headers['content-type'] !== OFFSET_TYPE) {
          const found = quoted(headers['content-type'] ?? '');
          throw new HttpError('offset-type-required', `The Content-Type is ${found}. Send ${OFFSET_TYPE}.`);
        }
        const offset = parseCount('Upload-Offset', headers['upload-offset']?.toString());
        if (offset === undefined) throw new HttpError('invalid-header', 'The header Upload-Offset is missing.');
        describeState(reply, upload, await receiver.receive(request, reply, { upload, offset }));
        return reply.code(204).send(null);
      } catch (error) {
        discardRest(request.raw);
        throw error;
      }
    },
  );

  app.delete(
    '/-/uploads/:id',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'Cancel an upload',
        description: 'Discards what arrived. A file that was already stored remains.',
        params,
        response: { 204: { ...Nothing, description: 'The upload no longer exists.' }, ...failures },
      },
    },
    async (request, reply) => {
      requireVersion(request.headers);
      await removeUpload(uploads, await find(request, request.params.id));
      return reply.code(204).send(null);
    },
  );
}

/** What a request found or did: the bytes that arrived, and the file if the upload is complete. */
interface Received {
  readonly offset: number;
  readonly file?: { readonly path: string; readonly etag: string } | undefined;
  /** The ID of the change that stored the file. */
  readonly change?: string | undefined;
}

/** Receives the content of uploads. */
class Receiver {
  readonly #service: Pick<Service, 'maxUploadSize'>;
  readonly #uploads: UploadService;

  constructor(service: Pick<Service, 'maxUploadSize'>, uploads: UploadService) {
    this.#service = service;
    this.#uploads = uploads;
  }

  /** Begins the upload that the headers of a request describe. */
  async begin(request: FastifyRequest): Promise<Upload> {
    const { headers } = request;
    const { files, user } = accessOf(request);
    const size = parseLength(headers);
    this.#requireSize(size);
    const text = headers['upload-metadata']?.toString();
    const metadata = parseMetadata(text);
    const path = destinationOf(metadata);
    const modified = metadata.get('modified');
    const described = {
      owner: user?.name,
      path,
      type: metadata.get('filetype') ?? metadata.get('type'),
      size,
      modified: modified === undefined ? undefined : parseModifiedField(modified),
      metadata: text,
    };
    return files.beginUpload({ path, condition: writeCondition(headers) }, ({ condition }) =>
      this.#create({ ...described, condition }),
    );
  }

  async #create(described: NewUpload): Promise<Upload> {
    const { table, contents } = this.#uploads;
    const { path, size, condition } = described;
    const upload = await table.create(described);
    try {
      const type = mediaTypeOfUpload(described.type, nameOf(path));
      await contents.createUpload(upload.id, { file: path, type, size, condition, user: described.owner });
    } catch (error) {
      await table.remove(upload.id);
      throw error;
    }
    return upload;
  }

  /** Returns what has arrived of an upload. A request that still writes it ends first. */
  async stateOf(upload: Upload): Promise<Received> {
    const { id, size = 0 } = upload;
    if (upload.etag !== undefined) return this.#repeat(upload, size, 0);
    return this.#uploads.leases.run(id, async () => {
      const content = await this.#open(upload);
      return content ? { offset: content.offset } : this.#recover(upload, size);
    });
  }

  /** Appends the body of a request at `offset`. Stores the file if the content is complete. */
  async receive(
    request: FastifyRequest,
    reply: FastifyReply,
    { upload, offset }: { readonly upload: Upload; readonly offset: number },
  ): Promise<Received> {
    const { id } = upload;
    const length = parseCount('Upload-Length', request.headers['upload-length']?.toString());
    if (upload.etag !== undefined) return this.#repeat(upload, offset, lengthOf(request.raw));
    if (length !== undefined && upload.size !== undefined && length !== upload.size) {
      throw new HttpError(
        'invalid-header',
        `The header Upload-Length is ${length}, but the upload has ${upload.size} bytes.`,
      );
    }
    const size = upload.size ?? length;
    this.#requireSize(size);
    return this.#uploads.leases.run(id, async (ended) => {
      const content = await this.#open(upload);
      if (!content) return this.#recover(upload, offset);
      if (content.offset !== offset) throw offsetMismatch(offset, content.offset);
      if (size !== undefined && size < offset) throw tooLong(size);
      if (upload.size === undefined && size !== undefined) await this.#uploads.table.setSize(id, size);
      const signal = AbortSignal.any([ended, clientSignal(reply)]);
      const reached = await this.#append(request, content, { size, signal });
      if (reached !== size) return { offset: reached };
      const file = await this.#finish(request, upload);
      return { offset: reached, file, ...changeOf(request) };
    });
  }

  /** Appends the body of a request, and returns the new offset. */
  async #append(
    request: FastifyRequest,
    content: PendingUpload,
    { size, signal }: { readonly size: number | undefined; readonly signal: AbortSignal },
  ): Promise<number> {
    const { raw, headers } = request;
    const limit = (size ?? this.#service.maxUploadSize ?? Number.POSITIVE_INFINITY) - content.offset;
    const length = lengthOf(raw);
    if (length !== undefined && length > limit) throw tooLong(content.offset + limit);
    if (length === 0 || (length === undefined && headers['transfer-encoding'] === undefined)) return content.offset;
    allowLongBody(raw);
    const checksum = checksumOf(headers);
    const body = checkedBody(new RequestBody(raw), { limit, onChunk: checksum?.update });
    return content.append(body, { verify: checksum?.verify, signal });
  }

  async #finish(request: FastifyRequest, { id, path, condition, type, modified }: Upload) {
    const body = await this.#uploads.contents.openUpload(id);
    await this.#uploads.table.beginCommit(id);
    const file = await accessOf(request).files.upload({
      target: { path, condition },
      body,
      declaredType: type,
      modified: () => modified,
    });
    await this.#uploads.table.finish(id, file);
    return file;
  }

  /** Responds to a part of an upload that is complete, as after a lost response. */
  #repeat({ size = 0, path, etag = '' }: Upload, offset: number, length: number | undefined): Received {
    if (offset !== size) throw offsetMismatch(offset, size);
    if (length !== undefined && length > 0) throw tooLong(size);
    return { offset: size, file: { path, etag } };
  }

  /** Returns the content of an upload; undefined if it became a file, and the process ended before it recorded that. */
  async #open({ id }: Upload): Promise<PendingUpload | undefined> {
    const content = await undefinedIfNotFound(this.#uploads.contents.openUpload(id));
    if (content || (await this.#uploads.table.isCommitting(id))) return content;
    throw new HttpError(
      'upload-not-found',
      `The content of the upload ${quoted(id)} no longer exists. Begin a new upload.`,
    );
  }

  /** Records that an upload is complete, without the ETag, which is not known. */
  async #recover(upload: Upload, offset: number): Promise<Received> {
    const file = { path: upload.path, etag: '' };
    await this.#uploads.table.finish(upload.id, file);
    return this.#repeat({ ...upload, ...file }, offset, 0);
  }

  #requireSize(size: number | undefined): void {
    const { maxUploadSize } = this.#service;
    if (size === undefined || maxUploadSize === undefined || size <= maxUploadSize) return;
    throw new StoreError('upload-too-large', `The file is larger than the limit of ${maxUploadSize} bytes.`);
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

function describeState(reply: FastifyReply, { expiresAt }: Upload, { offset, file, change }: Received): void {
  reply.header('upload-offset', String(offset)).header('upload-expires', expiresAt.toUTCString());
  if (change !== undefined) reply.header('x-change-id', change);
  if (!file) return;
  reply.header('content-location', `/file/${encodePath(file.path)}`);
  if (file.etag !== '') reply.header('etag', quoteEtag(file.etag));
}

function describeUpload({ id, path, size, createdAt, expiresAt }: Upload, offset: number): Static<typeof UploadSchema> {
  return {
    id,
    path,
    offset,
    ...(size !== undefined && { size }),
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}

function offsetMismatch(sent: number, actual: number): HttpError {
  return new HttpError('upload-offset-mismatch', `The part begins at byte ${sent}, but ${actual} bytes have arrived.`);
}

function tooLong(size: number): StoreError {
  return new StoreError('upload-too-large', `The content is longer than the ${size} bytes of the upload.`);
}
