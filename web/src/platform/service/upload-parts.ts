import { fetchWithIdleTimeout } from './request.ts';
import { asServiceError, serviceErrorOf } from './service-error.ts';
import type { Upload, UploadedFile } from './upload.ts';
import { rememberedUrl, rememberUrl, type UploadStorage } from './upload-memory.ts';
import { sendBody } from './xhr.ts';

/** Where the parts of a file are sent. */
export interface PartsOptions {
  /** The URL at which uploads begin. */
  readonly endpoint: string;
  /** Bytes of a part. */
  readonly partBytes: number;
  /** Remembers unfinished uploads, also after a reload; undefined if the browser stores nothing. */
  readonly storage: UploadStorage;
}

/** What the service has of an upload. */
export interface Progress {
  /** Bytes that arrived. */
  readonly offset: number;
  /** The file, as soon as the upload is complete. */
  readonly file: UploadedFile | undefined;
  /** Whether the bucket can receive the parts that are missing. */
  readonly isDirect: boolean;
}

export const PROTOCOL = { 'tus-resumable': '1.0.0', accept: 'application/json' } as const;

/** Times that the offset can differ in a row, as when another tab sends the same file. */
const MAX_MISMATCHES = 3;

/**
 * Uploads a file in parts by the tus protocol. Continues an earlier upload of the same file to the same path, from the
 * offset that the service has. Throws `ServiceError`, or the signal's reason, which cancels the upload at the service.
 */
export async function sendInParts(upload: Upload, options: PartsOptions): Promise<UploadedFile> {
  const { file, signal } = upload;
  const { endpoint, storage } = options;
  const key = {
    endpoint,
    folder: upload.folder,
    name: upload.name,
    size: file.size,
    modified: file.lastModified,
    replace: upload.replace,
  };
  let url = rememberedUrl(storage, key);
  let progress = url === undefined ? undefined : await readProgress(url, signal);
  if (url === undefined || progress === undefined) {
    const begun = await begin(upload, options);
    ({ url } = begun);
    rememberUrl(storage, key, url);
    progress = begun;
  }
  try {
    for (let mismatches = 0; progress.file === undefined; ) {
      const { offset } = progress;
      upload.onProgress(offset);
      if (progress.isDirect && offset < file.size) {
        progress = await sendDirectly(upload, { url, offset });
        continue;
      }
      const request = await sendBody({
        method: 'PATCH',
        url,
        headers: { ...PROTOCOL, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
        body: file.slice(offset, offset + options.partBytes),
        signal,
        onProgress: (sent) => upload.onProgress(Math.min(file.size, offset + sent)),
      });
      const error = request.status === 204 ? undefined : errorOf(request);
      if (error) {
        if (error.code !== 'upload-offset-mismatch' || ++mismatches > MAX_MISMATCHES) throw error;
        progress = (await readProgress(url, signal)) ?? NOTHING;
        continue;
      }
      mismatches = 0;
      progress = progressOf((name) => request.getResponseHeader(name));
    }
  } catch (error) {
    if (signal.aborted) {
      rememberUrl(storage, key, undefined);
      // Without a response, the service removes the upload when it expires.
      void fetch(url, { method: 'DELETE', headers: PROTOCOL }).catch(() => {});
    }
    throw error;
  }
  rememberUrl(storage, key, undefined);
  return progress.file;
}

/** The progress of an upload that the service does not have. */
const NOTHING: Progress = { offset: 0, file: undefined, isDirect: false };

/** Sends what is missing to the bucket. If that fails, the rest has to be sent to the service. */
async function sendDirectly(upload: Upload, { url, offset }: { url: string; offset: number }): Promise<Progress> {
  const { sendToBucket } = await import('./direct-parts.ts');
  const isSent = await sendToBucket(upload, { url: `${url}/parts`, offset });
  const progress = isSent ? { ...NOTHING, offset: upload.file.size } : await readProgress(url, upload.signal);
  return { ...(progress ?? NOTHING), isDirect: false };
}

async function begin(
  { file, folder, name, replace, signal }: Upload,
  { endpoint }: PartsOptions,
): Promise<Progress & { readonly url: string }> {
  const modified = new Date(file.lastModified);
  const metadata = {
    path: folder + name,
    ...(file.type !== '' && { filetype: file.type }),
    // Broken file systems report times outside the range of a `Date`, which has no ISO form.
    ...(!Number.isNaN(modified.getTime()) && { modified: modified.toISOString() }),
  };
  const headers = {
    ...PROTOCOL,
    'upload-length': String(file.size),
    'upload-metadata': Object.entries(metadata)
      .map(([key, value]) => `${key} ${base64Of(value)}`)
      .join(),
    ...(!replace && { 'if-none-match': '*' }),
  };
  const body = new Blob([]);
  const request = await sendBody({ method: 'POST', url: endpoint, headers, body, signal, onProgress() {} });
  const location = request.status === 201 ? request.getResponseHeader('location') : null;
  if (location === null) throw errorOf(request);
  // A proxy can have removed a prefix of the path.
  const url = `${endpoint}/${location.slice(location.lastIndexOf('/') + 1)}`;
  return { ...NOTHING, isDirect: request.getResponseHeader('upload-parts') !== null, url };
}

const base64Of = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Asks the service what it has of an upload; undefined if the upload does not exist. */
export async function readProgress(url: string, signal: AbortSignal): Promise<Progress | undefined> {
  try {
    const response = await fetchWithIdleTimeout(url, { method: 'HEAD', headers: PROTOCOL, signal }, 60_000);
    if (response.status === 404) return undefined;
    if (!response.ok) throw serviceErrorOf(response.status, undefined, response.headers.get('retry-after'));
    return progressOf((name) => response.headers.get(name));
  } catch (error) {
    throw asServiceError(error);
  }
}

function progressOf(header: (name: string) => string | null): Progress {
  const path = header('content-location')?.replace(/^\/file\//, '');
  return {
    offset: Number(header('upload-offset')),
    isDirect: header('upload-parts') !== null,
    file: path && {
      path: decodeURIComponent(path),
      etag: header('etag') ?? '',
      change: header('x-change-id') ?? undefined,
    },
  } as Progress;
}

const errorOf = (request: XMLHttpRequest) =>
  serviceErrorOf(request.status, request.response, request.getResponseHeader('retry-after'));
