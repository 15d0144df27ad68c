import type { Changed, FileEntry, Service } from './service.ts';
import { serviceErrorOf } from './service-error.ts';
import { escapePath } from './urls.ts';
import { sendBody } from './xhr.ts';

/*
 * The content of a photo as a whole. Every function throws `ServiceError`.
 */

/** Returns the content of a file. Also throws `StoreAccessError`. */
export async function readPhoto(service: Pick<Service, 'read'>, { path, size, contentType }: FileEntry): Promise<Blob> {
  const { signal } = new AbortController();
  const bytes = await service.read(path, { from: 0, length: size, signal });
  return new Blob([Uint8Array.from(bytes)], { type: contentType });
}

/** Replaces the content of a file and keeps its modification time, unless the file is another version now. Returns the new ETag. */
export function replacePhoto(
  service: Pick<Service, 'send'>,
  { path, etag, contentType, modified }: FileEntry,
  content: Blob,
): Promise<Changed & { readonly etag: string }> {
  const seconds = modified === null ? Number.NaN : Math.floor(new Date(modified).getTime() / 1000);
  const headers = {
    accept: 'application/json',
    'content-type': contentType,
    'if-match': etag,
    ...(!Number.isNaN(seconds) && { 'x-oc-mtime': String(seconds) }),
  };
  return service.send(`file/${escapePath(path)}`, {
    method: 'PUT',
    async request(url) {
      const { signal } = new AbortController();
      const request = await sendBody({ method: 'PUT', url, headers, body: content, signal, onProgress: () => {} });
      const body: unknown = request.response;
      if (request.status !== 200 && request.status !== 201) {
        throw serviceErrorOf(request.status, body, request.getResponseHeader('retry-after'));
      }
      const change = typeof body === 'object' && body !== null ? Reflect.get(body, 'change') : undefined;
      // A proxy that compresses makes it weak.
      const newEtag = (request.getResponseHeader('etag') ?? '').replace(/^W\//, '');
      return { etag: newEtag, change: typeof change === 'string' ? change : undefined };
    },
  });
}
