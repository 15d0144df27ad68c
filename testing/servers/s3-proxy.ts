import { once } from 'node:events';
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';

/** A received request. */
export interface S3Request {
  /** The operation in the reference of Amazon S3: `GetObject`, `ListObjectsV2`. */
  readonly operation: string;
  readonly method: string;
  /** The key of the object; undefined for requests to the bucket. */
  readonly key: string | undefined;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** A response that replaces that of the store. */
export interface OwnResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * The outcome of a request. With undefined, it is forwarded to the store. Otherwise, the given response is sent; the
 * connection is closed: before the store receives the request, after the store has processed it, or after this number
 * of bytes of the response body; or the body of the store's response is rewritten.
 */
export type Verdict =
  | undefined
  | 'cut'
  | 'cut when done'
  | { readonly cutAfterBytes: number }
  | { readonly rewrite: (body: string) => string }
  | OwnResponse;

/** Decides the outcome of a request before the store receives it. The request waits for the promise. */
export type Interceptor = (request: S3Request) => Verdict | Promise<Verdict>;

/** An HTTP proxy in front of an S3 store, which must be addressed by path: `/bucket/key`. */
export interface S3Proxy {
  readonly url: string;
  /** All requests since the start or the last `forget`, in the order of their arrival. */
  readonly requests: readonly S3Request[];
  /** Passes all further requests to this interceptor instead of an earlier one. */
  intercept(interceptor: Interceptor | undefined): void;
  /** Returns the number of requests of an operation. */
  count(operation: string): number;
  /** Returns the maximum number of concurrent requests of an operation. */
  maxConcurrent(operation: string): number;
  /** Discards the recorded requests. */
  forget(): void;
  /** Closes all connections. Rejects with the error that an interceptor threw. */
  stop(): Promise<void>;
}

export async function startS3Proxy(store: { readonly endpoint: string }): Promise<S3Proxy> {
  const upstream = new URL(store.endpoint);
  const agent = new Agent({ keepAlive: true });
  const requests: S3Request[] = [];
  const running = new Map<string, number>();
  const maxRunning = new Map<string, number>();
  const failures: unknown[] = [];
  let interceptor: Interceptor | undefined;

  const track = (operation: string, response: ServerResponse) => {
    const now = (running.get(operation) ?? 0) + 1;
    running.set(operation, now);
    maxRunning.set(operation, Math.max(now, maxRunning.get(operation) ?? 0));
    response.once('close', () => running.set(operation, (running.get(operation) ?? 0) - 1));
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    try {
      const request = describe(incoming);
      requests.push(request);
      track(request.operation, response);
      const verdict = await interceptor?.(request);
      if (response.destroyed) return;
      if (verdict === 'cut') response.destroy();
      else if (typeof verdict === 'object' && 'status' in verdict) sendOwnResponse(incoming, response, verdict);
      else await forward({ upstream, agent, incoming, response, verdict });
    } catch (error) {
      failures.push(error);
      response.destroy();
    }
  };
  const server = createServer((incoming, response) => void handle(incoming, response));
  // If an idle connection is closed at the moment of its reuse, the client repeats its request, which would be counted.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    intercept(next) {
      interceptor = next;
    },
    count: (operation) => requests.filter((request) => request.operation === operation).length,
    maxConcurrent: (operation) => maxRunning.get(operation) ?? 0,
    forget() {
      requests.length = 0;
      maxRunning.clear();
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
      if (failures.length > 0) throw failures[0];
    },
  };
}

function describe({ method = '', url = '', headers }: IncomingMessage): S3Request {
  const [path = '', search = ''] = url.split('?');
  const query = new URLSearchParams(search);
  const [, , ...segments] = path.split('/');
  const key = decodeURIComponent(segments.join('/')) || undefined;
  const isCopy = headers['x-amz-copy-source'] !== undefined;
  return { operation: nameOf({ method, key, query, isCopy }), method, key, query, headers };
}

interface Requested {
  readonly method: string;
  readonly key: string | undefined;
  readonly query: URLSearchParams;
  readonly isCopy: boolean;
}

/**
 * Returns the operation of a request (Amazon S3 API reference, "Actions"), limited to those that a file service uses.
 */
