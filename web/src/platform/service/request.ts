import { chunksOf } from '../stream-chunks.ts';
import { asServiceError, noResponse, type ServiceError, serviceErrorOf } from './service-error.ts';

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds without a byte of the response after which the request fails. Default: 60,000. */
  readonly idleTimeout?: number;
}

const IDLE_TIMEOUT_MS = 60_000;

/** Returns the JSON body of a successful response. Throws `ServiceError`, or the signal's `AbortError`. */
export async function requestJson<Body>(url: string, options: RequestOptions = {}): Promise<Body> {
  const response = await sendRequest(url, { accept: 'application/json' }, options);
  if (!response.ok) throw await errorOfResponse(response);
  const body = await readJson(response);
  if (body === undefined) throw serviceErrorOf(response.status, body, null);
  return body as Body;
}

/** Returns the error that a response reports. Throws like `readJson`. */
export async function errorOfResponse(response: Response): Promise<ServiceError> {
  return serviceErrorOf(response.status, await readJson(response), response.headers.get('retry-after'));
}

/**
 * Returns a body parsed as JSON; undefined if it is not JSON. Throws `ServiceError` if the response was truncated, or
 * the signal's `AbortError`.
 */
export async function readJson(response: Response): Promise<unknown> {
  const body = await readBody(response).catch((error: unknown) => {
    throw asServiceError(error);
  });
  try {
    return JSON.parse(await body.text());
  } catch {
    return undefined;
  }
}

/**
 * Returns the body of a response. Unlike the methods of `Response`, it causes no uncaught error in Firefox if a stream made by a script,
 * such as that of `fetchWithIdleTimeout`, fails or is aborted.
 */
export async function readBody({ body }: Response): Promise<Blob> {
  return new Blob(body ? await Array.fromAsync(chunksOf(body)) : []);
}

/** Returns the response as soon as its headers have arrived. Throws the same errors as `requestJson`. */
export async function sendRequest(
  url: string,
  headers: Readonly<Record<string, string>>,
  { method = 'GET', body, signal, idleTimeout = IDLE_TIMEOUT_MS }: RequestOptions,
): Promise<Response> {
  const allHeaders = { ...headers, ...(body && { 'content-type': 'application/json' }) };
  try {
    const request = { method, headers: allHeaders, signal: signal ?? null, body: body ? JSON.stringify(body) : null };
    return await fetchWithIdleTimeout(url, request, idleTimeout);
  } catch (error) {
    throw asServiceError(error);
  }
}

/**
 * Fetches, and fails with a `ServiceError` of status 0 after so many milliseconds without a byte, before or within the
 * response. A response that keeps arriving has no deadline.
 */
export async function fetchWithIdleTimeout(url: string, request: RequestInit, milliseconds: number): Promise<Response> {
  const stalled = new AbortController();
  const stall = () => stalled.abort(noResponse());
  let timer = setTimeout(stall, milliseconds);
  const end = () => clearTimeout(timer);
  const restart = () => {
    clearTimeout(timer);
    timer = setTimeout(stall, milliseconds);
  };
  const signal = AbortSignal.any([stalled.signal, ...(request.signal ? [request.signal] : [])]);
  try {
    // While a page loads after going back, browsers use cached responses of any age unless the request forbids it.
    const { body, status, headers } = await fetch(url, { cache: 'no-cache', ...request, signal });
    restart();
    if (body) return new Response(observed(body, { onChunk: restart, onEnd: end }), { status, headers });
    end();
    return new Response(null, { status, headers });
  } catch (error) {
    end();
    throw error;
  }
}

/** Returns a stream with the same bytes that reports each chunk, and its end. */
function observed(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { onChunk, onEnd }: { onChunk: () => void; onEnd: () => void },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          onChunk();
          return controller.enqueue(value);
        }
        onEnd();
        controller.close();
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    async cancel(reason) {
      onEnd();
      await reader.cancel(reason);
    },
  });
}

/** Yields the complete lines of a body. A last line without a line break was truncated, and is omitted. */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    // If the caller stops early, this closes the connection, which cancels the operation.
    for await (const chunk of chunksOf(body)) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    throw asServiceError(error);
  }
}
