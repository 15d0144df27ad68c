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
  /** The URL of the upload. */
  readonly url: string;
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
  const start = async () => {
    const begun = await begin(upload, options);
    rememberUrl(storage, key, begun.url);
    return begun;
  };
  const known = rememberedUrl(storage, key);
  const found = known === undefined ? undefined : await readProgress(known, signal);
  let progress = found ?? (await start());
  try {
    for (let mismatches = 0; progress.file === undefined; ) {
      const { url, offset } = progress;
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
        // It has expired. Or its user has to sign in again, which the attempt to begin another one tells.
        const isGone = error.code === 'upload-not-found';
        if ((error.code !== 'upload-offset-mismatch' && !isGone) || ++mismatches > MAX_MISMATCHES) throw error;
        progress = (isGone ? undefined : await readProgress(url, signal)) ?? (await start());
        continue;
      }
      mismatches = 0;
      progress = progressOf(url, (name) => request.getResponseHeader(name));
    }
  } catch (error) {
    if (signal.aborted) {
      rememberUrl(storage, key, undefined);
      // Without a response, the service removes the upload when it expires.
      void fetch(progress.url, { method: 'DELETE', headers: PROTOCOL }).catch(() => {});
    }
    throw error;
  }
  rememberUrl(storage, key, undefined);
  return progress.file;
}

/** Sends what is missing to the bucket. If that fails, the rest has to be sent to the service. */
async function sendDirectly(upload: Upload, { url, offset }: { url: string; offset: number }): Promise<Progress> {
  const { sendToBucket } = await import('./direct-parts.ts');
  const isSent = await sendToBucket(upload, { url: `${url}/parts`, offset });
  const nothing = { url, offset: 0, file: undefined };
  const progress = isSent ? { ...nothing, offset: upload.file.size } : await readProgress(url, upload.signal);
  return { ...(progress ?? nothing), isDirect: false };
}

async function begin({ file, folder, name, replace, signal }: Upload, { endpoint }: PartsOptions): Promise<Progress> {
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
  return { url, offset: 0, file: undefined, isDirect: request.getResponseHeader('upload-parts') !== null };
}

const base64Of = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** Asks the service what it has of an upload; undefined if the upload does not exist. */
export async function readProgress(url: string, signal: AbortSignal): Promise<Progress | undefined> {
  try {
    const response = await fetchWithIdleTimeout(url, { method: 'HEAD', headers: PROTOCOL, signal }, 60_000);
    if (response.status === 404) return undefined;
    if (!response.ok) throw serviceErrorOf(response.status, undefined, response.headers.get('retry-after'));
    return progressOf(url, (name) => response.headers.get(name));
  } catch (error) {
    throw asServiceError(error);
  }
}

function progressOf(url: string, header: (name: string) => string | null): Progress {
  // A proxy can have removed the prefix of the path.
  const prefix = new URL(url, document.baseURI).pathname.replace(/\/-\/uploads\/[^/]*$/, '');
  const location = header('content-location') ?? '';
  const path = (location.startsWith(`${prefix}/`) ? location.slice(prefix.length) : location).replace('/file/', '');
  const file = {
    path: decodeURIComponent(path),
    etag: header('etag') ?? '',
    change: header('x-change-id') ?? undefined,
  };
  return {
    url,
    offset: Number(header('upload-offset')),
    isDirect: header('upload-parts') !== null,
    file: path === '' ? undefined : file,
  };
}

const errorOf = (request: XMLHttpRequest) =>
  serviceErrorOf(request.status, request.response, request.getResponseHeader('retry-after'));
