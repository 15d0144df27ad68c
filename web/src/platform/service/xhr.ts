import { noResponse } from './service-error.ts';

export interface BodyRequest {
  readonly method: 'POST' | 'PATCH' | 'PUT';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: FormData | Blob;
  readonly signal: AbortSignal;
  /** Milliseconds until the first byte is sent. Default: `STALL_TIMEOUT_MS` */
  readonly stallTimeout?: number | undefined;
  /** Receives the bytes of the body that were sent, and all of them. */
  readonly onProgress: (sent: number, total: number) => void;
}

/** Milliseconds without progress after which the request has stalled. */
const STALL_TIMEOUT_MS = 60_000;

/** Timeout of the response after the last byte: some stores receive the file only then. */
const STORE_TIMEOUT_MS = 300_000;

/**
 * Sends a large body by XMLHttpRequest, because `fetch` reports no progress. Resolves to the request with its response,
 * whatever the status. Throws `ServiceError` without a response and for a stalled request, or the signal's reason.
 */
export function sendBody({
  method,
  url,
  headers,
  body,
  signal,
  stallTimeout = STALL_TIMEOUT_MS,
  onProgress,
}: BodyRequest): Promise<XMLHttpRequest> {
  const { promise, resolve, reject } = Promise.withResolvers<XMLHttpRequest>();
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  const stall = () => {
    reject(noResponse());
    request.abort();
  };
  let timer = setTimeout(stall, stallTimeout);
  const restartTimer = (within: number) => {
    clearTimeout(timer);
    timer = setTimeout(stall, within);
  };

  request.open(method, url);
  request.responseType = 'json';
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    restartTimer(STALL_TIMEOUT_MS);
    onProgress(loaded, total);
  });
  request.upload.addEventListener('load', () => restartTimer(STORE_TIMEOUT_MS));
  request.addEventListener('load', () => resolve(request));
  request.addEventListener('error', () => reject(noResponse()));
  request.addEventListener('abort', () => reject(signal.reason));
  signal.addEventListener('abort', abort);
  if (signal.aborted) reject(signal.reason);
  else request.send(body);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  });
}
