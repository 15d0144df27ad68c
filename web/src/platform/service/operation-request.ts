import { errorOfResponse, linesOf, type RequestOptions, readJson, sendRequest } from './request.ts';
import { noResponse, serviceErrorOf } from './service-error.ts';

/** The progress of a long operation. `total` is null while it is unknown. */
export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly bytes: number;
}

/** Seconds for which the service waits for the end of a job before it responds with the job instead of its result. */
const WAIT_SECONDS = 2;

/**
 * The service starts the operation as a job. If it can't, because its database is unavailable, the response reports the
 * progress, and closing the connection cancels the operation.
 */
const HEADERS = {
  accept: 'application/x-ndjson, application/json',
  prefer: `respond-async, wait=${WAIT_SECONDS}`,
};

/** Milliseconds without a byte of the response. A stream reports no progress within a file. */
const IDLE_TIMEOUT_MS = 300_000;

/** Milliseconds after a cancellation for which the page waits for the response, which tells what it must cancel. */
const MAX_CANCEL_DELAY_MS = 5_000;

/**
 * Requests a long operation. Returns the body of the response, or the last line of its progress: the result, or the job if
 * the operation takes longer than a moment. Aborting the signal cancels the operation unless it is a job. Throws the same
 * errors as `requestJson`.
 */
export async function requestOperation<Body>(
  url: string,
  {
    signal,
    onProgress,
    idleTimeout = IDLE_TIMEOUT_MS,
    ...options
  }: RequestOptions & { readonly onProgress: (progress: Progress) => void },
): Promise<Body> {
  signal?.throwIfAborted();
  const closing = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const abandon = () => {
    timer = setTimeout(() => closing.abort(noResponse()), MAX_CANCEL_DELAY_MS);
  };
  const close = () => closing.abort(signal?.reason);
  signal?.addEventListener('abort', abandon);
  try {
    const request = { ...options, idleTimeout, signal: closing.signal };
    const response = await sendRequest(url, HEADERS, request);
    if (!response.ok) throw await errorOfResponse(response);
    if (response.headers.get('content-type')?.startsWith('application/x-ndjson') && response.body !== null) {
      signal?.addEventListener('abort', close);
      if (signal?.aborted) close();
      return await readProgress(response.body, onProgress);
    }
    const body = await readJson(response);
    if (body === undefined) throw serviceErrorOf(response.status, body, null);
    return body as Body;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abandon);
    signal?.removeEventListener('abort', close);
  }
}

/** Returns the last line of a stream of progress. */
async function readProgress<Body>(
  body: ReadableStream<Uint8Array>,
  onProgress: (progress: Progress) => void,
): Promise<Body> {
  for await (const line of linesOf(body)) {
    const message = JSON.parse(line) as { progress: Progress } | { success: boolean; status: number };
    if ('progress' in message) onProgress(message.progress);
    else if (message.success) return message as Body;
    else throw serviceErrorOf(message.status, message, null);
  }
  throw noResponse();
}
