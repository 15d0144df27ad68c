import { AsyncLocalStorage } from 'node:async_hooks';

/** Makes spans of requests, and sends them on. */
export interface Tracer {
  /**
   * Begins the span of a request, as a part of the trace that its headers name (W3C Trace Context), or of a new one.
   * Undefined where the request is not to be traced.
   */
  begin(request: TracedRequest): RequestSpan | undefined;
  /** Sends what has not been sent. Settles when it has, or when it can't be. */
  close(): Promise<void>;
}

/** A request of which the head has come. */
export interface TracedRequest {
  readonly id: string;
  readonly method: string;
  /** With its parameters as names; undefined where there is none for the request. */
  readonly route: string | undefined;
  /** Without the query, which may hold a signature or a code. */
  readonly path: string;
  readonly scheme: string;
  /** For which host and port it is, where it says so. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Something that takes its time, and what is done meanwhile for it. */
export interface Span {
  /** Begins a call of the store; undefined where the span has ended. */
  callStore(operation: string): CallSpan | undefined;
  /** Adds a request to the backend that has just ended. */
  addBackendRequest(request: BackendRequest): void;
}

export interface RequestSpan extends Span {
  /** Ends it with the status of the answer. */
  end(status: number): void;
}

export interface CallSpan extends Span {
  /** Ends it with `ok`, the kind of a `StoreError`, or `fault`. */
  end(outcome: string): void;
}

/** The request that code runs for, as its log and its trace have to know it. */
export interface CurrentRequest {
  readonly id: string;
  /** What is done now is a part of this; undefined where the request is not traced. */
  readonly span: Span | undefined;
}

const current = new AsyncLocalStorage<CurrentRequest | undefined>();

/** Undefined where code runs for no request, and where nobody wants to know for which one it does. */
export const currentRequest = (): CurrentRequest | undefined => current.getStore();

/** Has everything that `run` does, and what comes of it later, find the request; or none, where it is for none. */
export const runFor = <Result>(request: CurrentRequest | undefined, run: () => Result): Result =>
  current.run(request, run);

/** A request that a store sent to its backend, as it ended: each try is one. */
export interface BackendRequest extends BackendAnswer {
  readonly method: string;
  /** Without its query, which may hold a signature. */
  readonly url: string;
  /** Until the head of the answer came, or the error. */
  readonly milliseconds: number;
}

/** What the head of an answer tells. */
export interface BackendAnswer {
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  /** What the backend calls the request: so its own log has it, and whoever runs it can look it up. */
  readonly backendId: string | undefined;
  /** What is left of the quota, where there is one. */
  readonly remaining?: string | undefined;
}
