import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { CONNECT_TIMEOUT, STALL } from './time-outs.ts';

/** A request as it goes over the wire. */
export interface WireRequest {
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
export interface Wire {
  /**
   * Gives the answer when its head is there, whatever its status; redirects are not followed. Who gets it reads it to
   * the end or destroys it. Errors are those of Node.js, and a `TimeoutError` where nothing came in time.
   */
  send(request: WireRequest): Promise<IncomingMessage>;
  /** Ends every connection. */
  close(): void;
}

/**
 * On `node:http` itself: of the 0.4 ms of CPU that the client for S3 takes to send one request and give its answer, 0.3
 * go into what it does around that.
 */
export function openWire(origin: string): Wire {
  const { protocol, hostname, port } = new URL(origin);
  const { Agent, request } = protocol === 'https:' ? https : http;
  // A connection is kept by every client that reads slowly: none must wait for another's.
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const to = { agent, host: hostname.replace(/^\[(.*)\]$/, '$1'), port, setHost: false, timeout: STALL };

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
        sent.on('timeout', () => end(timedOut(`Nothing came for ${STALL} ms.`)));
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
    const error = () => timedOut(`No connection came about within ${CONNECT_TIMEOUT} ms.`);
    const timer = setTimeout(() => sent.destroy(error()), CONNECT_TIMEOUT);
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
