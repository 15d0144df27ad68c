import { readStart } from '../read-start.ts';
import { errorOfResponse } from './request.ts';
import { asServiceError, isAbort, serviceErrorOf } from './service-error.ts';

/** A range of a file, in bytes. */
export interface ByteRange {
  readonly from: number;
  readonly length: number;
  readonly signal: AbortSignal;
}

/**
 * The store does not allow this page to read the file (CORS), or is unreachable. Browsers don't tell pages which of
 * both it is. The service redirects large files to the store.
 */
export class StoreAccessError extends Error {
  override readonly name = 'StoreAccessError';
}

/**
 * Returns a range of a file: fewer bytes if the file ends within the range, none if it ends before it. Throws
 * `ServiceError`, `StoreAccessError`, or the signal's `AbortError`.
 */
export async function readContent(url: string, { from, length, signal }: ByteRange): Promise<Uint8Array> {
  // If Chromium has a part of the file in its cache, it returns only that part, even if the file is longer now.
  const options: RequestInit = { cache: 'no-store', headers: { range: `bytes=${from}-${from + length - 1}` } };
  const response = await request(url, { ...options, signal });
  // The file ends before the range.
  if (response.status === 416) return new Uint8Array();
  if (!response.ok) throw await errorOfResponse(response);
  try {
    if (response.status === 206) return new Uint8Array(await response.arrayBuffer());
    // A proxy or store without support for ranges returned the whole file.
    return await readRange(response, from, length);
  } catch (error) {
    throw asServiceError(error);
  }
}

/** Resolves if the service would return the file, even if the store then denies access. Otherwise throws `ServiceError`. */
export async function checkContent(url: string, signal: AbortSignal): Promise<void> {
  let response: Response;
  try {
    response = await fetch(url, { method: 'HEAD', redirect: 'manual', signal });
  } catch (error) {
    throw asServiceError(error);
  }
  if (!response.ok && response.type !== 'opaqueredirect') {
    throw serviceErrorOf(response.status, undefined, response.headers.get('retry-after'));
  }
}

async function request(url: string, options: RequestInit & { readonly signal: AbortSignal }): Promise<Response> {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (isAbort(error)) throw error;
    await checkContent(url, options.signal);
    throw new StoreAccessError('The store does not allow this page to read the file.');
  }
}

async function readRange({ body }: Response, from: number, length: number): Promise<Uint8Array> {
  return new Uint8Array(await (await readStart(body, from + length)).slice(from, from + length).arrayBuffer());
}
