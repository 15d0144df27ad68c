import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { isStoreError, quoted } from '../../model/error.ts';
import { type FilePath, parseFile } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import { concurrentlyModified } from '../../model/store-errors.ts';
import {
  PREVIEW_WIDTHS,
  type PreviewWidth,
  parsePreviewWidth,
  type Rendition,
  THUMBNAIL,
} from '../../thumbnails/renditions.ts';
import { type ImageSource, renditionEtag, type Thumbnails } from '../../thumbnails/thumbnails.ts';
import { prefers } from '../accept.ts';
import { type LinkRequestAccess, visitorOf } from '../access/link-access.ts';
import type { Read } from '../access/reads.ts';
import { accessOf } from '../access/request-access.ts';
import { sendNotModified } from '../content.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { CACHE_CONTROL } from '../headers.ts';
import { clientSignal } from '../long-operations.ts';
import { evaluatePreconditions, quoteEtag } from '../preconditions.ts';
import { Failure, PathParameter, PreviewQuery, VersionQuery } from '../schemas.ts';
import type { Service } from '../service.ts';
import { rejectVersion } from './fetch.ts';
import { parseVersion } from './versions.ts';

/** Registers the routes of thumbnails and previews. */
export function renditionRoutes(app: App, { thumbnails }: Pick<Service, 'thumbnails'>): void {
  app.get(
    '/thumb/*',
    {
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Files'],
        summary: 'Get the thumbnail of an image',
        description: `Returns a JPEG of 320×320 pixels. ${SOURCES}`,
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
      const target = { path: parseFile(request.params['*']), version: request.query.version, rendition: THUMBNAIL };
      return sendRendition(request, reply, target, thumbnails);
    },
  );
  app.get(
    '/-/preview/*',
    {
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Files'],
        summary: 'Get a preview of an image',
        description:
          'Returns the whole image, upright and in sRGB, scaled down to fit into `width` × 2 `width` pixels. WebP; AVIF only if ' +
          `\`Accept\` prefers it. ${SOURCES}`,
        params: PathParameter,
        querystring: PreviewQuery,
        response: {
          200: {
            description: 'The preview.',
            content: { 'image/webp': { schema: Type.Any() }, 'image/avif': { schema: Type.Any() } },
          },
          304: { ...Type.Null(), description: 'Not modified.' },
          '4xx': Failure,
          '5xx': Failure,
        },
      },
    },
    async (request, reply) => {
      const path = parseFile(request.params['*']);
      const width = requireWidth(request.query.width);
      const format = prefers(request.headers.accept, 'image/avif', 'image/webp') ? 'avif' : 'webp';
      reply.header('vary', 'Accept');
      const rendition: Rendition = { kind: 'preview', width, format };
      return sendRendition(request, reply, { path, version: request.query.version, rendition }, thumbnails);
    },
  );
}

const SOURCES =
  'Supports JPEG, PNG, WebP, GIF, TIFF and SVG images up to 50 MB and 100 megapixels, and AVIF up to 50 megapixels.';

function requireWidth(text: string): PreviewWidth {
  const width = parsePreviewWidth(text);
  if (width !== undefined) return width;
  throw new HttpError('invalid-parameter', `"width" is ${quoted(text)}. Send one of ${PREVIEW_WIDTHS.join(', ')}.`);
}

/** What a request asks for. `version` is the ID of an earlier content of the file. */
interface Target {
  readonly path: FilePath;
  readonly version: string | undefined;
  readonly rendition: Rendition;
}

/** Maximum number of attempts for a file that changes between its metadata and its content. */
const MAX_ATTEMPTS = 5;

async function sendRendition(
  request: FastifyRequest,
  reply: FastifyReply,
  { path, version: versionId, rendition }: Target,
  thumbnails: Thumbnails,
): Promise<FastifyReply> {
  const { files } = accessOf(request);
  const version = parseVersion(versionId);
  const visitor = visitorOf(request);
  if (visitor) rejectVersion(version);
  const read: Read = { action: rendition.kind, paths: [path], version };
  const exchange: Exchange = { request, reply, rendition, thumbnails, read };
  if (version !== undefined) {
    const file = await files.statVersion(path, version);
    return respond(exchange, file, { read: (of, options) => files.readVersion(of, version, options) });
  }
  for (let attempt = 1; ; attempt++) {
    const entry = await files.stat(path);
    try {
      return await (visitor ? respondToVisitor(exchange, entry, visitor) : respond(exchange, entry));
    } catch (error) {
      // The file was replaced after its metadata was read: retry with the new file. Preconditions of the request
      // throw `HttpError`.
      if (!isStoreError(error, 'condition-failed')) throw error;
      if (attempt === MAX_ATTEMPTS) throw concurrentlyModified(error);
    }
  }
}

/** Responds to the visitor of a share link. Renditions are drawn and cached by the path in the store. */
function respondToVisitor(exchange: Exchange, entry: FileEntry, visitor: LinkRequestAccess): Promise<FastifyReply> {
  const file = { ...entry, path: visitor.fullPath(entry.path) };
  return visitor.withFullPaths(() => respond({ ...exchange, visitor }, file));
}

/** A request for a rendition, and how it is answered. */
interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly rendition: Rendition;
  readonly thumbnails: Thumbnails;
  readonly read: Read;
  readonly visitor?: LinkRequestAccess;
}

async function respond(exchange: Exchange, file: FileEntry, source?: ImageSource): Promise<FastifyReply> {
  const { request, reply, rendition, thumbnails, visitor } = exchange;
  const etag = renditionEtag(file, rendition);
  reply.headers({ etag: quoteEtag(etag), 'cache-control': CACHE_CONTROL });
  const verdict = evaluatePreconditions(request.headers, { etag, modified: null });
  // A matching ETag proves that the client already has the rendition. Other preconditions need an existing one.
  const isKnown = verdict === 'not-modified' && request.headers['if-none-match']?.trim() !== '*';
  if (isKnown) return sendNotModified(reply);
  // A rendition from memory needs no abort signal, because nothing is awaited.
  const draw = async () =>
    thumbnails.peek(file, rendition) ??
    (await thumbnails.get(file, { rendition, source, signal: clientSignal(reply) }));
  const hasContent = request.method === 'GET' && verdict === 'proceed';
  const image = await (visitor && hasContent && isDownload(rendition) ? visitor.countLimitedDownload(draw) : draw());
  if (verdict === 'not-modified') return sendNotModified(reply);
  if (verdict === 'failed') {
    throw new HttpError(
      'condition-failed',
      `The precondition failed: the ETag of the ${NAMES[rendition.kind]} is ${quoteEtag(etag)}.`,
    );
  }
  if (request.method === 'GET') accessOf(request).recordRead(exchange.read);
  return reply.type(mediaTypeOf(rendition)).send(image);
}

/** Names of renditions in messages. */
const NAMES = { thumbnail: 'thumbnail', preview: 'preview' } as const;

/** Returns whether a rendition can replace the image itself, so that the download limit of a share link applies. */
function isDownload(rendition: Rendition): boolean {
  return rendition.kind === 'preview' && rendition.width > MAX_UNCOUNTED_WIDTH;
}

/** Maximum width of previews that a share link with a limit of downloads does not count: that of tiles. */
const MAX_UNCOUNTED_WIDTH = 640;

function mediaTypeOf(rendition: Rendition): string {
  return rendition.kind === 'thumbnail' ? 'image/jpeg' : `image/${rendition.format}`;
}
