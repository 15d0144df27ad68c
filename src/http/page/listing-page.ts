import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describeForVisitor } from '../../links/descriptions.ts';
import { type FolderPath, nameOf, withoutSlash } from '../../model/path.ts';
import type { Entry, Listing as StoreListing } from '../../model/store.ts';
import { compress, prefers } from '../accept.ts';
import { visitorOf } from '../access/link-access.ts';
import { describeUser } from '../access/request-access.ts';
import { CACHE_CONTROL, JSON_TYPE } from '../headers.ts';
import { isLinkUrl, linkTokenOf } from '../request-url.ts';
import type { Embedded, Failure, Listing } from '../schemas.ts';
import type { Service } from '../service.ts';
import { baseOf, escapeHtml, fileUrl, folderUrl, isListingUrl, pageHeaders, renderDocument } from './document.ts';

/**
 * Sends a listing or its error with the status of `reply`: as the web UI if the client prefers HTML, otherwise as JSON.
 * `folder` is the requested folder; empty if it is unknown.
 */
export async function sendListing(
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    folder,
    response,
    changesCursor,
  }: { folder: string; response: Listing | Failure; changesCursor?: string | undefined },
): Promise<FastifyReply> {
  const { url, headers } = request;
  if (!prefersPage(request)) {
    return reply.headers({ vary: 'Accept', 'cache-control': CACHE_CONTROL }).type(JSON_TYPE).send(response);
  }
  const options = { isInstallable: service.isInstallable && !isLinkUrl(request) };
  const embedded = {
    base: baseOf(url),
    folder,
    status: reply.statusCode,
    response,
    readOnly: service.readOnly,
    stills: service.thumbnails.stills,
    ...(linkTokenOf(request) === undefined
      ? {
          maxUploadSize: service.maxUploadSize ?? null,
          uploadPartBytes: service.database?.isAvailable ? (service.uploads?.partBytes ?? null) : null,
          trash: service.trash,
          keepsVersions: service.keepsVersions,
          links: service.links !== undefined,
          dav: describeDav(service),
          access: describeUser(service, request),
          cursor: changesCursor,
        }
      : embedLink(service, request)),
  };
  const html = renderDocument(service.page, embedded, options);
  const { body, coding } = await compress(html, headers['accept-encoding']?.toString());
  if (coding !== undefined) reply.header('content-encoding', coding);
  return reply.headers(pageHeaders(contentOriginsOf(service), options)).send(body);
}

function describeDav({ dav, publicUrl }: Pick<Service, 'dav' | 'publicUrl'>): Embedded['dav'] {
  return dav ? { isServed: dav.isServed, root: publicUrl === undefined ? null : withSlash(publicUrl) } : null;
}

const withSlash = (url: string) => (url.endsWith('/') ? url : `${url}/`);

/** Returns what the document embeds for the visitor of a share link: no function that visitors don't have. */
function embedLink({ access, maxUploadSize }: Service, request: FastifyRequest) {
  const visitor = visitorOf(request);
  const link = visitor?.isAdmitted ? describeForVisitor(visitor.link, access.policy()) : null;
  const limits = [maxUploadSize, link?.maxUploadBytes].filter((limit) => limit !== undefined);
  return {
    maxUploadSize: limits.length > 0 ? Math.min(...limits) : null,
    uploadPartBytes: null,
    trash: null,
    keepsVersions: false,
    links: false,
    dav: null,
    access: null,
    link,
  };
}

/** Returns whether the client prefers the web UI to JSON. */
export function prefersPage({ headers }: FastifyRequest): boolean {
  return prefers(headers.accept, 'text/html', 'application/json');
}

/** Returns the origins of file contents, except the service's own. */
function contentOriginsOf({ contentOrigin, contentOrigins }: Service): readonly string[] {
  return contentOrigin === undefined ? contentOrigins : [contentOrigin, ...contentOrigins];
}

/*
 * Listings for the http backend of rclone. It sends no `Accept`, reads only `text/html`, and ignores scripts and the
 * content of `noscript`. It follows links one level below the folder that have no query, and does not support further
 * pages.
 */

/** Returns whether a request comes from rclone. */
export function isRclone({ headers }: FastifyRequest): boolean {
  return headers['user-agent']?.startsWith('rclone/') ?? false;
}

/**
 * Sends all entries of a folder as links. `next` reads the page at a cursor. The response to HEAD has no entries,
 * because Node.js would read every page of the folder and send none.
 */
export function sendLinkList(
  request: FastifyRequest,
  reply: FastifyReply,
  { first, next }: { first: StoreListing; next: (cursor: string) => Promise<StoreListing> },
): FastifyReply {
  const base = baseOf(request.url);
  const renderPages = async function* () {
    yield '<!doctype html><meta charset="utf-8"><ul>';
    for (let page: StoreListing | undefined = first; page; page = page.cursor ? await next(page.cursor) : undefined) {
      const folders = new Set(page.entries.filter(({ kind }) => kind === 'folder').map(({ path }) => path));
      yield page.entries
        .map((entry) => `<li><a href="${entryUrl(base, entry, folders)}">${escapeHtml(nameOf(entry.path))}</a>`)
        .join('');
    }
    yield '</ul>';
  };
  return reply
    .headers({
      vary: 'Accept, User-Agent',
      'cache-control': CACHE_CONTROL,
      'content-security-policy': "default-src 'none'",
    })
    .type('text/html; charset=utf-8')
    .send(Readable.from(request.method === 'HEAD' ? [] : renderPages()));
}

/**
 * Returns the URL to which a file's link below its folder redirects; undefined if the path names another route or a
 * folder.
 */
export function fileRedirectUrl(request: FastifyRequest, folder: FolderPath): string | undefined {
  const [path = ''] = request.url.split('?');
  return path.endsWith('/') ? undefined : fileUrl(baseOf(request.url), withoutSlash(folder));
}

/**
 * Returns the link of an entry. A file is linked below its folder and redirected from there, unless that URL has
 * another meaning.
 */
function entryUrl(base: string, { kind, path }: Entry, folders: ReadonlySet<string>): string {
  if (kind === 'folder') return folderUrl(base, path);
  return !isListingUrl(`/${path}`) || folders.has(`${path}/`) ? fileUrl(base, path) : folderUrl(base, path);
}
