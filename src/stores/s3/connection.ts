import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { type RequestObserver, sendObserved } from '../network.ts';
import { S3ErrorResponse } from './errors.ts';
import { escapeKey, type Key } from './keys.ts';
import { observedResponse, readErrorResponse } from './responses.ts';
import { createRetryPolicy } from './retry.ts';
import { type BucketEndpoint, createSigner, EMPTY_HASH, type Query, queryString, type Signer } from './signature.ts';

/** A request without a body. */
export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** The requested object; undefined for the whole bucket. */
  readonly key?: Key;
  readonly query?: Query;
  /** Headers whose value is undefined are omitted. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** Options of one request, in the form that the AWS SDK client accepts with a command. */
export interface SendOptions {
  readonly abortSignal?: AbortSignal;
  /** Milliseconds until the response headers arrive. */
  readonly requestTimeout: number;
}

/**
 * Sends frequent requests to a bucket without the AWS SDK client. Signs the requests, reuses connections, and retries
 * like the client.
 */
export interface Connection {
  /**
   * Sends a request and reads the response with `read`. Rejects with an `S3ErrorResponse` or a network error. An error
   * of `read` counts as a failure of the request, which can be retried.
   */
  ask<Answer>(
    question: S3Request,
    options: SendOptions,
    read: (response: IncomingMessage) => Promise<Answer>,
  ): Promise<Answer>;
  /** Returns a presigned URL for the request, valid for `expires` seconds. */
  presign(question: Pick<S3Request, 'method' | 'key' | 'query'>, expires: number): Promise<string>;
  close(): void;
}

export interface ConnectionOptions {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  locate(): Promise<BucketEndpoint>;
  /** Called for each retry. */
  retried(): void;
  /** Observes each HTTP request. */
  readonly asked?: RequestObserver | undefined;
}

export function createConnection({
  accessKeyId,
  secretAccessKey,
  locate,
  retried,
  asked,
}: ConnectionOptions): Connection {
  const clock = createClock();
  const retries = createRetryPolicy(retried);
  let place: Promise<Place> | undefined;

  const findPlace = (): Promise<Place> => {
    place ??= locate().then(
      (site) => ({
        site,
        host: new URL(site.origin).host,
        wire: openHttpTransport(site.origin),
        signer: createSigner({ accessKeyId, secretAccessKey, ...site }),
      }),
      (error: unknown) => {
        place = undefined;
        throw error;
      },
    );
    return place;
  };

  const sendOnce = async ({ site, host, wire, signer }: Place, question: S3Request, options: SendOptions) => {
    const { method, key, query = {} } = question;
    const path = pathOf(site, key);
    const headers: Record<string, string> = { host };
    for (const [name, value] of Object.entries(question.headers ?? {})) if (value !== undefined) headers[name] = value;
    const signed = signer.sign({ method, path, query, headers }, EMPTY_HASH, Date.now() + clock.offset());
    const search = queryString(query);
    const send = () =>
      wire.send({
        method,
        target: search === '' ? path : `${path}?${search}`,
        // The user agent is not signed, because proxies may change it.
        headers: { ...signed, 'user-agent': 'holdall' },
        timeout: options.requestTimeout,
        signal: options.abortSignal,
      });
    return sendObserved(asked, { method, url: site.origin + path }, send, observedResponse);
  };

  const asking: Connection = {
    async ask(question, options, read) {
      const found = await findPlace();
      const { abortSignal } = options;
      for (let attempt = 1, taken = 0; ; attempt++) {
        try {
          const offset = clock.offset();
          const response = await sendOnce(found, question, options);
          clock.learn(response.headers);
          const isClockCorrected = Math.abs(clock.offset() - offset) >= MAX_CLOCK_SKEW_MS;
          const isRefused = (response.statusCode ?? 0) >= 300;
          if (isRefused) throw await readErrorResponse(response, { isClockCorrected });
          const answer = await read(response);
          retries.succeeded(taken);
          return answer;
        } catch (error) {
          abortSignal?.throwIfAborted();
          if (error instanceof S3ErrorResponse) error.attempts = attempt;
          taken = await retries.again(error, attempt, abortSignal);
          if (taken === 0) throw error;
        }
      }
    },

    async presign({ method, key, query = {} }, expires) {
      const { site, host, signer } = await findPlace();
      const path = pathOf(site, key);
      // A presigned URL with a wrong time fails only at the client. Any response, even an error, contains the time of
      // the store.
      if (clock.isSetAnew())
        await asking.ask({ method: 'HEAD' }, { requestTimeout: QUICK_TIMEOUT_MS }, drain).catch(() => {});
      const time = Date.now() + clock.offset();
      return `${site.origin}${path}?${signer.presign({ method, path, query, headers: { host } }, expires, time)}`;
    },

    close() {
      place?.then(({ wire }) => wire.close()).catch(() => {});
    },
  };
  return asking;
}

const drain = async (response: IncomingMessage) => void response.resume();

interface Place {
  readonly site: BucketEndpoint;
  readonly host: string;
  readonly wire: HttpTransport;
  readonly signer: Signer;
}

function pathOf({ path }: BucketEndpoint, key: Key | undefined): string {
  if (key !== undefined) return path + escapeKey(key);
  return path === '/' ? path : path.slice(0, -1);
}

