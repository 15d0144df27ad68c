import type { IncomingHttpHeaders } from 'node:http';
import { attachmentHeader, type DisplayKind, presentationOf } from '../model/presentation.ts';
import type { FileEntry, Quota } from '../model/store.ts';
import { preferenceOf } from './accept.ts';
import './access/request-access.ts';
import type { FastifyRequest } from 'fastify';
import { hostNameOf } from './access/request-origin.ts';
import { HttpError } from './errors.ts';
import type { App } from './fastify-app.ts';
import { lastModified, quoteEtag } from './preconditions.ts';
import { isLinkUrl, withoutAuthority } from './request-url.ts';
import type { Service } from './service.ts';

/** How a browser displays a file. */
export interface DisplayOptions {
  /** Whether the browser saves the file instead of displaying it. */
  readonly download: boolean;
  /** Origins that may embed the file in a frame, as a Content-Security-Policy source. */
  readonly framedBy: string;
}

/**
 * Returns the headers of a file response, the same for 200, 206 and HEAD. They are cached per entry, for stores that
 * cache entries: creating them takes a fifth of the time for a small file.
 */
export function contentHeaders(
  file: FileEntry,
  { download, framedBy }: DisplayOptions,
): Readonly<Record<string, string>> {
  const known = cachedHeaders.get(file);
  if (known?.display.download === download && known.display.framedBy === framedBy) return known.headers;
  const { type, displayKind } = presentationOf(file, { download });
  const headers = {
    ...fileHeaders(file),
    ...isolationHeaders(displayKind, framedBy),
    ...(displayKind === undefined && { 'content-disposition': attachmentHeader(file.path) }),
    'content-type': type,
    ...(file.encoding && { 'content-encoding': file.encoding, vary: 'Accept-Encoding' }),
  };
  cachedHeaders.set(file, { display: { download, framedBy }, headers });
  return headers;
}

/** The last headers of each entry. */
const cachedHeaders = new WeakMap<
  FileEntry,
  { readonly display: DisplayOptions; readonly headers: Readonly<Record<string, string>> }
>();

/** Returns the headers that describe the file itself. */
export function fileHeaders(file: FileEntry): Record<string, string> {
  const modified = lastModified(file);
  return {
    etag: quoteEtag(file.etag),
    ...(modified && { 'last-modified': modified.toUTCString() }),
    'cache-control': CACHE_CONTROL,
    'accept-ranges': 'bytes',
  };
}

/** Caches must revalidate each time, and shared caches must not store the response. */
export const CACHE_CONTROL = 'private, no-cache';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Headers of every response: no MIME sniffing, and no embedding by other origins (Fetch, section 3.7). */
export const GENERAL_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** Denies documents the device and browser features that none of them needs (Permissions Policy, section 9.1). */
export const PERMISSIONS_POLICY = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'serial',
  'usb',
  'xr-spatial-tracking',
]
  .map((feature) => `${feature}=()`)
  .join(', ');

/**
 * Returns headers that prevent a file opened in a browser from acting as the user, in addition to `GENERAL_HEADERS`.
 * `framedBy` lists the origins that may embed it in a frame, as a Content-Security-Policy source.
 */
export function isolationHeaders(displayKind: DisplayKind | undefined, framedBy: string): Record<string, string> {
  return {
    'content-security-policy': [...CONTENT_POLICIES[displayKind ?? 'none'], `frame-ancestors ${framedBy}`].join('; '),
    'permissions-policy': PERMISSIONS_POLICY,
    'referrer-policy': 'no-referrer',
  };
}

/** Loads and sends nothing, and runs no script. A document can contain its own styles. */
const INERT_POLICY = ["default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'"];

/** Policies for the documents that browsers create for files. An SVG in a page gets the policy of an attachment. */
const CONTENT_POLICIES = {
  none: ['sandbox', ...INERT_POLICY, 'img-src data:', 'font-src data:'],
  text: ['sandbox', ...INERT_POLICY],
  image: ['sandbox', ...INERT_POLICY, "img-src 'self'"],
  // The document requests the media again. In a sandbox without an origin, that request would be cross-site.
  media: ['sandbox allow-same-origin', ...INERT_POLICY, "media-src 'self'"],
  // Browsers' PDF viewers refuse to run in a sandbox.
  pdf: [...INERT_POLICY, "object-src 'self'"],
} satisfies Record<DisplayKind | 'none', readonly string[]>;

