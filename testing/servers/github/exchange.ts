import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { HostedRepository } from './repository.ts';

/** A received request. */
export interface GitHubRequest {
  /** The route in GitHub's reference: `GET /repos/{owner}/{repo}/git/trees/{tree_sha}`. Otherwise, method and path. */
  readonly route: string;
  readonly method: string;
  /** The undecoded path below the API's URL, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /**
   * The parsed JSON. File contents are truncated to 64 KiB. For interceptors, the body of `POST
   * /repos/{owner}/{repo}/git/blobs` is undefined, because it has not arrived yet.
   */
  readonly body: unknown;
  /** The time of arrival, in milliseconds of `performance.now()`. */
  readonly time: number;
}

export interface RespondedRequest extends GitHubRequest {
  /** 0 if the connection was closed without a response. */
  readonly status: number;
  /** Whether the status was 304, which does not count against the rate limit. */
  readonly free: boolean;
}

/** A response that replaces that of the host. */
export interface OwnResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Strings are sent unchanged, other values as JSON. */
  readonly body?: unknown;
}

/**
 * The outcome of a request. With undefined, the host responds. Otherwise, the given response is sent and the host does
 * not process the request; or the connection is closed: before the request is processed, after that, or after this
 * number of bytes of the response body.
 */
export type Verdict = undefined | 'cut' | 'cut when done' | { readonly cutAfterBytes: number } | OwnResponse;

/** Decides the outcome of a request before it is served. The request waits for the promise. */
export type Interceptor = (request: GitHubRequest) => Verdict | Promise<Verdict>;

export interface Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** At most one of `json` and `bytes` is present. */
  readonly json?: unknown;
  readonly bytes?: Bytes;
}

/** The bytes of a blob. */
export interface Bytes {
  readonly sha: string;
  readonly size: number;
  open(): Readable;
}

/** A request to a route. */
export interface Call {
  readonly host: Host;
  readonly repository: HostedRepository;
  /** The value of the route's parameter, decoded. */
  readonly parameter: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly body: unknown;
  readonly isAuthenticated: boolean;
}

/** The limits of the host, as far as they are known. */
export interface Limits {
  /** Maximum entries of a listed tree. Further entries are omitted, and `truncated` is true. */
  treeEntries: number;
  /** Maximum bytes of the entries in that response. */
  treeBytes: number;
  /** Maximum bytes of a blob. */
  blobBytes: number;
  /** Maximum bytes of a request that creates a blob. */
  blobRequestBytes: number | undefined;
}

/** The host, for the routes. */
export interface Host {
  readonly apiUrl: string;
  readonly limits: Limits;
  readonly permissions: { read: boolean; write: boolean };
  /** Returns the URL of a file on the other server; null if that does not offer it. */
  downloadUrl(repository: HostedRepository, ref: string, path: string): string | null;
}

/** An error response. */
export class ErrorResponse extends Error {
  override readonly name = 'Refusal';
  readonly response: Response;

  constructor(
    status: number,
    message: string,
    more: { readonly errors?: readonly unknown[]; readonly url?: string } = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    const json = { message, ...more, documentation_url: 'https://docs.github.com/rest', status: String(status) };
    this.response = { status, headers, json };
  }
}

export function notFound(): ErrorResponse {
  return new ErrorResponse(404, 'Not Found');
}

/** Rejects a request whose result on the real host is unknown: the store under test must not send it. */
export function unknownResult(what: string): ErrorResponse {
  return new ErrorResponse(422, `Not known of the real host: ${what}`);
}
