import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingFile } from '../../files/upload.ts';
import { encodePath, type FilePath, parseFile } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import { type LinkRequestAccess, visitorOf } from '../access/link-access.ts';
import { accessOf, changeOf } from '../access/request-access.ts';
import { digestCheckOf } from '../digests.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { allowLongBody } from '../limits/slow-clients.ts';
import { clientSignal } from '../long-operations.ts';
import { finderOf, findNothing, parseModifiedHeader, quoteEtag, writeCondition } from '../preconditions.ts';
import { publicPathOf } from '../public-path.ts';
import { LINK_PREFIX, linkTokenOf } from '../request-url.ts';
import { Failure, PathParameter, PutQuery, Uploaded } from '../schemas.ts';
import type { Service } from '../service.ts';
import { discardRest } from '../unread-bodies.ts';
import { describedIn, formatLimits, IetfUploads, parseUpgrade } from '../uploads/ietf.ts';
import { UploadReceiver } from '../uploads/receiver.ts';
import {
  confirmModified,
  lengthOf,
  parseSender,
  RequestBody,
  rejectEarly,
  responseOf,
  senderMissing,
  uploadOfVisitor,
  withoutBody,
} from '../uploads/requests.ts';

/** Registers the route that stores the body of a request as a file, as `curl -T` sends it. */
export function putFileRoute(app: App, service: Service): void {
  const { readOnly, uploads } = service;
  const publicPath = publicPathOf(service);
  const receiver = uploads && new UploadReceiver(service, uploads);
  const ietf = receiver && new IetfUploads(receiver);
  const optionsHeaders: Readonly<Record<string, string>> = receiver
    ? { 'upload-limit': formatLimits(receiver.maxSize) }
    : {};
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.put(
    '/file/*',
    {
      config: { access: 'files', links: 'visitors', optionsHeaders },
      schema: {
        tags: ['Files'],
        summary: 'Store a file',
        description:
          'The body is the content of the file. The response is 201 if the file is new. It is 200 if the file replaced another one, or if the store does not tell. With `If-None-Match: *`, nothing is replaced; with `If-Match`, only the version with this ETag. With `Content-Digest` or `Repr-Digest` (RFC 9530, `sha-256` or `sha-512`), nothing is stored if the content has another digest. `Content-Type` is the media type to store; without it, the name determines the type. With `Upload-Complete` (Resumable Uploads for HTTP, interop version 8), the upload can be continued in several requests: its URL is in a 104 response and, after `Upload-Complete: ?0`, in `Location` of a 201 response without a body. `X-OC-Mtime` (Unix seconds) is the modification time to store; the response has `X-OC-Mtime: accepted` if the store keeps it.',
        consumes: ['*/*'],
        params: PathParameter,
        querystring: PutQuery,
        response: { 200: Uploaded, 201: Uploaded, '4xx': Failure, '5xx': Failure },
      },
      onRequest: async (request, reply) =>
        rejectEarly(request, reply, { readOnly, requireValid: () => requireWholeContent(request) }),
    },
    async (request, reply) => {
      try {
        const visitor = visitorOf(request);
        const requested = visitor ? pathOfVisitor(request, visitor) : parseFile(request.params['*']);
        const addition = parseUpgrade(request.raw);
        if (addition && ietf && !visitor) {
          const described = await describedIn(request, requested);
          const stored = await ietf.begin(request, reply, { ...described, addition });
          if (!stored) return withoutBody(reply, 201);
          reply.code(stored.isNew ? 201 : 200).header('location', `${publicPath}/file/${encodePath(stored.path)}`);
          return responseOf(stored);
        }
        if (addition?.isComplete === false) throw notResumable();
        const { file, isNew } = await receive(request, reply, requested);
        // The number of a name that was taken would reveal the other file.
        const isHidden = visitor && !visitor.permissions.includes('read');
        if (!isHidden) reply.header('etag', quoteEtag(file.etag));
        const path = isHidden ? requested : file.path;
        const token = linkTokenOf(request);
        const base = token === undefined ? publicPath : `${publicPath}${LINK_PREFIX}${token}`;
        reply.code(isNew ? 201 : 200).header('location', `${base}/file/${encodePath(path)}`);
        return responseOf({ path, ...changeOf(request) });
      } catch (error) {
        discardRest(request.raw);
        throw error;
      }
    },
  );
}

type PutRequest = FastifyRequest<{ Params: { '*': string }; Querystring: { sender?: string } }>;

/** Returns the path that the visitor of a share link requested, in the folder of the sender if the link asks for one. */
function pathOfVisitor({ params, query }: PutRequest, { link }: LinkRequestAccess): FilePath {
  const path = parseFile(params['*']);
  if (!link.asksSender) return path;
  if (query.sender === undefined) throw senderMissing('the query parameter');
  return parseFile(parseSender(query.sender) + path);
}

/** Stores the body of the request. Returns the file, and whether it is known to be new. */
async function receive(
  request: FastifyRequest,
  reply: FastifyReply,
  path: FilePath,
): Promise<{ readonly file: FileEntry; readonly isNew: boolean }> {
  const { headers, raw } = request;
  const signal = clientSignal(reply);
  const visitor = visitorOf(request);
  const { files } = accessOf(request);
  const condition = await writeCondition(headers, visitor ? findNothing : finderOf(files, path));
  const modifiedTime = parseModifiedHeader(headers);
  const digests = digestCheckOf(headers);
  let isNew = condition === 'absent';
  const write = async (count = async () => {}) => {
    allowLongBody(raw);
    const incoming: Omit<IncomingFile, 'target'> = {
      body: new RequestBody(raw),
      declaredType: headers['content-type'],
      onChunk: digests?.update,
      atEnd: digests?.verify,
      sizeLimit: visitor?.link.maxUploadBytes,
      maxSize: lengthOf(raw),
      modified: () => modifiedTime,
      onOutcome: ({ replaced }) => {
        isNew = !replaced;
      },
    };
    const findPath = () => count().then(() => path);
    const file = await (visitor
      ? uploadOfVisitor(visitor, incoming, { findPath, condition, signal })
      : files.upload({ ...incoming, target: { path, condition } }, { signal }));
    confirmModified(reply, incoming.modified, file);
    return file;
  };
  const file = await (visitor ? visitor.countUpload(write) : write());
  return { file, isNew: isNew || visitor !== undefined };
}

/** The error for a body that is only the first part of a file, and can't be continued. */
function notResumable(): HttpError {
  return new HttpError(
    'invalid-header',
    'Upload-Complete is "?0", but this file must arrive in one request: resumable uploads need the database, and no share link.',
  );
}

/** Throws unless the body is the whole content of a file (RFC 9110, section 14.5). */
function requireWholeContent({ headers }: FastifyRequest): void {
  if (headers['content-range'] === undefined) return;
  throw new HttpError('invalid-header', 'PUT stores a whole file. Send the request without Content-Range.');
}
