import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { undefinedIfNotFound } from '../../model/error.ts';
import { parseFile } from '../../model/path.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import type { Upload } from '../../uploads/uploads.ts';
import { accessOf } from '../access/request-access.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import {
  BeginUploadQuery,
  Failure,
  PresignedParts,
  PresignParts,
  Uploaded,
  UploadId,
  UploadList,
  type PendingUpload as UploadSchema,
} from '../schemas.ts';
import type { Service, UploadService } from '../service.ts';
import { discardRest } from '../unread-bodies.ts';
import { describedIn, formatLimits, IetfUploads, isIetfRequest, PARTIAL_TYPE, parseAddition } from '../uploads/ietf.ts';
import { UploadReceiver } from '../uploads/receiver.ts';
import { type EarlyChecks, rejectEarly, responseOf, withoutBody } from '../uploads/requests.ts';
import { describeProtocol, OFFSET_TYPE, requireVersion, TUS_VERSION, TusUploads } from '../uploads/tus.ts';

const params = UploadId;
const Nothing = Type.Null();
const failures = { '4xx': Failure, '5xx': Failure };

/** Registers the routes of resumable uploads, by tus and by the protocol of the IETF. */
export function uploadsRoutes(app: App, service: Service, uploads: UploadService): void {
  const { readOnly } = service;
  const receiver = new UploadReceiver(service, uploads);
  const tus = new TusUploads(receiver);
  const ietf = new IetfUploads(receiver);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onSend', (request, reply, _payload, done) => {
    reply.header('cache-control', 'no-store');
    if (!isIetfRequest(request.raw)) reply.header('tus-resumable', TUS_VERSION);
    done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    // tus requires the version in each response to another one.
    if (!isIetfRequest(request.raw) && request.headers['tus-resumable'] !== TUS_VERSION) {
      reply.header('tus-version', TUS_VERSION);
    }
    done();
  });
  const requireValid = ({ raw, headers }: FastifyRequest) => {
    if (!isIetfRequest(raw)) requireVersion(headers);
  };
  const reject = (request: FastifyRequest, reply: FastifyReply, { isBegun }: Pick<EarlyChecks, 'isBegun'>) =>
    rejectEarly(request, reply, { readOnly, isBegun, requireValid: () => requireValid(request) });

  const optionsHeaders = describeProtocol(receiver.maxSize);

  app.get(
    '/-/uploads',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'List unfinished uploads',
        description:
          "Returns the user's own ones, the newest first, at most 1,000; with an app token, only those that it began. Those of anonymous users are not listed.",
        response: { 200: UploadList, ...failures },
      },
    },
    async (request) => {
      const { user, appToken } = accessOf(request);
      const found = user === undefined ? [] : await uploads.table.list(user.name, appToken);
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
      config: {
        access: 'files',
        optionsHeaders: { ...optionsHeaders, 'upload-limit': formatLimits(receiver.maxSize) },
      },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'Begin an upload',
        description:
          'By tus 1.0.0, with `Upload-Length` or `Upload-Defer-Length`, and `Upload-Metadata`: `path`, or `filename` and optionally `prefix`; and optionally `filetype` and `modified`. Or by Resumable Uploads for HTTP (interop version 8), with `Upload-Complete`, and the query parameter `path`. The URL of the upload is in `Location`. The body can be the first part.',
        consumes: [OFFSET_TYPE, '*/*'],
        querystring: BeginUploadQuery,
        response: {
          200: { ...Uploaded, description: 'The file is stored, with `Upload-Complete: ?1`.' },
          201: { ...Nothing, description: 'The upload has begun, or is complete.' },
          ...failures,
        },
      },
      onRequest: async (request, reply) => reject(request, reply, { isBegun: false }),
    },
    async (request, reply) => {
      try {
        if (!isIetfRequest(request.raw)) {
          await tus.begin(request, reply);
          return withoutBody(reply, 201);
        }
        const addition = parseAddition(request.raw, { offset: 0 });
        const { path } = request.query;
        if (path === undefined)
          throw new HttpError('invalid-parameter', 'The query lacks "path", the path of the file.');
        const described = await describedIn(request, parseFile(path));
        const stored = await ietf.begin(request, reply, { ...described, addition });
        return stored ? responseOf(stored) : withoutBody(reply, 201);
      } catch (error) {
        discardRest(request.raw);
        throw error;
      }
    },
  );

  app.route({
    method: ['GET', 'HEAD'],
    url: '/-/uploads/:id',
    config: { access: 'jobs' },
    schema: {
      tags: ['Resumable uploads'],
      summary: 'Get the offset of an upload',
      description:
        'Ends a request that still writes the upload. By tus, a complete content that could not be stored becomes a file now.',
      params,
      response: {
        200: { ...Nothing, description: 'By tus: `Upload-Offset` is the number of bytes that arrived.' },
        204: { ...Nothing, description: '`Upload-Offset` is the number of bytes that arrived.' },
        ...failures,
      },
    },
    async handler(request: FastifyRequest<{ Params: { id: string } }>, reply) {
      requireValid(request);
      const { id } = request.params;
      const isIetf = isIetfRequest(request.raw);
      const { upload, received } = await receiver.stateOf(request, reply, { id, storesComplete: !isIetf });
      (isIetf ? ietf : tus).describe(reply, upload, received);
      return withoutBody(reply, isIetf ? 204 : 200);
    },
  });

  app.patch(
    '/-/uploads/:id',
    {
      config: { access: 'jobs', optionsHeaders },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'Continue an upload',
        description:
          'The body is the part of the content that begins at `Upload-Offset`. Ends an earlier request that still writes the upload. The last part stores the file: by tus, the one with which the content has its size; by Resumable Uploads for HTTP, the one with `Upload-Complete: ?1`.',
        consumes: [OFFSET_TYPE, PARTIAL_TYPE],
        params,
        response: {
          200: { ...Uploaded, description: 'The file is stored, with `Upload-Complete: ?1`.' },
          201: { ...Uploaded, description: 'The file is stored and new, with `Upload-Complete: ?1`.' },
          204: { ...Nothing, description: '`Upload-Offset` is the number of bytes that arrived.' },
          ...failures,
        },
      },
      onRequest: async (request, reply) => reject(request, reply, { isBegun: true }),
    },
    async (request, reply) => {
      try {
        const upload = await receiver.find(request, request.params.id);
        if (!isIetfRequest(request.raw)) {
          await tus.append(request, reply, upload);
          return withoutBody(reply, 204);
        }
        const stored = await ietf.append(request, reply, upload);
        return stored ? reply.code(stored.isNew ? 201 : 200).send(responseOf(stored)) : withoutBody(reply, 204);
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
      requireValid(request);
      await receiver.remove(await receiver.find(request, request.params.id));
      return withoutBody(reply, 204);
    },
  );
}

/** Registers the route that returns URLs by which clients send the parts of an upload to the store itself. */
export function presignPartsRoute(app: App, service: Service, uploads: UploadService): void {
  const receiver = new UploadReceiver(service, uploads);
  app.post(
    '/-/uploads/:id/parts',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Resumable uploads'],
        summary: 'Get URLs for parts',
        description:
          'Returns URLs by which the client sends parts of the content to the bucket itself, in any order, if the response that began the upload has `Upload-Parts`. A `PATCH` without a body at the end then stores the file. Ends an earlier request that still writes the upload.',
        params,
        body: PresignParts,
        response: { 200: PresignedParts, ...failures },
      },
    },
    async (request, reply) => {
      if (service.readOnly) throw readOnlyError();
      const upload = await receiver.find(request, request.params.id);
      const { partSize, parts } = await receiver.presign(request, upload, request.body.parts);
      reply.header('cache-control', 'no-store');
      return { success: true as const, partSize, parts: [...parts] };
    },
  );
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
