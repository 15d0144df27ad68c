import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AccessDenied } from '../../access/permission-checks.ts';
import { concurrently } from '../../concurrency/concurrently.ts';
import type { Files } from '../../files/files.ts';
import type { ImageDetails } from '../../media/image-details.ts';
import { mediaEtag } from '../../media/media.ts';
import { isStoreError, quoted, StoreError } from '../../model/error.ts';
import { type FilePath, parseFile } from '../../model/path.ts';
import type { FileEntry } from '../../model/store.ts';
import { concurrentlyModified } from '../../model/store-errors.ts';
import { visitorOf } from '../access/link-access.ts';
import { accessOf } from '../access/request-access.ts';
import { sendNotModified } from '../content.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { CACHE_CONTROL } from '../headers.ts';
import { clientSignal } from '../long-operations.ts';
import { evaluatePreconditions, quoteEtag } from '../preconditions.ts';
import { Failure, MediaList, MediaRequest, MediaResponse, PathParameter, VersionQuery } from '../schemas.ts';
import type { Service } from '../service.ts';
import { rejectVersion } from './fetch.ts';
import { parseVersion } from './versions.ts';

/** Maximum size of a list of paths: 500 paths of the maximum length fit, even with every character escaped. */
const MAX_BODY_BYTES = 4 * 2 ** 20;

/** Maximum files of one request that are read in parallel. */
const CONCURRENCY = 8;

/** Registers the route with the details of one image. */
export function mediaRoute(app: App, { media }: Pick<Service, 'media'>): void {
  app.get(
    '/-/media/*',
    {
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Files'],
        summary: 'Get the details of an image',
        description: `Returns what the header of an image says: its size, and from its EXIF data the time, the camera and the location. ${FORMATS}`,
        params: PathParameter,
        querystring: VersionQuery,
        response: {
          200: MediaResponse,
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
      if (version === undefined) return sendDetails(request, reply, { media, file: await files.stat(path) });
      if (visitorOf(request)) rejectVersion(version);
      const file = await files.statVersion(path, version);
      const source: Pick<Files, 'read'> = { read: (of, options) => files.readVersion(of, version, options) };
      return sendDetails(request, reply, { media, file, source });
    },
  );
}

/** Registers the route with the details of many images. The scope must parse JSON bodies. */
export function mediaListRoute(app: App, { media }: Pick<Service, 'media'>): void {
  app.post(
    '/-/media',
    {
      bodyLimit: MAX_BODY_BYTES,
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Files'],
        summary: 'Get the sizes and times of images',
        description:
          'Returns the size and the time of each image, in the order of the paths. Omits files that are not images, do not ' +
          `exist, or may not be read. ${FORMATS}`,
        body: MediaRequest,
        response: { 200: MediaList, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const paths = request.body.paths.map(parseFile);
      reply.header('cache-control', 'no-store');
      return { success: true, items: await listDetails(request, reply, { media, paths }) } satisfies MediaList;
    },
  );
}

const FORMATS = 'Supports JPEG, PNG, WebP, GIF, TIFF, AVIF, HEIC and SVG.';

interface Target extends Pick<Service, 'media'> {
  readonly file: FileEntry;
  /** Reads an earlier version of the file. */
  readonly source?: Pick<Files, 'read'> | undefined;
}

/** Throws the error of reading a file, with the reason if the file was replaced at that moment. */
function describeChange(error: unknown): never {
  throw isStoreError(error, 'condition-failed') ? concurrentlyModified(error) : error;
}

async function sendDetails(
  request: FastifyRequest,
  reply: FastifyReply,
  { media, file, source }: Target,
): Promise<MediaResponse | FastifyReply> {
  const etag = mediaEtag(file);
  const verdict = evaluatePreconditions(request.headers, { etag, modified: null });
  if (verdict === 'failed') {
    throw new HttpError('condition-failed', `The precondition failed: the ETag of the details is ${quoteEtag(etag)}.`);
  }
  const details = await detailsOf(request, { media, file, source, signal: clientSignal(reply) }).catch(describeChange);
  if (!details) throw new StoreError('unsupported-image', `The file ${quoted(file.path)} is not a readable image.`);
  reply.headers({ etag: quoteEtag(etag), 'cache-control': CACHE_CONTROL });
  return verdict === 'not-modified' ? sendNotModified(reply) : { success: true, media: details };
}

/** Returns the details of a file. Those of a visitor's file are cached by its path in the store. */
function detailsOf(
  request: FastifyRequest,
  { media, file, source, signal }: Target & { readonly signal: AbortSignal },
): Promise<ImageDetails | undefined> {
  const visitor = visitorOf(request);
  if (!visitor) return media.get(file, { source, signal });
  const stored = { ...file, path: visitor.fullPath(file.path) };
  return visitor.withFullPaths(() => media.get(stored, { signal }));
}

async function listDetails(
  request: FastifyRequest,
  reply: FastifyReply,
  { media, paths }: Pick<Service, 'media'> & { readonly paths: readonly FilePath[] },
): Promise<MediaList['items']> {
  const { files } = accessOf(request);
  const signal = clientSignal(reply);
  const items: MediaList['items'][] = paths.map(() => []);
  let denial: AccessDenied | undefined;
  let readable = 0;
  const read = async ([index, path]: [number, FilePath]) => {
    try {
      const file = await files.stat(path, { signal });
      readable++;
      const details = await detailsOf(request, { media, file, signal });
      if (!details) return;
      const { width, height, takenAt } = details;
      items[index] = [{ path, etag: quoteEtag(file.etag), width, height, ...(takenAt !== undefined && { takenAt }) }];
    } catch (error) {
      if (error instanceof AccessDenied) denial ??= error;
      else if (!isOmitted(error)) throw error;
    }
  };
  await concurrently(each(paths), CONCURRENCY, read, signal);
  // Without permission for any file, the user may have to sign in.
  if (denial && readable === 0) throw denial;
  return items.flat();
}

/** Returns whether an error concerns one file only: it does not exist, or was replaced during the read. */
const isOmitted = (error: unknown) => isStoreError(error, 'not-found') || isStoreError(error, 'condition-failed');

async function* each<Item>(items: readonly Item[]): AsyncGenerator<[number, Item]> {
  yield* items.entries();
}
