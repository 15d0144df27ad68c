import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';

/** The scheme and authority of a request target in absolute form (RFC 9112, section 3.2.2). */
const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Returns a request target without its authority, which can contain a password. */
export function withoutAuthority(target: string): string {
  return target.startsWith('/') ? target : target.replace(AUTHORITY, '');
}

/** Path of the OIDC callback, relative to the URL of the service. */
export const SIGN_IN_CALLBACK = '/-/sign-in/callback';

/** Route for requests outside the base path. No client can reach it by its own path. */
export const OUTSIDE_ROUTE = '/-/outside-base-path';

/** Route for the URL of a share link without its final slash. No client can reach it by its own path. */
export const LINK_WITHOUT_SLASH_ROUTE = '/-/link-without-slash';

/** The path prefix of share links, which their token follows. */
export const LINK_PREFIX = '/-/s/';

/** The prefix and token of a share link, and what follows them. */
const LINK_PATH = /^\/-\/s\/([^/?#]+)(.*)$/s;

/** What `rewriteTarget` removed from the target of a request. */
interface Rewritten {
  /** The target as the client sent it. */
  readonly target: string;
  /** Whether it is the URL of a share link, with or without its final slash. */
  readonly isLink?: boolean;
  /** The token of the share link to which the request belongs. */
  readonly token?: string;
  /** The ID of that link, once it is known. */
  link?: string;
}

const rewritten = new WeakMap<IncomingMessage, Rewritten>();

/**
 * Returns the target of a request without the base path, and without the prefix and token of a share link, so that the
 * router and all routes see only what follows. Compares exact characters: an encoded, duplicated or differently cased
 * prefix is part of the path. Returns `OUTSIDE_ROUTE` for a request outside the base path, and
 * `LINK_WITHOUT_SLASH_ROUTE` for the URL of a link without its final slash.
 */
export function rewriteTarget(request: IncomingMessage, basePath: string): string {
  const { url: target = '' } = request;
  // The framework calls this again when it routes a malformed URL to an error.
  if (rewritten.has(request)) return target;
  const path = withoutAuthority(target);
  const authority = target.slice(0, target.length - path.length);
  if (basePath !== '') {
    rewritten.set(request, { target });
    if (!path.startsWith(`${basePath}/`)) return authority + OUTSIDE_ROUTE;
  }
  const inner = path.slice(basePath.length);
  const [, token, rest = ''] = LINK_PATH.exec(inner) ?? [];
  if (token === undefined) return authority + inner;
  if (rest.startsWith('/')) {
    rewritten.set(request, { target, isLink: true, token });
    return authority + rest;
  }
  rewritten.set(request, { target, isLink: true });
  return authority + LINK_WITHOUT_SLASH_ROUTE;
}

/** Returns whether the URL of a request is that of a share link, or below it. */
export function isLinkUrl({ raw }: Pick<FastifyRequest, 'raw'>): boolean {
  return rewritten.get(raw)?.isLink ?? false;
}

/** Returns the token of the share link to which a request belongs; undefined if it belongs to no link. */
export function linkTokenOf({ raw }: Pick<FastifyRequest, 'raw'>): string | undefined {
  return rewritten.get(raw)?.token;
}

/** Sets the ID of the share link of a request, so that it is logged instead of the token. */
export function setLinkId({ raw }: Pick<FastifyRequest, 'raw'>, id: string): void {
  const found = rewritten.get(raw);
  if (found) found.link = id;
}

/** Returns the ID of the share link of a request, if that is known. */
export function linkIdOf({ raw }: Pick<FastifyRequest, 'raw'>): string | undefined {
  return rewritten.get(raw)?.link;
}

/** Returns the path and query of a request as the client sent them, with the base path and the token of a link. */
export function originalUrl({ raw, url }: Pick<FastifyRequest, 'raw' | 'url'>): string {
  return withoutAuthority(rewritten.get(raw)?.target ?? url);
}

/** What can be the prefix and token of a share link, also in spellings that the service does not accept. */
const ANY_LINK_PATH = /((?:\/|%2f)(?:-|%2d)(?:\/|%2f)(?:s|%73)(?:\/|%2f)+)((?!%2f)[^/?#])+/gi;

/** The same with everything that follows. */
const ANY_LINK_PATH_TO_END = /((?:\/|%2f)(?:-|%2d)(?:\/|%2f)(?:s|%73)(?:\/|%2f)+).+/i;

/** A segment `.` or `..`, with which the token can be any segment. */
const DOT_SEGMENT = /(?:\/|%2f)(?:\.|%2e){1,2}(?:\/|%2f)/i;

/**
 * Returns the path of a request as the client sent it, for logs and messages. Omits the query, which can contain a
 * signature. Replaces the token of a share link, which is a credential, by the ID of the link.
 */
export function pathOf(request: Pick<FastifyRequest, 'raw' | 'url'>): string {
  const path = originalUrl(request).split('?')[0] ?? '';
  const token = DOT_SEGMENT.test(path) ? ANY_LINK_PATH_TO_END : ANY_LINK_PATH;
  return path.replace(token, `$1[${linkIdOf(request) ?? 'link'}]`);
}

/** The decoded path of a share link that a client misspelled, such as `//-/s/TOKEN/`, so that it names a file. */
const MISSPELLED_LINK_PATH = /((?:^|[/"])-\/s\/)[\w-]{32}(?![\w-])/g;

/** Returns a path or message for logs, without the tokens of misspelled share links. */
export function withoutLinkTokens(text: string): string {
  return text.replace(MISSPELLED_LINK_PATH, '$1[link]');
}
