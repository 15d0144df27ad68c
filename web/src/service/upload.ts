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

/** Milliseconds without a byte going out after which nobody is there any more. */
const STALLED = 60_000;

/** Milliseconds that the service may take to store what it has got in whole: some stores take it only then. */
const STORING = 300_000;

/**
 * Uploads one file. By XMLHttpRequest, since `fetch` tells nothing of what was sent. Throws a `ServiceError`, or the
 * signal's reason. An upload that stands still for too long is one without an answer.
 */
export function sendUpload(url: string, upload: Upload): Promise<UploadedFile> {
  const { promise, resolve, reject } = Promise.withResolvers<UploadedFile>();
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  const stall = () => {
    reject(new ServiceError(0, ''));
    request.abort();
  };
  let stalling = setTimeout(stall, STALLED);
  const goesOn = (within: number) => {
    clearTimeout(stalling);
    stalling = setTimeout(stall, within);
  };

  request.open('POST', url);
  request.responseType = 'json';
  request.setRequestHeader('accept', 'application/json');
  if (!upload.replace) request.setRequestHeader('if-none-match', '*');
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    goesOn(STALLED);
    // The form around the file is sent as well: a few hundred bytes.
    upload.onProgress(Math.min(upload.file.size, Math.max(0, loaded - (total - upload.file.size))));
  });
  request.upload.addEventListener('load', () => goesOn(STORING));
  request.addEventListener('load', () => {
    const { status } = request;
    const answer: unknown = request.response;
    const path = pathIn(answer);
    if (status === 200 && path !== undefined) resolve({ path, etag: request.getResponseHeader('etag') ?? '' });
    else reject(failureOf(status, answer, request.getResponseHeader('retry-after')));
  });
  request.addEventListener('error', () => reject(new ServiceError(0, '')));
  request.addEventListener('abort', () => reject(upload.signal.reason));
  upload.signal.addEventListener('abort', abort);
  if (upload.signal.aborted) reject(upload.signal.reason);
  else request.send(formOf(upload));
  return promise.finally(() => {
    clearTimeout(stalling);
    upload.signal.removeEventListener('abort', abort);
  });
}

/** The folder first, so that the service can begin to store the file at once. */
function formOf({ file, folder, name }: Upload): FormData {
  const form = new FormData();
  form.append('prefix', folder);
  form.append('file', file, name);
  return form;
}

/** The path that an answer tells; undefined where somebody else answered, as a proxy may do with a page to sign in. */
function pathIn(answer: unknown): string | undefined {
  const path = typeof answer === 'object' && answer !== null && 'path' in answer ? answer.path : undefined;
  return typeof path === 'string' ? path : undefined;
}
