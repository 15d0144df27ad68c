import { failureOf, ServiceError } from './service-error.ts';

export interface Upload {
  readonly file: Blob;
  readonly folder: string;
  readonly name: string;
  /** Whether a file of that path may be replaced; else that is a 412. */
  readonly replace: boolean;
  readonly signal: AbortSignal;
  /** Bytes of the file that were sent so far. */
  readonly onProgress: (sent: number) => void;
}

export interface UploadedFile {
  readonly path: string;
  readonly etag: string;
}

/**
 * Uploads one file. By XMLHttpRequest, since `fetch` tells nothing of what was sent. Throws a `ServiceError`, or the
 * signal's reason.
 */
export function sendUpload(url: string, upload: Upload): Promise<UploadedFile> {
  const { promise, resolve, reject } = Promise.withResolvers<UploadedFile>();
  const request = new XMLHttpRequest();
  const abort = () => request.abort();

  request.open('POST', url);
  request.responseType = 'json';
  request.setRequestHeader('accept', 'application/json');
  if (!upload.replace) request.setRequestHeader('if-none-match', '*');
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    // The form around the file is sent as well: a few hundred bytes.
    upload.onProgress(Math.min(upload.file.size, Math.max(0, loaded - (total - upload.file.size))));
  });
  request.addEventListener('load', () => {
    const { status } = request;
    const answer: unknown = request.response;
    if (status === 200) resolve({ path: pathOf(answer), etag: request.getResponseHeader('etag') ?? '' });
    else reject(failureOf(status, answer, request.getResponseHeader('retry-after')));
  });
  request.addEventListener('error', () => reject(new ServiceError(0, '')));
  request.addEventListener('abort', () => reject(upload.signal.reason));
  request.addEventListener('loadend', () => upload.signal.removeEventListener('abort', abort));
  upload.signal.addEventListener('abort', abort);
  if (upload.signal.aborted) reject(upload.signal.reason);
  else request.send(formOf(upload));
  return promise;
}

/** The folder first, so that the service can begin to store the file at once. */
function formOf({ file, folder, name }: Upload): FormData {
  const form = new FormData();
  form.append('prefix', folder);
  form.append('file', file, name);
  return form;
}

function pathOf(answer: unknown): string {
  if (typeof answer === 'object' && answer !== null && 'path' in answer) return String(answer.path);
  throw new ServiceError(200, 'The service answered an upload with something else than JSON.');
}
