import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type FolderPath, nameOf, withoutSlash } from '../../domain/path.ts';
import type { Entry, Listing } from '../../domain/store.ts';
import { CACHE_CONTROL } from '../headers.ts';
import { baseOf, fileUrl, folderUrl, isListed } from './links.ts';

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
export function sendPlainListing(
  request: FastifyRequest,
  reply: FastifyReply,
  { first, next }: { first: Listing; next: (cursor: string) => Promise<Listing> },
): FastifyReply {
  const base = baseOf(request.url);
  const lines = async function* () {
    yield '<!doctype html><meta charset="utf-8"><ul>';
    for (let page: Listing | undefined = first; page; page = page.cursor ? await next(page.cursor) : undefined) {
      const folders = new Set(page.entries.filter(({ kind }) => kind === 'folder').map(({ path }) => path));
      yield page.entries
        .map((entry) => `<li><a href="${urlOf(base, entry, folders)}">${escape(nameOf(entry.path))}</a>`)
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
    .send(Readable.from(request.method === 'HEAD' ? [] : lines()));
}

/**
 * Returns the URL to which a file's link below its folder redirects; undefined if the path names another route or a
 * folder.
 */
export function fileBehind(request: FastifyRequest, folder: FolderPath): string | undefined {
  const [path = ''] = request.url.split('?');
  return path.endsWith('/') ? undefined : fileUrl(baseOf(request.url), withoutSlash(folder));
}

/**
 * Returns the link of an entry. A file is linked below its folder and redirected from there, unless that URL has
 * another meaning.
 */
function urlOf(base: string, { kind, path }: Entry, folders: ReadonlySet<string>): string {
  if (kind === 'folder') return folderUrl(base, path);
  const below = folderUrl(base, path);
  return !isListed(`/${path}`) || folders.has(`${path}/`) ? fileUrl(base, path) : below;
}

const escape = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
