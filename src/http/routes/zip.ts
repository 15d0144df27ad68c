import { finished } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { AccessDenied } from '../../access/permission-checks.ts';
import { asError, isStoreError, quoted } from '../../model/error.ts';
import { type FilePath, type FolderPath, nameOf, parseFile, parseFolder } from '../../model/path.ts';
import { attachmentHeaderOf } from '../../model/presentation.ts';
import { type ResolvedRange, resolveRange } from '../../model/range.ts';
import { recycleWhenPiped } from '../../streams/chunk-recycling.ts';
import type { Archive } from '../../zip/archive.ts';
import { archiveStream } from '../../zip/archive-stream.ts';
import { Checksums } from '../../zip/checksums.ts';
import { StoredChecksums } from '../../zip/stored-checksums.ts';
import { archiveName, buildArchive } from '../../zip/walk.ts';
import { visitorOf } from '../access/link-access.ts';
import { accessOf } from '../access/request-access.ts';
import { sendNotModified } from '../content.ts';
import { HttpError } from '../errors.ts';
import { sendFailure } from '../failures.ts';
import type { App } from '../fastify-app.ts';
import { CACHE_CONTROL, isolationHeaders, rejectActiveUse } from '../headers.ts';
import { clientNetwork } from '../limits/connections.ts';
import { ZipLimiter } from '../limits/zips.ts';
import { clientSignal } from '../long-operations.ts';
import { allowsRange, evaluatePreconditions, parseRange, quoteEtag } from '../preconditions.ts';
import { Failure, PathParameter, ZipRequest } from '../schemas.ts';
import type { Service } from '../service.ts';

/** Maximum size of a list of paths. 10,000 paths of usual length fit. */
const MAX_BODY_BYTES = 2 * 2 ** 20;

const FORM_TYPE = 'application/x-www-form-urlencoded';

const ArchiveBytes = { description: 'The archive.', content: { 'application/zip': { schema: Type.Any() } } };

const RESPONSES = {
  200: ArchiveBytes,
  206: ArchiveBytes,
  304: { ...Type.Null(), description: 'Not modified.' },
  '4xx': Failure,
  '5xx': Failure,
};

const DESCRIPTION =
  'Creates the archive while it is sent, without compression. `Content-Length` and a strong `ETag` are known in advance. ' +
  'An interrupted download can be resumed with `Range` and `If-Range`. What the user may not read is omitted. ' +
  'A text file at the end lists what the store could not read. ' +
  'If a file changes during the download, the connection closes before the end.';

/** Registers the routes that send files and folders as one ZIP archive. The scope must parse JSON bodies. */
export function zipRoutes(app: App, { database }: Pick<Service, 'database'>): void {
  const limiter = new ZipLimiter();
  const checksums = new Checksums(database && new StoredChecksums(database));
  app.addHook('onClose', () => checksums.flush());
  parseForms(app);
  app.setErrorHandler((error, request, reply) =>
    sendFailure(isBodyTooLarge(error) ? tooManyPaths() : error, request, reply),
  );
  app.route({
    method: ['GET', 'HEAD'],
    url: '/-/zip/*',
    config: { access: 'files', links: 'visitors' },
    schema: {
      tags: ['Archives'],
      summary: 'Download a folder as a ZIP archive',
      description: DESCRIPTION,
      params: PathParameter,
      response: RESPONSES,
    },
    handler: (request, reply) => {
      const folder = parseFolder(request.params['*']);
      return sendArchive(request, reply, [folder], { limiter, checksums });
    },
  });
  app.route({
    method: 'POST',
    url: '/-/zip',
    bodyLimit: MAX_BODY_BYTES,
    config: { access: 'files', links: 'visitors' },
    schema: {
      tags: ['Archives'],
      summary: 'Download files and folders as a ZIP archive',
      description: `${DESCRIPTION} Also accepts a form with a field \`paths\` for each path, so that browsers save the response.`,
      body: { content: { 'application/json': { schema: ZipRequest }, [FORM_TYPE]: { schema: ZipRequest } } },
      response: RESPONSES,
    },
    handler: (request, reply) => {
      // Without a Content-Type, no body was parsed.
      if (!Check(ZipRequest, request.body)) throw new HttpError('json-required', NO_BODY);
      return sendArchive(request, reply, request.body.paths.map(parsePath), { limiter, checksums });
    },
  });
}

const NO_BODY = 'The request has no body. Send {"paths": […]} with Content-Type: application/json.';

