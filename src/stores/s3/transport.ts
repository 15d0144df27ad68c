// The reference makes the declaration known wherever this file is type-checked, also in projects without the rest of src.
// oxlint-disable-next-line typescript/triple-slash-reference
/// <reference path="./undici-pool.d.ts" />

import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import Pool from 'undici/lib/dispatcher/pool.js';
import { asError } from '../../model/error.ts';

/** A signed HTTP request. */
export interface HttpRequest {
  readonly method: Dispatcher.HttpMethod;
  /** The percent-encoded path and query. */
  readonly target: string;
  /** Header values by lower-case name, including `host`. Values can contain any Unicode text. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  /** Milliseconds from sending until the response headers arrive. */
  readonly timeoutMs: number;
  /** Aborts the request, and the response body until it is read completely. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum size of a buffered response body in bytes. */
  readonly maxBytes: number;
  /** If set, the body of a successful response that exceeds `maxBytes` is a stream instead of an error. */
  readonly stream?: BodyStreamOptions | undefined;
}

/** Options of a response body that is a stream. */
export interface BodyStreamOptions {
  /** Converts an error in the middle of the body to the error of the stream. */
  readonly toStreamError: (error: Error) => Error;
}

export interface HttpResponse {
  readonly status: number;
  /** Header values by lower-case name. Bytes outside ASCII are one character each: see `decodeHeader`. */
  readonly headers: IncomingHttpHeaders;
  /** The whole body. Empty if `stream` is set, and if the body of an error is too long. */
  readonly body: Buffer;
  /** The body as a stream. The caller must read it to the end or destroy it. */
  readonly stream?: Readable;
}

/** Thrown if a response body exceeds `maxBytes`. */
export class ResponseTooLongError extends Error {
  override readonly name = 'ResponseTooLongError';
}

/** Milliseconds until a new connection is established. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Milliseconds without a byte of the response body after which the connection counts as lost. */
const STALL_TIMEOUT_MS = 5 * 60_000;

/** Milliseconds for which an idle connection is kept, unless the server announces a shorter time. */
const KEEP_ALIVE_MS = 60_000;

/** Maximum bytes of the headers of a response. */
const MAX_HEADER_BYTES = 16 * 2 ** 10;

/** Sends requests to one origin over keep-alive connections. Rejects with errors of Node.js and undici. */
export class HttpTransport {
  readonly #pool: Pool;

  constructor(origin: string) {
    this.#pool = new Pool(origin, {
      // Slow readers hold their connections. Without a limit, no request waits for a free connection.
      connections: null,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      bodyTimeout: STALL_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // The default of Node.js. undici reads it from `http`, whose getters the build omits.
      maxHeaderSize: MAX_HEADER_BYTES,
    });
  }

  /** Returns the response, whatever its status. Does not follow redirects. */
  send(request: HttpRequest): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const { method, target, headers, body, timeoutMs } = request;
      const options: Dispatcher.DispatchOptions = {
        method,
        path: target,
        headers: encodeHeaders(headers),
        body: body ?? null,
        headersTimeout: timeoutMs,
        // By default, undici closes the connection after the response to HEAD.
        reset: false,
      };
      this.#pool.dispatch(options, new ResponseReader(request, resolve, reject));
    });
  }

  /** Closes all connections. */
  close(): void {
    void this.#pool.destroy();
  }
}

/**
 * Reads one response. Buffers a small body without a stream: a stream would cost more than the rest of the request.
 */
class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (error: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #size = 0;
  #stream: BodyStream | undefined;

  constructor(request: HttpRequest, resolve: (response: HttpResponse) => void, reject: (error: Error) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    request.signal?.addEventListener('abort', this.#abort);
  }

  /** Rejects at once if the request waits for a connection. It is then aborted when its connection is ready. */
  readonly #abort = (): void => {
    const reason = asError(this.#request.signal?.reason);
    if (this.#controller) this.#controller.abort(reason);
    else this.#reject(reason);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#request.signal?.aborted) this.#abort();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const { stream, maxBytes } = this.#request;
    if (!stream || status >= 300 || Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= maxBytes) return;
    this.#stream = new BodyStream(controller, stream);
    this.#resolve({ status, headers, body: EMPTY, stream: this.#stream });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream) {
      if (!this.#stream.push(chunk)) controller.pause();
      return;
    }
    this.#size += chunk.length;
    if (this.#size <= this.#request.maxBytes) this.#chunks.push(chunk);
    else controller.abort(new ResponseTooLongError(`The response has more than ${this.#request.maxBytes} bytes.`));
  }

  onResponseEnd(): void {
    this.#request.signal?.removeEventListener('abort', this.#abort);
    if (this.#stream) return this.#stream.end();
    const [first] = this.#chunks;
    const body = first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks, this.#size);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#request.signal?.removeEventListener('abort', this.#abort);
    if (this.#stream) {
      this.#stream.destroy(error);
    } else if (error instanceof ResponseTooLongError && this.#status >= 300) {
      // The status alone suffices for an error, for example if a proxy sends a long page.
      this.#resolve({ status: this.#status, headers: this.#headers, body: EMPTY });
    } else {
      this.#reject(error);
    }
  }
}

const EMPTY = Buffer.alloc(0);

/** A response body as a stream. Destroying it aborts the response. */
class BodyStream extends Readable {
  readonly #controller: Dispatcher.DispatchController;
  readonly #options: BodyStreamOptions;

  constructor(controller: Dispatcher.DispatchController, options: BodyStreamOptions) {
    super();
    this.#controller = controller;
    this.#options = options;
  }

  end(): void {
    this.push(null);
  }

  override _read(): void {
    this.#controller.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // Has no effect after the end of the response.
    this.#controller.abort(error ?? new DOMException('The body was destroyed.', 'AbortError'));
    callback(error && this.#options.toStreamError(error));
  }
}

/**
 * Encodes non-ASCII header values as UTF-8 bytes, one character per byte, as undici expects them. The signature covers
 * the UTF-8 text.
 */
function encodeHeaders(headers: Readonly<Record<string, string>>): string[] {
  const encoded: string[] = [];
  for (const name in headers) {
    const value = headers[name] ?? '';
    encoded.push(name, NON_ASCII.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value);
  }
  return encoded;
}

/** Decodes the value of a response header as UTF-8. */
export function decodeHeader(value: string): string {
  return NON_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
}

const NON_ASCII = /[^\u0000-\u007f]/;
