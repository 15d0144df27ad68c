import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { HostedRepository } from './repository.ts';

/** A request as it came over the wire. */
export interface GitHubRequest {
  /** As GitHub's reference names it: `GET /repos/{owner}/{repo}/git/trees/{tree_sha}`; else method and path. */
  readonly route: string;
  readonly method: string;
  /** As it was sent, below the API's address, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /**
   * What was sent as JSON. A file's content that is longer than 64 KiB is cut there, and the body of
   * `POST /repos/{owner}/{repo}/git/blobs` has not come yet when an interceptor looks at it.
   */
  readonly body: unknown;
  /** When it came: milliseconds of `performance.now()`. */
  readonly time: number;
}

export interface RespondedRequest extends GitHubRequest {
  /** 0 where the connection was cut without an answer. */
  readonly status: number;
  /** Whether it was answered 304, which costs nothing of the quota. */
  readonly free: boolean;
}

/** An answer that the host never gave. */
export interface OwnResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text as it is; anything else as JSON. */
  readonly body?: unknown;
}

/**
 * What becomes of a request: it is served where undefined; is answered in another way, without being served; the
 * connection is cut before it is served, or when that is done, or behind so many bytes of the answer's body.
 */
export type Verdict = undefined | 'cut' | 'cut when done' | { readonly cutBehind: number } | OwnResponse;

/** Looks at a request before it is served; while it does not settle, the request is held. */
export type Interceptor = (request: GitHubRequest) => Verdict | Promise<Verdict>;

export interface Response {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Either `json` or `bytes`, or neither. */
  readonly json?: unknown;
  readonly bytes?: Bytes;
}

/** The bytes of a blob. */
export interface Bytes {
  readonly sha: string;
  readonly size: number;
  open(): Readable;
}

/** What a route is asked. */
export interface Call {
  readonly host: Host;
  readonly repository: HostedRepository;
  /** By its name in the route, decoded. */
  readonly parameter: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly body: unknown;
  readonly isAuthenticated: boolean;
}

/** Limits of the host, as far as anybody has found them. */
export interface Limits {
  /** Of a tree that is listed; what is above is left out, and `truncated` is true. */
  treeEntries: number;
  /** Of that answer's list. */
  treeBytes: number;
  /** Bytes of a blob. */
  blobBytes: number;
  /** Bytes of the request that brings a blob. */
  blobRequestBytes: number | undefined;
}

/** What the routes know of the host. */
export interface Host {
  readonly apiUrl: string;
  readonly limits: Limits;
  readonly permissions: { read: boolean; write: boolean };
  /** The address of a file on the other server; null where that has none. */
  downloadUrl(repository: HostedRepository, ref: string, path: string): string | null;
}

/** An answer that is an error. */
export class Refusal extends Error {
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

export function notFound(): Refusal {
  return new Refusal(404, 'Not Found');
}

/** Where we would have to guess, the store under test is to leave it be. */
export function notKnown(what: string): Refusal {
  return new Refusal(422, `Not known of the real host: ${what}`);
}