/** Parses a path of a selection: the path of a folder ends with `/`. */
function parsePath(text: string): FilePath | FolderPath {
  return text === '' || text.endsWith('/') ? parseFolder(text) : parseFile(text);
}

/** What the routes share. */
interface ArchiveResources {
  readonly limiter: ZipLimiter;
  readonly checksums: Checksums;
}

/** Responds with the archive of these paths. */
async function sendArchive(
  request: FastifyRequest,
  reply: FastifyReply,
  paths: readonly (FilePath | FolderPath)[],
  { limiter, checksums }: ArchiveResources,
): Promise<FastifyReply> {
  rejectActiveUse(request.headers);
  const { files } = accessOf(request);
  const signal = clientSignal(reply);
  const client = clientNetwork(request.ip);
  const place = limiter.enter(client);
  // Also runs if the client has already disconnected, and after errors.
  finished(reply.raw, () => place.release());
  const build = () => buildArchive(files, paths, { reserve: place.reserve, signal });
  const archive = await limiter.walk(client, build, signal);
  const visitor = visitorOf(request);
  reply.headers(headersOf(archive, archiveName(paths, visitor && nameOf(visitor.link.path))));
  const version = { etag: archive.etag, modified: null };
  const verdict = evaluatePreconditions(request.headers, version);
  if (verdict === 'not-modified' && request.method !== 'POST')
    return sendNotModified(reply.removeHeader('content-type'));
  if (verdict !== 'proceed') {
    const message = `The precondition failed: the ETag of the archive is ${quoteEtag(archive.etag)}.`;
    throw new HttpError('condition-failed', message);
  }
  if (request.method === 'HEAD') return reply.header('content-length', archive.size).send();
  const range = requestedRange(request, reply, archive);
  await visitor?.countDownload(async () => {});
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${archive.size}`);
  reply.header('content-length', range ? range.end - range.start + 1 : archive.size);
  accessOf(request).recordRead({ action: 'download archive', paths });
  const stream = archiveStream(archive, { range, files, checksums, signal });
  stream.once('error', (error) => logFailure(request, error, signal));
  return reply.send(recycleWhenPiped(stream));
}

function headersOf(archive: Archive, name: string): Record<string, string> {
  return {
    etag: quoteEtag(archive.etag),
    'cache-control': CACHE_CONTROL,
    'accept-ranges': 'bytes',
    'content-type': 'application/zip',
    'content-disposition': attachmentHeaderOf(name),
    ...isolationHeaders(undefined, "'self'"),
  };
}

/** Returns the part of the archive to send; undefined for all of it. */
function requestedRange({ headers }: FastifyRequest, reply: FastifyReply, archive: Archive): ResolvedRange | undefined {
  const range = parseRange(headers.range);
  if (!range || !allowsRange(headers['if-range']?.toString(), { etag: archive.etag, modified: null })) return undefined;
  try {
    return resolveRange(range, archive.size);
  } catch (error) {
    if (isStoreError(error, 'range-unsatisfiable')) reply.header('content-range', `bytes */${archive.size}`);
    throw error;
  }
}

/** Logs why a download ended early, unless the client ended it. */
function logFailure(request: FastifyRequest, error: Error, signal: AbortSignal): void {
  if (signal.aborted) return;
  const isExpected = isStoreError(error) || error instanceof AccessDenied;
  if (isExpected) request.log.warn({ reason: error.message }, 'A ZIP download ended before its end');
  else request.log.error({ err: error }, 'A ZIP download failed');
}

/** Parses forms, which are what browsers can send and save the response of: a field `paths` for each path. */
function parseForms(app: App): void {
  app.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer' }, (_request, body: Buffer, done) => {
    try {
      done(null, { paths: parseForm(body.toString('latin1')) });
    } catch (error) {
      done(asError(error));
    }
  });
}

/** Returns the values of the fields `paths`. Strict, because a replaced character would name another file. */
function parseForm(text: string): string[] {
  const paths: string[] = [];
  for (const field of text.split('&')) {
    if (field === '') continue;
    const [name = '', ...value] = field.split('=').map(decodeField);
    if (name !== 'paths') throw new HttpError('invalid-parameter', `The form has the unknown field ${quoted(name)}.`);
    paths.push(value.join('='));
  }
  return paths;
}

function decodeField(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new HttpError('invalid-parameter', `The form has an escape that is not UTF-8: ${quoted(text)}.`);
  }
}

function isBodyTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';
}

function tooManyPaths(): HttpError {
  return new HttpError(
    'body-too-large',
    'The list of paths is larger than 2 MiB. Download the folder that contains them.',
  );
}