/** A signed HTTP request. */
export interface TransportRequest {
  readonly method: string;
  /** The escaped path and query. */
  readonly target: string;
  /** Includes `host`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until the response headers arrive. */
  readonly timeout: number;
  /** Aborts the request, and the response body until it is read completely. */
  readonly signal?: AbortSignal | undefined;
}

/** Sends requests without a body to one origin, over keep-alive connections. */
export interface HttpTransport {
  /**
   * Returns the response when its headers have arrived, whatever its status. Does not follow redirects. The caller must
   * read the response to the end or destroy it. Rejects with errors of Node.js, and with a `TimeoutError` on a timeout.
   */
  send(request: TransportRequest): Promise<IncomingMessage>;
  /** Closes all connections. */
  close(): void;
}

/**
 * Opens a transport on `node:http`. The AWS SDK client needs 0.4 ms of CPU time for one request and its response, and
 * 0.3 ms of that is overhead.
 */
export function openHttpTransport(origin: string): HttpTransport {
  const { protocol, hostname, port } = new URL(origin);
  const { Agent, request } = protocol === 'https:' ? https : http;
  // Slow readers hold their connections. Without a limit, no request waits for a free connection.
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const to = { agent, host: hostname.replace(/^\[(.*)\]$/, '$1'), port, setHost: false, timeout: STALL_TIMEOUT_MS };

  return {
    send: ({ method, target, headers, timeout, signal }) =>
      new Promise((resolve, reject) => {
        const sent = request({ ...to, method, path: target, headers: asBytes(headers) });
        let answer: IncomingMessage | undefined;
        const headTimer = setTimeout(() => sent.destroy(timedOut(`No answer came within ${timeout} ms.`)), timeout);
        const end = (error: Error) => {
          answer?.destroy(error);
          sent.destroy(error);
        };
        const leave = () => end(new DOMException('The request was aborted.', 'AbortError'));
        signal?.addEventListener('abort', leave, { once: true });
        limitConnecting(sent);
        sent.on('response', (response) => {
          clearTimeout(headTimer);
          answer = response;
          resolve(response);
        });
        sent.on('timeout', () => end(timedOut(`Nothing came for ${STALL_TIMEOUT_MS} ms.`)));
        sent.on('error', reject);
        sent.on('close', () => {
          clearTimeout(headTimer);
          signal?.removeEventListener('abort', leave);
        });
        sent.end();
      }),

    close: () => agent.destroy(),
  };
}

/** Destroys the request if a new connection is not established within `CONNECT_TIMEOUT_MS`. */
function limitConnecting(sent: ClientRequest): void {
  sent.once('socket', (socket) => {
    if (!socket.connecting) return;
    const error = () => timedOut(`No connection came about within ${CONNECT_TIMEOUT_MS} ms.`);
    const timer = setTimeout(() => sent.destroy(error()), CONNECT_TIMEOUT_MS);
    const settle = () => clearTimeout(timer);
    socket.once('connect', settle);
    socket.once('close', settle);
  });
}

function timedOut(message: string): Error {
  return Object.assign(new Error(message), { name: 'TimeoutError', code: 'ETIMEDOUT' });
}

/**
 * Encodes non-ASCII header values as UTF-8 bytes, one character per byte, as Node.js expects them. The signature covers
 * the UTF-8 text.
 */
function asBytes(headers: Readonly<Record<string, string>>): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    sent[name] = NON_ASCII.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value;
  }
  return sent;
}

const NON_ASCII = /[^\u0000-\u007f]/;

/** Milliseconds until a new connection is established. */
export const CONNECT_TIMEOUT_MS = 5_000;

/** Milliseconds until the response headers arrive, for quick requests and for requests that transfer or copy bytes. */
export const QUICK_TIMEOUT_MS = 20_000;
export const LONG_TIMEOUT_MS = 10 * 60_000;

/** Idle milliseconds after which a connection counts as lost. A copy of gigabytes can take minutes. */
export const STALL_TIMEOUT_MS = 5 * 60_000;

/** The difference between the local clock and the store's clock. The store rejects signatures with a wrong time. */
export interface Clock {
  /** Returns by how many milliseconds the store's clock is ahead of the local clock. */
  offset(): number;
  /** Returns whether the local clock was set since the last response. The offset is then invalid until the next one. */
  isSetAnew(): boolean;
  /** Updates the offset from the headers of a response. */
  learn(headers: IncomingHttpHeaders): void;
}

/** Milliseconds from which a clock difference counts as an error. Stores accept up to 15 minutes. */
export const MAX_CLOCK_SKEW_MS = 4 * 60_000;

export function createClock(): Clock {
  let offset = 0;
  let last: { readonly date: string; readonly now: number; readonly uptime: number } | undefined;
  return {
    offset: () => offset,
    isSetAnew: () =>
      last !== undefined && Math.abs(Date.now() - last.now - (performance.now() - last.uptime)) >= MAX_CLOCK_SKEW_MS,
    learn({ date, age }) {
      // A response with an Age header comes from a cache, so its Date is old.
      if (date === undefined || age !== undefined) return;
      const now = Date.now();
      // Most responses repeat the same second. A repeated date matters only if the local clock was set in between.
      if (date === last?.date && Math.abs(now - last.now) < MAX_CLOCK_SKEW_MS) return;
      last = { date, now, uptime: performance.now() };
      const told = Date.parse(date) - now;
      if (!Number.isNaN(told)) offset = told;
    },
  };
}
