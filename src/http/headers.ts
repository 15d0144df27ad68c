import type { IncomingHttpHeaders } from 'node:http';
import type { FileEntry } from '../domain/store.ts';
import { HttpError } from './errors.ts';
import { quote } from './preconditions.ts';

/** The headers that describe a file, the same on 200, 206, 304 and on HEAD. */
export function fileHeaders(file: FileEntry): Record<string, string> {
  return {
    etag: quote(file.etag),
    ...(file.modified && { 'last-modified': file.modified.toUTCString() }),
    'cache-control': CACHE_CONTROL,
    'accept-ranges': 'bytes',
  };
}

/** What may be kept, but has to be asked after each time, and not by caches that serve several people. */
export const CACHE_CONTROL = 'private, no-cache';

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Headers that keep a file which a browser opens from acting in the name of the person who looks at it: its type
 * is not guessed, and its scripts do not run. The viewers of browsers for PDF are scripts themselves.
 */
export function isolationHeaders(type: string): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    ...(type !== 'application/pdf' && { 'content-security-policy': 'sandbox' }),
  };
}

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

/** Whether a client that sends this `Accept` names `type` itself, and does not rule it out with `q=0`. */
export function acceptsExplicitly(accept: string | undefined, type: string): boolean {
  return (accept ?? '').split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return name === type && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
