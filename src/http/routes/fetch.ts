import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AccessDenied } from '../../access/permission-checks.ts';
import type { KeptId } from '../../model/kept-ids.ts';
import { type FilePath, parseFile } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import { type LinkRequestAccess, visitorOf } from '../access/link-access.ts';
import { accessOf } from '../access/request-access.ts';
import { sendContent } from '../content.ts';
import { HttpError } from '../errors.ts';
import { sendFailure, unknownRoute } from '../failures.ts';
import type { App } from '../fastify-app.ts';
import { isCspSource } from '../page/document.ts';
import { prefersPage } from '../page/listing-page.ts';
import { Failure, FileQuery, PathParameter } from '../schemas.ts';
import type { Service } from '../service.ts';
import { SIGNED_URL_PREFIX } from '../signed-urls.ts';
import { sendListingFailure, withHtml } from './listing.ts';
import { parseVersion } from './versions.ts';

const Bytes = { description: 'The bytes of the file.', content: { '*/*': { schema: Type.Any() } } };
const Nothing = Type.Null();

/** The responses with the bytes of a file, for the OpenAPI document. */
export const CONTENT_RESPONSES = {
  200: Bytes,
  206: Bytes,
  304: { ...Nothing, description: 'Not modified.' },
  '4xx': Failure,
  '5xx': Failure,
};

export function fetchRoute(app: App, service: Service): void {
  // A user who opened a URL gets the web UI, where they can sign in, enter the password of a link, or read the reason.
  app.setErrorHandler((error, request, reply) =>
    (error instanceof AccessDenied || isLinkFailure(error)) && prefersPage(request)
      ? sendListingFailure(service, error, request, reply)
      : sendFailure(error, request, reply),
  );
  app.route({
    method: ['GET', 'HEAD'],
    url: '/file/*',
    config: { access: 'files', links: 'visitors' },
    schema: {
      tags: ['Files'],
      summary: 'Fetch a file',
      description:
        'Returns the bytes of a file below 6 MB (6,291,456 bytes), and a redirect to a presigned URL for a larger file. Supports conditional requests and single ranges (RFC 9110).',
      params: PathParameter,
      querystring: FileQuery,
      response: {
        ...CONTENT_RESPONSES,
        302: { ...Nothing, description: 'The URL of the bytes is in `Location`.' },
        '4xx': withHtml(Failure),
      },
    },
    handler: (request, reply) => {
      const { files } = accessOf(request);
      const file = parseFile(request.params['*']);
      const download = request.query.download === '1';
      const visitor = visitorOf(request);
      const version = parseVersion(request.query.version);
      if (visitor) {
        rejectVersion(version);
        return sendToVisitor(request, reply, { visitor, file, download });
      }
      if (version !== undefined) return sendVersion(request, reply, { file, version, download });
      return sendContent(
        request,
        reply,
        {
          read: { action: 'fetch', paths: [file] },
          stat: () => files.stat(file),
          readCached: () => files.readCached(file),
          download: (options) => files.download(file, { ...options, asAttachment: download }),
          downloadUrl: (entry) =>
            files.downloadUrl(entry, { asAttachment: download, purpose: request.method === 'HEAD' ? 'stat' : 'read' }),
        },
        { download, framedBy: "'self'" },
      );
    },
  });
}

/** Returns whether an error means that a visitor can't use the share link at all. */
function isLinkFailure(error: unknown): boolean {
  return error instanceof HttpError && (error.code === 'link-not-found' || error.code === 'link-password-required');
}

/** Throws 400 for a request that names a version, which visitors of a share link can't read. */
export function rejectVersion(version: KeptId | undefined): void {
  if (version === undefined) return;
  throw new HttpError('invalid-parameter', '"version" can\'t be used below the URL of a share link. Remove it.');
}

/**
 * Responds with a file to the visitor of a share link, and counts each response with its content. For a redirect, these are the
 * responses at the signed URL: it can be used several times.
 */
function sendToVisitor(
  request: FastifyRequest,
  reply: FastifyReply,
  options: { readonly visitor: LinkRequestAccess; readonly file: FilePath; readonly download: boolean },
): FastifyReply | Promise<FastifyReply> {
  const { visitor, file, download } = options;
  const { files } = visitor;
  const purpose = request.method === 'HEAD' ? 'stat' : 'read';
  const downloadUrl = (entry: FileEntry) => files.downloadUrl(entry, { asAttachment: download, purpose });
  return sendContent(
    request,
    reply,
    {
      read: { action: 'fetch', paths: [file] },
      stat: () => files.stat(file),
      async download(read) {
        const url = await downloadUrl(await files.stat(file, { signal: read.signal }));
        if (url !== undefined) return { url };
        return visitor.countDownload(() => files.download(file, { ...read, asAttachment: download }));
      },
      downloadUrl,
    },
    { download, framedBy: "'self'" },
  );
}

/** Responds with an earlier content of a file. */
function sendVersion(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, version, download }: { readonly file: FilePath; readonly version: KeptId; readonly download: boolean },
): FastifyReply | Promise<FastifyReply> {
  const { files } = accessOf(request);
  return sendContent(
    request,
    reply,
    {
      read: { action: 'fetch', paths: [file], version },
      stat: () => files.statVersion(file, version),
      download: (options) => files.downloadVersion(file, version, { ...options, asAttachment: download }),
      downloadUrl: (entry) => files.versionUrl(entry, version, { asAttachment: download }),
    },
    { download, framedBy: "'self'" },
  );
}

/**
 * Serves the signed URLs: for stores without presigned URLs of their own, and for visitors of share links. A URL grants
 * access to its file, without authentication, until it expires.
 */
export function signedRoute(app: App, service: Service): void {
  const { signedUrls } = service;
  const framedBy = framesOf(service);
  app.route({
    method: ['GET', 'HEAD'],
    url: `${SIGNED_URL_PREFIX}*`,
    config: { access: 'signature', links: 'visitors' },
    schema: {
      tags: ['Files'],
      summary: 'Fetch a file by a signed URL',
      description:
        'Returns the bytes of a file. `/file/` redirects to this URL. Returns 403 if the URL was changed or has expired.',
      params: PathParameter,
      response: CONTENT_RESPONSES,
    },
    handler: (request, reply) => {
      const query = request.url.slice(request.url.indexOf('?') + 1);
      const path = parseFile(request.params['*']);
      const visitor = visitorOf(request);
      const grant = visitor ? visitor.verifyUrl(path, query) : signedUrls?.verify(path, query, Date.now());
      if (!grant) throw unknownRoute(request);
      const { file, version, download } = grant;
      const files = visitor?.files ?? service.files;
      return sendContent(
        request,
        reply,
        {
          read: { action: 'fetch signed URL', paths: [file], version },
          stat: () => (version === undefined ? files.stat(file) : files.statVersion(file, version)),
          download: async (options) => {
            const read = () =>
              version === undefined ? files.read(file, options) : files.readVersion(file, version, options);
            return { content: await (visitor ? visitor.countDownload(read) : read()) };
          },
          downloadUrl: async () => undefined,
        },
        { download, framedBy },
      );
    },
  });
}

/** Returns the origin of the web UI, which may embed files in frames, as a Content-Security-Policy source. */
function framesOf({ contentOrigin, publicUrl }: Service): string {
  if (contentOrigin === undefined) return "'self'";
  const origin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  return origin !== undefined && isCspSource(origin) ? origin : '*';
}
