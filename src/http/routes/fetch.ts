import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AccessDenied } from '../../access/permission-checks.ts';
import type { KeptId } from '../../model/kept-ids.ts';
import { type FilePath, parseFile } from '../../model/path.ts';
import { accessOf } from '../access/request-access.ts';
import { sendContent } from '../content.ts';
import { sendFailure } from '../failures.ts';
import type { App } from '../fastify-app.ts';
import { isCspSource } from '../page/document.ts';
import { prefersPage } from '../page/listing-page.ts';
import { Failure, FileQuery, PathParameter } from '../schemas.ts';
import type { Service } from '../service.ts';
import { SIGNED_URL_PREFIX, type SignedUrls } from '../signed-urls.ts';
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
  // A user who opened a link gets the web UI, where they can sign in or read the reason.
  app.setErrorHandler((error, request, reply) =>
    error instanceof AccessDenied && prefersPage(request)
      ? sendListingFailure(service, error, request, reply)
      : sendFailure(error, request, reply),
  );
  app.route({
    method: ['GET', 'HEAD'],
    url: '/file/*',
    config: { access: 'files' },
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
      const version = parseVersion(request.query.version);
      if (version !== undefined) return sendVersion(request, reply, { file, version, download });
      return sendContent(
        request,
        reply,
        {
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
      stat: () => files.statVersion(file, version),
      download: (options) => files.downloadVersion(file, version, { ...options, asAttachment: download }),
      downloadUrl: (entry) => files.versionUrl(entry, version, { asAttachment: download }),
    },
    { download, framedBy: "'self'" },
  );
}

/**
 * Serves the signed URLs for stores without presigned URLs of their own. A URL grants access to its file, without
 * authentication, until it expires.
 */
export function signedRoute(app: App, service: Service, signedUrls: SignedUrls): void {
  const { files } = service;
  const framedBy = framesOf(service);
  app.route({
    method: ['GET', 'HEAD'],
    url: `${SIGNED_URL_PREFIX}*`,
    config: { access: 'signature' },
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
      const { file, version, download } = signedUrls.verify(parseFile(request.params['*']), query, Date.now());
      return sendContent(
        request,
        reply,
        {
          stat: () => (version === undefined ? files.stat(file) : files.statVersion(file, version)),
          download: async (options) => ({
            content: await (version === undefined
              ? files.read(file, options)
              : files.readVersion(file, version, options)),
          }),
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
