import { refusalIn } from './answer.ts';
import { asServiceError, failureOf, isAbort } from './service-error.ts';

/** A part of a file, in bytes. */
export interface Part {
  readonly from: number;
  readonly length: number;
  readonly signal: AbortSignal;
}

/**
 * The store, from which large files come, does not let this page read them, or can't be reached: a browser does not
 * tell a page which of both.
 */
export class StoreRefusal extends Error {
  override readonly name = 'StoreRefusal';
}

/**
 * The bytes of a part of a file: fewer than were asked for where it ends before, none where it ends before the part.
 * Throws a `ServiceError`, a `StoreRefusal`, or the `AbortError` of the signal.
 */
export async function readContent(url: string, { from, length, signal }: Part): Promise<Uint8Array> {
  // From a cached part of the file, Chromium asks for that part only, and passes it on although the file is longer now.
  const options: RequestInit = { cache: 'no-store', headers: { range: `bytes=${from}-${from + length - 1}` } };
  const response = await request(url, { ...options, signal });
  // There is nothing at that place.
  if (response.status === 416) return new Uint8Array();
  if (!response.ok) throw await refusalIn(response);
  try {
    if (response.status === 206) return new Uint8Array(await response.arrayBuffer());
    // What answers with everything does not know ranges.
    return await partOf(response, from, length);
  } catch (error) {
    throw asServiceError(error);
  }
}

/** Settles where the service would give a file, though the store may not; else throws a `ServiceError`. */
export async function checkContent(url: string, signal: AbortSignal): Promise<void> {
  let response: Response;
  try {
    response = await fetch(url, { method: 'HEAD', redirect: 'manual', signal });
  } catch (error) {
    throw asServiceError(error);
  }
  if (!response.ok && response.type !== 'opaqueredirect') {
    throw failureOf(response.status, undefined, response.headers.get('retry-after'));
  }
}

async function request(url: string, options: RequestInit & { readonly signal: AbortSignal }): Promise<Response> {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (isAbort(error)) throw error;
    await checkContent(url, options.signal);
    throw new StoreRefusal('The store does not let this page read the file.');
  }
}

async function partOf({ body }: Response, from: number, length: number): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const reader = body?.getReader();
  try {
    for (let size = 0; reader && size < from + length; ) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      size += value.length;
    }
  } finally {
    await reader?.cancel();
  }
  return new Uint8Array(await new Blob(chunks).slice(from, from + length).arrayBuffer());
}
