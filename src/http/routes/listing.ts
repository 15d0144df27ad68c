import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { exists, isStoreError, quoted } from '../../model/error.ts';
import {
  childFile,
  childFolder,
  type FilePath,
  type FolderPath,
  nameOf,
  parseFile,
  parseFolder,
  ROOT,
  withoutSlash,
} from '../../model/path.ts';
import type { Entry, Listing as StoreListing } from '../../model/store.ts';
import { visitorOf } from '../access/link-access.ts';
import { accessOf, type RequestAccess } from '../access/request-access.ts';
import { HttpError } from '../errors.ts';
import { beginFailure } from '../failures.ts';
import type { App } from '../fastify-app.ts';
import { createListingLimiter } from '../limits/limits.ts';
import { clientSignal } from '../long-operations.ts';
import { fileRedirectUrl, isRclone, prefersPage, sendLinkList, sendListing } from '../page/listing-page.ts';
import { quoteEtag } from '../preconditions.ts';
import { Failure, Listing, ListingQuery, PathParameter } from '../schemas.ts';
import type { Service } from '../service.ts';

export function listingRoutes(app: App, service: Service): void {
  const config = { access: 'files', links: 'visitors' } as const;
  const shared = {
    tags: ['Folders'],
    summary: 'List a folder',
    description:
      'Give the folder as the path or as `prefix`. Folders with the name of a route, such as `file/`, need `prefix`. Clients that prefer HTML to JSON get the web UI.',
    querystring: ListingQuery,
    response: { 200: withHtml(Listing), '4xx': withHtml(Failure), '5xx': withHtml(Failure) },
  };

  const runLimited = createListingLimiter();
  const list = async (
    folder: FolderPath,
    query: Static<typeof ListingQuery>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const { cursor, limit, name } = query;
    const access = accessOf(request);
    const signal = clientSignal(reply);
    const respond = (listing: StoreListing, changesCursor?: string) =>
      sendListing(service, request, reply, {
        folder,
        response: listingResponse(folder, listing, access),
        changesCursor,
      });
    if (name !== undefined && !prefersPage(request)) {
      const paths = [name].flat().map((each) => childOf(folder, each));
      const entries = await runLimited(request.ip, () => access.files.listPaths(folder, paths, { signal }), signal);
      return respond({ entries });
    }
    const read = (at: string | undefined) =>
      runLimited(request.ip, () => access.files.list(folder, { cursor: at, limit, signal }), signal);
    if (isRclone(request)) {
      const found = await read(cursor).catch(async (error: unknown) => {
        const location = isStoreError(error, 'not-found') ? fileRedirectUrl(request, folder) : undefined;
        if (location === undefined || !(await exists(access.files.stat(parseFile(withoutSlash(folder)))))) throw error;
        return location;
      });
      if (typeof found === 'string')
        return reply.code(302).headers({ location: found, 'cache-control': 'no-store' }).send();
      return sendLinkList(request, reply, { first: found, next: read });
    }
    // Before the listing, so that a client that follows the changes from there misses none.
    const changesCursor = prefersPage(request) && !visitorOf(request) ? await newestCursor(service) : undefined;
    return respond(await read(cursor), changesCursor);
  };

  app.setErrorHandler((error, request, reply) => sendListingFailure(service, error, request, reply));
  app.get('/', { config, schema: shared, preValidation: validateQuery }, async (request, reply) =>
    list(folderOf('', request.query.prefix), request.query, request, reply),
  );
  app.get(
    '/*',
    { config, schema: { ...shared, params: PathParameter }, preValidation: validateQuery },
    async (request, reply) => list(folderOf(request.params['*'], request.query.prefix), request.query, request, reply),
  );
}

/** Responds to a failed listing with the error, in the format that the listing would have had. */
export async function sendListingFailure(
  service: Service,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const response = beginFailure(error, request, reply);
  return sendListing(service, request, reply, { folder: requestedFolder(request), response });
}

/** Describes a JSON response that is also available as the web UI, which embeds it. */
export function withHtml<Schema>(schema: Schema) {
  return { content: { 'application/json': { schema }, 'text/html': { schema: Type.String() } } };
}

async function validateQuery(request: FastifyRequest): Promise<void> {
  requireUtf8Query(request);
}

/**
 * Rejects queries with escapes that are not UTF-8. The router's parser would leave them unchanged, as if they were
 * names.
 */
function requireUtf8Query({ url }: FastifyRequest): void {
  try {
    decodeURIComponent(url.slice(url.indexOf('?') + 1));
  } catch {
    throw new HttpError('malformed-url', 'The query has a percent escape that is not UTF-8.');
  }
}

/** Returns the folder that the path or `?prefix=` names. Throws 400 if they name different folders. */
function folderOf(path: string, prefix: string | undefined): FolderPath {
  const byPath = parseFolder(path);
  if (prefix === undefined || prefix === '') return byPath;
  const byQuery = parseFolder(prefix);
  if (byPath === ROOT || byPath === byQuery) return byQuery;
  throw new HttpError(
    'invalid-parameter',
    `The path names the folder ${quoted(byPath)} and "prefix" the folder ${quoted(byQuery)}. Send only one of them.`,
  );
}

/** Returns the requested folder, even of an invalid request; empty if it is unknown. */
function requestedFolder(request: FastifyRequest): string {
  try {
    requireUtf8Query(request);
    return folderOf(textIn(request.params, '*') ?? '', textIn(request.query, 'prefix'));
  } catch {
    return '';
  }
}

function textIn(fields: unknown, name: string): string | undefined {
  const value: unknown = typeof fields === 'object' && fields !== null ? Reflect.get(fields, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** Returns the path of an entry of a folder. The name of a folder ends with a `/`. */
function childOf(folder: FolderPath, name: string): FilePath | FolderPath {
  return name.endsWith('/') ? childFolder(folder, name.slice(0, -1)) : childFile(folder, name);
}

/** Returns the cursor after the last change; undefined if the change log is unavailable. */
async function newestCursor({ changes }: Service): Promise<string | undefined> {
  try {
    return (await changes?.feed.log.newest())?.cursor;
  } catch (error) {
    if (isStoreError(error, 'unavailable')) return undefined;
    throw error;
  }
}

function listingResponse(
  folder: FolderPath,
  { entries, cursor }: StoreListing,
  access: Pick<RequestAccess, 'permissionsFor' | 'isKnownPublic'>,
): Listing {
  const rights = access.permissionsFor(folder);
  return {
    success: true,
    prefix: folder,
    entries: entries.map(describe),
    ...(cursor !== undefined && { cursor }),
    ...(rights && { rights }),
    ...(access.isKnownPublic(folder) && { public: true as const }),
  };
}

function describe(entry: Entry): Listing['entries'][number] {
  const { path } = entry;
  if (entry.kind === 'folder') return { type: 'folder', name: nameOf(path), path };
  return {
    type: 'file',
    name: nameOf(path),
    path,
    size: entry.size,
    modified: entry.modified?.toISOString() ?? null,
    contentType: entry.type,
    etag: quoteEtag(entry.etag),
    ...(entry.publicUrl !== undefined && { publicUrl: entry.publicUrl }),
  };
}
