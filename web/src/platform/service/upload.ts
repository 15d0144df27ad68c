import { noResponse, serviceErrorOf } from './service-error.ts';

export interface Upload {
  readonly file: File;
  readonly folder: string;
  readonly name: string;
  /** Whether the upload may replace an existing file; otherwise the service responds `name-taken`. */
  readonly replace: boolean;
  /** The name of the sender, for a share link that asks for it. */
  readonly sender?: string;
  readonly signal: AbortSignal;
  /** Receives the number of bytes of the file sent so far. */
  readonly onProgress: (sent: number) => void;
}

export interface UploadedFile {
  readonly path: string;
  readonly etag: string;
  /** The ID of the change, as in `Changed`. */
  readonly change?: string | undefined;
}

/** Milliseconds without progress after which the upload has stalled. */
const STALL_TIMEOUT_MS = 60_000;

/** Timeout of the response after the last byte: some stores receive the file only then. */
const STORE_TIMEOUT_MS = 300_000;

/**
 * Uploads one file by XMLHttpRequest, because `fetch` reports no upload progress. Throws `ServiceError`, or the
 * signal's reason. A stalled upload fails like one without a response.
 */
export function sendUpload(url: string, upload: Upload): Promise<UploadedFile> {
  const { promise, resolve, reject } = Promise.withResolvers<UploadedFile>();
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  const stall = () => {
    reject(noResponse());
    request.abort();
  };
  let timer = setTimeout(stall, STALL_TIMEOUT_MS);
  const restartTimer = (within: number) => {
    clearTimeout(timer);
    timer = setTimeout(stall, within);
  };

  request.open('POST', url);
  request.responseType = 'json';
  request.setRequestHeader('accept', 'application/json');
  if (!upload.replace) request.setRequestHeader('if-none-match', '*');
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    restartTimer(STALL_TIMEOUT_MS);
    // `loaded` includes the other parts of the form, a few hundred bytes.
    upload.onProgress(Math.min(upload.file.size, Math.max(0, loaded - (total - upload.file.size))));
  });
  request.upload.addEventListener('load', () => restartTimer(STORE_TIMEOUT_MS));
  request.addEventListener('load', () => {
    const { status } = request;
    const body: unknown = request.response;
    const path = stringIn(body, 'path');
    const etag = request.getResponseHeader('etag') ?? '';
    if (status === 200 && path !== undefined) resolve({ path, etag, change: stringIn(body, 'change') });
    else reject(serviceErrorOf(status, body, request.getResponseHeader('retry-after')));
  });
  request.addEventListener('error', () => reject(noResponse()));
  request.addEventListener('abort', () => reject(upload.signal.reason));
  upload.signal.addEventListener('abort', abort);
  if (upload.signal.aborted) reject(upload.signal.reason);
  else request.send(formOf(upload));
  return promise.finally(() => {
    clearTimeout(timer);
    upload.signal.removeEventListener('abort', abort);
  });
}

/** Appends the file last, so the service has all other fields before the first byte of the file. */
function formOf({ file, folder, name, sender }: Upload): FormData {
  const form = new FormData();
  form.append('prefix', folder);
  if (sender !== undefined) form.append('sender', sender);
  const modified = new Date(file.lastModified);
  // Broken file systems report times outside the range of a `Date`, which has no ISO form.
  if (!Number.isNaN(modified.getTime())) form.append('modified', modified.toISOString());
  form.append('file', file, name);
  return form;
}

/** Returns a string of a response body; undefined if the response is not from the service, for example from a proxy. */
function stringIn(body: unknown, key: 'path' | 'change'): string | undefined {
  const value = typeof body === 'object' && body !== null ? Reflect.get(body, key) : undefined;
  return typeof value === 'string' ? value : undefined;
}
