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
  /** The object that is asked for; the bucket as a whole where undefined. */
  readonly key?: Key;
  readonly query?: Query;
  /** Those that are undefined are left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** How a request is sent: what the client for S3 takes beside a command. */
export interface SendOptions {
  readonly abortSignal?: AbortSignal;
  /** Milliseconds until the head of the answer. */
  readonly requestTimeout: number;
}

/**
 * The way to ask a bucket without the client for S3, for what is asked often: signed here, sent over connections that are
 * kept, tried again as the client does.
 */
export interface Connection {
  /**
   * Asks, and has the answer read. Rejects with a `S3ErrorResponse`, or with what came in between. What `read` rejects with counts
   * as a failure of the request, which may be tried again.
   */
  ask<Answer>(
    question: S3Request,
    options: SendOptions,
    read: (response: IncomingMessage) => Promise<Answer>,
  ): Promise<Answer>;
  /** A URL by which whoever has it may ask so for `expires` seconds. */
  presign(question: Pick<S3Request, 'method' | 'key' | 'query'>, expires: number): Promise<string>;
  close(): void;
}

export interface ConnectionOptions {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  locate(): Promise<BucketEndpoint>;
  /** Told of each request that is sent again. */
  retried(): void;
  /** Told of each request that was sent. */
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
        // Not signed, as others on the way may change it.
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
      // Any answer tells the time, and a refusal too; nobody would say that a URL is of another.
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

/** A request as it goes over the wire. */
export interface TransportRequest {
  readonly method: string;
  /** With the query, escaped. */
  readonly target: string;
  /** `host` among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds until the head of the answer. */
  readonly timeout: number;
  /** Ends the request, and its answer as long as that is being read. */
  readonly signal?: AbortSignal | undefined;
}

/** Requests without a body to one origin, over connections that are kept. */
export interface HttpTransport {
  /**
   * Gives the answer when its head is there, whatever its status; redirects are not followed. Who gets it reads it to
   * the end or destroys it. Errors are those of Node.js, and a `TimeoutError` where nothing came in time.
   */
  send(request: TransportRequest): Promise<IncomingMessage>;
  /** Ends every connection. */
  close(): void;
}

/**
 * On `node:http` itself: of the 0.4 ms of CPU that the client for S3 takes to send one request and give its answer, 0.3
 * go into what it does around that.
 */
export function openHttpTransport(origin: string): HttpTransport {
  const { protocol, hostname, port } = new URL(origin);
  const { Agent, request } = protocol === 'https:' ? https : http;
  // A connection is kept by every client that reads slowly: none must wait for another's.
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

/** A connection that is new has to come about in its own time. */
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

/** Headers that hold UTF-8 are signed as such: over the wire go its bytes, which Node.js wants as one character each. */
function asBytes(headers: Readonly<Record<string, string>>): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    sent[name] = NON_ASCII.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value;
  }
  return sent;
}

const NON_ASCII = /[^\u0000-\u007f]/;

/** Milliseconds for a connection to come about. */
export const CONNECT_TIMEOUT_MS = 5_000;

/** Milliseconds until the head of an answer, for requests that are quickly done, and for those that move bytes. */
export const QUICK_TIMEOUT_MS = 20_000;
export const LONG_TIMEOUT_MS = 10 * 60_000;

/** Milliseconds of silence after which a connection counts as lost: a copy of gigabytes may take minutes. */
export const STALL_TIMEOUT_MS = 5 * 60_000;

/** By how much our time differs from the store's, which refuses what is signed by another. */
export interface Clock {
  /** Milliseconds that the store is ahead of us. */
  offset(): number;
  /** Whether our time was set since the store told its own, so that the offset is of no use until it tells again. */
  isSetAnew(): boolean;
  /** Told of the headers of each answer. */
  learn(headers: IncomingHttpHeaders): void;
}

/** Milliseconds by which two times differ that are not the same by any measure: stores bear 15 minutes. */
export const MAX_CLOCK_SKEW_MS = 4 * 60_000;

export function createClock(): Clock {
  let offset = 0;
  let last: { readonly date: string; readonly now: number; readonly uptime: number } | undefined;
  return {
    offset: () => offset,
    isSetAnew: () =>
      last !== undefined && Math.abs(Date.now() - last.now - (performance.now() - last.uptime)) >= MAX_CLOCK_SKEW_MS,
    learn({ date, age }) {
      // An answer with an age is one of a cache, and of an earlier time.
      if (date === undefined || age !== undefined) return;
      const now = Date.now();
      // Most answers tell the same second again, which tells something new where our clock was set meanwhile.
      if (date === last?.date && Math.abs(now - last.now) < MAX_CLOCK_SKEW_MS) return;
      last = { date, now, uptime: performance.now() };
      const told = Date.parse(date) - now;
      if (!Number.isNaN(told)) offset = told;
    },
  };
}
