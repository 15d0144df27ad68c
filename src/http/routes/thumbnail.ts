import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { isStoreError } from '../../model/error.ts';
import { parseFile } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import { concurrentlyModified } from '../../model/store-errors.ts';
import { type ImageSource, type Thumbnails, thumbnailEtag } from '../../thumbnails/thumbnails.ts';
import { visitorOf } from '../access/link-access.ts';
import { accessOf } from '../access/request-access.ts';
import { sendNotModified } from '../content.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { CACHE_CONTROL } from '../headers.ts';
import { clientSignal } from '../long-operations.ts';
import { evaluatePreconditions, quoteEtag } from '../preconditions.ts';
import { Failure, PathParameter, VersionQuery } from '../schemas.ts';
import type { Service } from '../service.ts';
import { rejectVersion } from './fetch.ts';
import { parseVersion } from './versions.ts';

export function thumbnailRoute(app: App, { thumbnails }: Pick<Service, 'thumbnails'>): void {
  app.get(
    '/thumb/*',
    {
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Files'],
        summary: 'Get the thumbnail of an image',
        description:
          'Returns a JPEG of 320×320 pixels. Supports JPEG, PNG, WebP, GIF, TIFF and SVG images up to 50 MB and 100 megapixels, and AVIF up to 50 megapixels.',
        params: PathParameter,
        querystring: VersionQuery,
        response: {
          200: { description: 'The thumbnail.', content: { 'image/jpeg': { schema: Type.Any() } } },
          304: { ...Type.Null(), description: 'Not modified.' },
          '4xx': Failure,
          '5xx': Failure,
        },
      },
    },
    async (request, reply) => {
      const path = parseFile(request.params['*']);
      const { files } = accessOf(request);
      const version = parseVersion(request.query.version);
      const visitor = visitorOf(request);
      if (visitor) rejectVersion(version);
      if (version !== undefined) {
        const file = await files.statVersion(path, version);
        const source: ImageSource = { read: (of, options) => files.readVersion(of, version, options) };
        return sendThumbnail(request, reply, { file, source }, thumbnails);
      }
      for (let attempt = 1; ; attempt++) {
        const entry = await files.stat(path);
        // Thumbnails are drawn and cached by the path in the store.
        const file = visitor ? { ...entry, path: visitor.fullPath(path) } : entry;
        const send = () => sendThumbnail(request, reply, { file }, thumbnails);
        try {
          return await (visitor ? visitor.withFullPaths(send) : send());
        } catch (error) {
          // The file was replaced after its metadata was read: retry with the new file. Preconditions of the request
          // throw `HttpError`.
          if (!isStoreError(error, 'condition-failed')) throw error;
          if (attempt === MAX_ATTEMPTS) throw concurrentlyModified(error);
        }
      }
    },
  );
}

/** Maximum number of attempts for a file that changes between its metadata and its content. */
const MAX_ATTEMPTS = 5;

async function sendThumbnail(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, source }: { readonly file: FileEntry; readonly source?: ImageSource },
  thumbnails: Thumbnails,
): Promise<FastifyReply> {
  const etag = thumbnailEtag(file);
  reply.headers({ etag: quoteEtag(etag), 'cache-control': CACHE_CONTROL });
  const verdict = evaluatePreconditions(request.headers, { etag, modified: null });
  // A matching ETag proves that the client already has the thumbnail. Other preconditions need an existing thumbnail.
  const isKnown = verdict === 'not-modified' && request.headers['if-none-match']?.trim() !== '*';
  if (isKnown) return sendNotModified(reply);
  // A thumbnail from memory needs no abort signal, because nothing is awaited.
  const jpeg = thumbnails.peek(file) ?? (await thumbnails.get(file, { source, signal: clientSignal(reply) }));
  if (verdict === 'not-modified') return sendNotModified(reply);
  if (verdict === 'failed') {
    throw new HttpError(
      'condition-failed',
      `The precondition failed: the ETag of the thumbnail is ${quoteEtag(etag)}.`,
    );
  }
  return reply.type('image/jpeg').send(jpeg);
}