/**
 * Request destinations (Fetch, section 2.2.5) whose response would run or style the page. The service's own scripts and
 * styles have other URLs.
 */
const ACTIVE_DESTINATIONS = new Set([
  'script',
  'style',
  'worker',
  'sharedworker',
  'serviceworker',
  'audioworklet',
  'paintworklet',
]);

/**
 * Refuses a file that a page of this service would run. A Content-Security-Policy can't distinguish uploaded files from
 * the page's own scripts, because both have one origin. Pages of other origins act only as themselves.
 */
export function rejectActiveUse(headers: IncomingHttpHeaders): void {
  const destination = headers['sec-fetch-dest'];
  if (headers['sec-fetch-site'] !== 'same-origin' || !ACTIVE_DESTINATIONS.has(String(destination))) return;
  throw new HttpError('embedding-refused', `Pages of this service can't load files as ${String(destination)}.`);
}

/**
 * Returns `target`, a path of the service, relative to the URL of the request. The result also holds if a reverse proxy
 * serves the service under a path prefix.
 */
export function relativeTo(requestUrl: string, target: string): string {
  const [path = ''] = withoutAuthority(requestUrl).split('?');
  return '../'.repeat(path.split('/').length - 2) + target.slice(1);
}

/**
 * Adds the store's quota to responses if the client prefers it (RFC 7240). With an access file, only signed-in users
 * receive it.
 */
export function addQuotaHeader(app: App, { files, access: { mode } }: Pick<Service, 'files' | 'access'>): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    const { headers, access } = request;
    const isUser = !isLinkUrl(request) && (mode !== 'file' || access?.user !== undefined);
    const mayRead = preferenceOf(headers, 'quota') === '' && isUser;
    const quota = mayRead ? files.quota() : undefined;
    if (quota) {
      const applied = [reply.getHeader('preference-applied') ?? [], 'quota'].flat().join(', ');
      reply.headers({ 'x-store-quota': formatQuota(quota), 'preference-applied': applied });
    }
    done();
  });
}

/**
 * Sets the headers of all responses below the URL of a share link, which is a credential: browsers must not send it to
 * other sites, and search engines must not store it.
 */
export function addLinkHeaders(app: App): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (isLinkUrl(request)) reply.headers({ 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex, nofollow' });
    done();
  });
}

/** Returns the quota header. `reset` is in seconds since 1970, as in the headers of hosting APIs. */
function formatQuota({ limit, remaining, reset }: Quota): string {
  return `limit=${limit}, remaining=${remaining}, reset=${Math.ceil(reset.getTime() / 1000)}`;
}

/**
 * Sets the headers that isolate responses from other sites. With a `contentOrigin`, that origin serves only file
 * contents and health checks, and no other host serves file contents by signed URL.
 *
 * Runs before authentication, so that credentials are never evaluated on the content origin.
 */
export function isolateResponses(app: App, { contentOrigin }: Pick<Service, 'contentOrigin'>): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(GENERAL_HEADERS);
    if (contentOrigin === undefined) return done();
    const access = request.routeOptions.config.access;
    if (access === 'health') return done();
    if (isRequestFor(contentOrigin, request)) {
      reply.headers(SHARED_HEADERS);
      if (request.method === 'OPTIONS') return void reply.headers(PREFLIGHT_HEADERS).code(204).send();
      if (access !== 'signature') throw new HttpError('wrong-origin', 'This origin only serves file contents.');
    } else if (access === 'signature') {
      throw new HttpError(
        'wrong-origin',
        'File contents are only served at CONTENT_ORIGIN. If this is that origin, the reverse proxy does not ' +
          'forward the Host header.',
      );
    }
    done();
  });
}

/**
 * Headers on the content origin. Any page may read a file with its signed URL, as any program can. `*` excludes
 * requests with credentials.
 */
const SHARED_HEADERS = {
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Last-Modified, Retry-After, X-Request-Id',
} as const;

/** For browsers that send a preflight request before a range request. Newer ones don't (Fetch, section 2.2.2). */
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': 'Range, If-Match, If-None-Match, If-Modified-Since, If-Range, If-Unmodified-Since',
  'access-control-max-age': '86400',
} as const;

/**
 * Returns whether a request is for this origin. Compares only host names, so that no other port of the content host
 * serves the web UI.
 */
function isRequestFor(origin: string, { host }: FastifyRequest): boolean {
  return hostNameOf(new URL(origin).host) === hostNameOf(host);
}
