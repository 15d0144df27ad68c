import type { IncomingHttpHeaders } from 'node:http';
import { type Presentation, presentationOf, type Shown } from '../domain/presentation.ts';
import type { FileEntry } from '../domain/store.ts';
import { HttpError } from './errors.ts';
import { lastModified, quote } from './preconditions.ts';

/** How a file is to be shown. */
export interface Showing {
  /** Not at all: it is kept. */
  readonly download: boolean;
  /** Where pages are that may have it in a frame, as a policy names that. */
  readonly framedBy: string;
}

/**
 * The headers of an answer with a file, the same on 200, 206 and on HEAD. They are remembered with the entry, for stores
 * that remember that: made anew, they are a fifth of the work for a small file.
 */
export function contentHeaders(file: FileEntry, { download, framedBy }: Showing): Readonly<Record<string, string>> {
  const known = made.get(file);
  if (known?.showing.download === download && known.showing.framedBy === framedBy) return known.headers;
  const presentation = presentationOf(file, { download });
  const headers = {
    ...fileHeaders(file),
    ...isolationHeaders(presentation, framedBy),
    'content-type': presentation.type,
  };
  made.set(file, { showing: { download, framedBy }, headers });
  return headers;
}

/** Those that were made of an entry last. */
const made = new WeakMap<
  FileEntry,
  { readonly showing: Showing; readonly headers: Readonly<Record<string, string>> }
>();

/** What describes a file itself. */
export function fileHeaders(file: FileEntry): Record<string, string> {
  const modified = lastModified(file);
  return {
    etag: quote(file.etag),
    ...(modified && { 'last-modified': modified.toUTCString() }),
    'cache-control': CACHE_CONTROL,
    'accept-ranges': 'bytes',
  };
}

/** What may be kept, but has to be asked after each time, and not by caches that serve several people. */
export const CACHE_CONTROL = 'private, no-cache';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** What every answer has: its type is not guessed, and pages of other origins can't take it in (Fetch, section 3.7). */
export const GENERAL_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** Denies documents the devices and data of the browser that none of them needs (Permissions Policy, section 9.1). */
export const PERMISSIONS_POLICY = [
  'accelerometer',
  'bluetooth',
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
 * Headers that keep a file which a browser opens from acting in the name of the person who looks at it: beside those
 * that every answer has. `framedBy` is where pages are that may show it in a frame, as a policy names that.
 */
export function isolationHeaders({ disposition, shownAs }: Presentation, framedBy: string): Record<string, string> {
  return {
    'content-security-policy': [...POLICIES[shownAs ?? 'none'], `frame-ancestors ${framedBy}`].join('; '),
    'permissions-policy': PERMISSIONS_POLICY,
    'referrer-policy': 'no-referrer',
    ...(disposition !== undefined && { 'content-disposition': disposition }),
  };
}

/** Nothing is loaded or sent, and no script runs; how a document looks, it may say itself. */
const INERT = ["default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'", "form-action 'none'"];

/** What the documents need that browsers make of files. An SVG in a page has the policy of an attachment. */
const POLICIES = {
  none: ['sandbox', ...INERT, 'img-src data:', 'font-src data:'],
  text: ['sandbox', ...INERT],
  image: ['sandbox', ...INERT, "img-src 'self'"],
  // What is played is asked for once more, by the document: in a sandbox without an origin, as a foreign site would.
  media: ['sandbox allow-same-origin', ...INERT, "media-src 'self'"],
  // The viewers are programs of the browsers, and refuse to run in a sandbox.
  pdf: [...INERT, "object-src 'self'"],
} satisfies Record<Shown | 'none', readonly string[]>;

/**
 * Destinations of a request (Fetch, section 2.2.5) whose answer would act in the page: run, or say how it looks. All of
 * what the service's own pages run has other addresses.
 */
const ACTIVE = new Set(['script', 'style', 'worker', 'sharedworker', 'serviceworker', 'audioworklet', 'paintworklet']);

/**
 * Refuses a file to a page of the service's own that would run it: a policy can't tell uploaded files from the page's
 * own scripts, since both are of one origin. Pages of other origins do as they like in their own name.
 */
export function refuseToRun(headers: IncomingHttpHeaders): void {
  const destination = headers['sec-fetch-dest'];
  if (headers['sec-fetch-site'] !== 'same-origin' || !ACTIVE.has(String(destination))) return;
  throw new HttpError(403, `Files are not served as a ${String(destination)} of a page of this service.`);
}

/**
 * `target`, a path of the service's own, relative to the URL that was asked for: so that it holds too where a
 * proxy serves the whole service under a path of its own.
 */
export function relativeTo(requestUrl: string, target: string): string {
  const [path = ''] = requestUrl.split('?');
  return '../'.repeat(path.split('/').length - 2) + target.slice(1);
}
