import type { FileEntry } from '../domain/store.ts';
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
