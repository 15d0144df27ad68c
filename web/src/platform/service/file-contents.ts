import { nameOf, parentOf } from '../paths.ts';
import { readEntries } from './changes.ts';
import { StoreAccessError } from './content.ts';
import { errorOfResponse, fetchWithIdleTimeout, readBody, readJson } from './request.ts';
import type { Changed, FileEntry, Service } from './service.ts';
import { asServiceError, isAbort, noResponse } from './service-error.ts';
import { escapePath } from './urls.ts';

/*
 * Whole files in the HTTP API, for the editor. Every function throws `ServiceError`, or the `AbortError` of its signal.
 */

/** The content of one version of a file. */
export interface FileContent {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

type Sender = Pick<Service, 'send'>;

/** Maximum attempts to read a file whose content changes meanwhile. */
const MAX_ATTEMPTS = 3;
const IDLE_TIMEOUT_MS = 60_000;

/** Returns the entry of a file; undefined if it does not exist. */
export async function findFile(service: Sender, path: string): Promise<FileEntry | undefined> {
  const [entry] = await readEntries(service, parentOf(path), [nameOf(path)]);
  return entry?.type === 'file' ? entry : undefined;
}

/**
 * Returns the content of a file of at most `maxBytes`, and its ETag; undefined if the file is larger. Also throws
 * `StoreAccessError`.
 */
export async function readFile(
  service: Sender,
  path: string,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal?: AbortSignal | undefined },
): Promise<FileContent | undefined> {
  for (let attempt = 1; ; attempt++) {
    const before = await findFile(service, path);
    if (before && before.size > maxBytes) return undefined;
    const bytes = await service.send(`file/${escapePath(path)}`, { signal, request: readBytes });
    if (bytes.length > maxBytes) return undefined;
    // The store can hide the ETag of a file that it serves itself, so the listing tells it.
    const after = await findFile(service, path);
    if (before && after?.etag === before.etag && after.size === bytes.length) return { bytes, etag: after.etag };
    if (attempt === MAX_ATTEMPTS) throw noResponse();
  }
}

async function readBytes(url: string, { signal }: { readonly signal?: AbortSignal | undefined }): Promise<Uint8Array> {
  let response: Response;
  try {
    response = await fetchWithIdleTimeout(url, { cache: 'no-store', signal: signal ?? null }, IDLE_TIMEOUT_MS);
  } catch (error) {
    if (isAbort(error)) throw error;
    throw asServiceError(error);
  }
  if (!response.ok) throw await errorOfResponse(response);
  try {
    return new Uint8Array(await (await readBody(response)).arrayBuffer());
  } catch (error) {
    throw isAbort(error) ? error : new StoreAccessError(String(error));
  }
}

/** A file to store. */
export interface NewContent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Empty for the media type of the name. */
  readonly contentType: string;
  /** The ETag of the file to replace; `absent` to create a file. */
  readonly replaces: 'absent' | { readonly etag: string };
}

/** Stores a file. Returns its ETag. Throws `file-changed` or `name-taken` if the file is not the one to replace. */
export async function writeFile(
  service: Sender,
  path: string,
  { bytes, contentType, replaces }: NewContent,
): Promise<Changed & { readonly etag: string }> {
  const condition: Record<string, string> =
    replaces === 'absent' ? { 'if-none-match': '*' } : { 'if-match': replaces.etag };
  const headers = {
    accept: 'application/json',
    ...(contentType !== '' && { 'content-type': contentType }),
    ...condition,
  };
  return service.send(`file/${escapePath(path)}`, {
    method: 'PUT',
    async request(url, { signal }) {
      let response: Response;
      try {
        const body = new Blob([bytes]);
        response = await fetchWithIdleTimeout(
          url,
          { method: 'PUT', headers, body, signal: signal ?? null },
          IDLE_TIMEOUT_MS,
        );
      } catch (error) {
        throw asServiceError(error);
      }
      if (!response.ok) throw await errorOfResponse(response);
      const { change } = ((await readJson(response)) ?? {}) as Changed;
      // A proxy that compresses makes it weak.
      return { change, etag: (response.headers.get('etag') ?? '').replace(/^W\//, '') };
    },
  });
}
