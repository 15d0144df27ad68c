import { AsyncLocalStorage } from 'node:async_hooks';

/** Records spans of requests and exports them. */
export interface Tracer {
  /**
   * Starts the span of a request, in the trace that its headers name (W3C Trace Context) or in a new trace. Returns
   * undefined if the request is not sampled.
   */
  startRequest(request: TracedRequest): RequestSpan | undefined;
  /** Exports the remaining spans. Resolves when the export has succeeded or failed. */
  close(): Promise<void>;
}

/** A request whose headers have arrived. */
export interface TracedRequest {
  readonly id: string;
  readonly method: string;
  /** The route pattern with parameter names; undefined if no route matches. */
  readonly route: string | undefined;
  /** The path without the query, which can contain a signature or an authorization code. */
  readonly path: string;
  readonly scheme: string;
  /** Host and port of the request; undefined if the request contains none. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** An operation in progress, to which child operations can be added. */
export interface Span {
  /** Starts the span of a store call. Returns undefined if this span has ended. */
  startStoreCall(operation: string): CallSpan | undefined;
  /** Adds a request to the backend that has just completed. */
  addBackendRequest(request: BackendRequest): void;
}

export interface RequestSpan extends Span {
  /** Ends the span with the status of the response. */
  end(status: number): void;
}

export interface CallSpan extends Span {
  /** Ends the span. `outcome` is `ok`, the kind of a `StoreError`, or `fault` for any other error. */
  end(outcome: string): void;
}

/** The HTTP request on whose behalf code runs, for logs and traces. */
export interface CurrentRequest {
  readonly id: string;
  /** The current span; undefined if the request is not sampled. */
  readonly span: Span | undefined;
}

const current = new AsyncLocalStorage<CurrentRequest | undefined>();

/** Returns the current request. Undefined outside of requests, and if neither logs nor traces need it. */
export const currentRequest = (): CurrentRequest | undefined => current.getStore();

/** Runs `run` with `request` as its current request, also in its asynchronous continuations; undefined for none. */
export const runInRequest = <Result>(request: CurrentRequest | undefined, run: () => Result): Result =>
  current.run(request, run);

/** A completed request of a store to its backend. Each attempt is a separate request. */
export interface BackendRequest extends BackendResponse {
  readonly method: string;
  /** The URL without the query, which can contain a signature. */
  readonly url: string;
  /** Milliseconds until the response headers or the error. */
  readonly milliseconds: number;
}

/** The traced properties of a response of the backend. */
export interface BackendResponse {
  /** The status; undefined if there was no response. */
  readonly status: number | undefined;
  /** The id of the request in the backend's own log. */
  readonly backendId: string | undefined;
  /** The remaining requests of the quota; undefined if the backend has none. */
  readonly remaining?: string | undefined;
}
