import { serviceErrorOf } from './service-error.ts';
import { sendBody } from './xhr.ts';

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

/** Uploads one file as a form. Throws `ServiceError`, or the signal's reason. */
export async function sendUpload(url: string, upload: Upload): Promise<UploadedFile> {
  const { file, replace, signal } = upload;
  const request = await sendBody({
    method: 'POST',
    url,
    headers: { accept: 'application/json', ...(!replace && { 'if-none-match': '*' }) },
    body: formOf(upload),
    signal,
    // The body has other parts of the form, too: a few hundred bytes.
    onProgress: (sent, total) => upload.onProgress(Math.min(file.size, Math.max(0, sent - (total - file.size)))),
  });
  const body: unknown = request.response;
  const path = stringIn(body, 'path');
  if (request.status !== 200 || path === undefined) {
    throw serviceErrorOf(request.status, body, request.getResponseHeader('retry-after'));
  }
  return { path, etag: request.getResponseHeader('etag') ?? '', change: stringIn(body, 'change') };
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