function nameOf({ method, key, query, isCopy }: Requested): string {
  // Not an S3 action: browsers send it before a script may read a response of another origin.
  if (method === 'OPTIONS') return 'Preflight';
  if (key === undefined) {
    if (method === 'GET' && query.has('lifecycle')) return 'GetBucketLifecycleConfiguration';
    if (method === 'GET' && query.has('versioning')) return 'GetBucketVersioning';
    if (method === 'GET' && query.has('versions')) return 'ListObjectVersions';
    if (method === 'GET' && query.get('list-type') === '2') return 'ListObjectsV2';
    if (method === 'POST' && query.has('delete')) return 'DeleteObjects';
    if (method === 'HEAD') return 'HeadBucket';
  } else {
    const isOfParts = query.has('uploadId');
    if (method === 'GET') return isOfParts ? 'ListParts' : 'GetObject';
    if (method === 'HEAD') return 'HeadObject';
    if (method === 'PUT' && isOfParts) return isCopy ? 'UploadPartCopy' : 'UploadPart';
    if (method === 'PUT') return isCopy ? 'CopyObject' : 'PutObject';
    if (method === 'POST' && isOfParts) return 'CompleteMultipartUpload';
    if (method === 'POST' && query.has('uploads')) return 'CreateMultipartUpload';
    if (method === 'DELETE') return isOfParts ? 'AbortMultipartUpload' : 'DeleteObject';
  }
  throw new Error(
    `${method} ${key === undefined ? 'of the bucket' : 'of an object'} with ${query.toString()} has no name here.`,
  );
}

function sendOwnResponse(
  incoming: IncomingMessage,
  response: ServerResponse,
  { status, headers, body = '' }: OwnResponse,
): void {
  // The rest of the request body is read, so that the client reads the response.
  incoming.resume();
  const hasBody = incoming.method !== 'HEAD';
  response.writeHead(status, {
    'content-type': 'application/xml',
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(hasBody ? body : undefined);
}

interface Forwarding {
  readonly upstream: URL;
  readonly agent: Agent;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly verdict: Exclude<Verdict, 'cut' | OwnResponse>;
}

/** Forwards the request unchanged: its signature covers the path, the `Host` and other headers. */
async function forward({ upstream, agent, incoming, response, verdict }: Forwarding): Promise<void> {
  const { method, url, headers } = incoming;
  const { hostname, port } = upstream;
  const onward = httpRequest({ hostname, port, method, path: url, headers, setHost: false, agent });
  // When the client disconnects, the request to the store is aborted.
  response.once('close', () => onward.destroy());
  // The store can reject a request before it has read the body. The rest is read here, because the next request on the
  // connection would otherwise wait for it.
  onward.once('close', () => incoming.unpipe().resume());
  // An error before the response is handled below.
  onward.on('error', () => {});
  incoming.pipe(onward);
  let responded: IncomingMessage;
  try {
    [responded] = (await once(onward, 'response')) as [IncomingMessage];
  } catch {
    response.destroy();
    return;
  }
  if (verdict === 'cut when done') {
    responded.resume();
    await once(responded, 'end');
    response.destroy();
  } else if (verdict !== undefined && 'rewrite' in verdict) {
    const { 'content-length': _, 'transfer-encoding': __, ...kept } = responded.headers;
    response.writeHead(responded.statusCode ?? 0, kept);
    response.end(verdict.rewrite(await text(responded)));
  } else {
    response.writeHead(responded.statusCode ?? 0, responded.rawHeaders);
    if (verdict === undefined) pipeline(responded, response, () => {});
    else await cutAfterBytes(verdict.cutAfterBytes, responded, response);
  }
}

async function cutAfterBytes(bytes: number, responded: IncomingMessage, response: ServerResponse): Promise<void> {
  let left = bytes;
  for await (const chunk of responded as AsyncIterable<Buffer>) {
    const piece = chunk.subarray(0, left);
    left -= piece.length;
    await new Promise((written) => response.write(piece, written));
    if (left === 0) break;
  }
  response.destroy();
}

/** Returns an error response in the form of Amazon S3. */
export function errorResponse(
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): OwnResponse {
  return { status, headers, body: errorXml(code) };
}

export function errorXml(code: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>as it is</Message><RequestId>1</RequestId></Error>`;
}

/** Intercepts only the first request of an operation. */
export function firstOf(operation: string, verdict: () => Verdict | Promise<Verdict>): Interceptor {
  let isAwaited = true;
  return (request) => {
    if (request.operation !== operation || !isAwaited) return undefined;
    isAwaited = false;
    return verdict();
  };
}
