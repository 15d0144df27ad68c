import http, { type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { asError } from '../model/error.ts';

/** A JSON response of the service. */
export interface Envelope {
  readonly success: boolean;
  readonly message?: string;
  /** Error code, see docs/reference/errors.md. */
  readonly code?: string;
  readonly error?: string;
}

/** A response. */
export interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The parsed JSON body, if it is an envelope of the service. Responses of a proxy have none. */
  readonly envelope: Envelope | undefined;
  /** Milliseconds from the request to each chunk of the body. */
  readonly arrivals: readonly number[];
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** `Content-Length` of the request. If the body is shorter, the request is left incomplete. */
  readonly length?: number;
  /** Sends the body without `Content-Length`, in chunks (RFC 9112, section 7.1). */
  readonly isChunked?: true;
  /** Keeps the connection for later requests. Default: each request has its own connection. */
  readonly agent?: Agent;
  readonly signal: AbortSignal;
}

/**
 * Sends a request with the path unchanged. Unlike `fetch`, it does not normalise the path, follow redirects or decode
 * the body. Accepts a response that arrives before the whole body was sent.
 */
export async function sendRequest(
  origin: string,
  target: string,
  { method = 'GET', headers, body, isChunked, length = body?.length, agent, signal }: RequestOptions,
): Promise<Response> {
  const { protocol, hostname, port } = new URL(origin);
  const { request } = protocol === 'https:' ? https : http;
  const began = performance.now();
  const sent = request({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    path: target,
    method,
    headers: { ...(length !== undefined && !isChunked && { 'content-length': String(length) }), ...headers },
    agent: agent ?? false,
    signal,
  });
  try {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    sent.once('response', resolve);
    sent.on('error', reject);
    if (isChunked || length !== body?.length) sent.write(body);
    if (isChunked) sent.end();
    else if (length === body?.length) sent.end(body);
    const response = await promise;
    const chunks: Buffer[] = [];
    const arrivals: number[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      arrivals.push(performance.now() - began);
    }
    const bytes = Buffer.concat(chunks);
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: bytes,
      envelope: envelopeIn(bytes),
      arrivals,
    };
  } catch (error) {
    throw signal.aborted ? asError(signal.reason) : error;
  } finally {
    if (agent === undefined || signal.aborted) sent.destroy();
  }
}

/** Returns the multipart body of an upload, and its media type. */
export function uploadForm(prefix: string, name: string, bytes: Buffer): { type: string; body: Buffer } {
  const boundary = 'holdall-doctor-holdall-doctor';
  const part = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`;
  const body = Buffer.concat([
    Buffer.from(`${part('name="prefix"')}${prefix}\r\n${part(`name="file"; filename="${name}"`)}`),
    bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return { type: `multipart/form-data; boundary=${boundary}`, body };
}

function envelopeIn(body: Buffer): Response['envelope'] {
  try {
    // In an NDJSON response, the envelope is the last line.
    const value: unknown = JSON.parse(body.toString().trimEnd().split('\n').at(-1) ?? '');
    const isEnvelope = typeof value === 'object' && value !== null && 'success' in value;
    return isEnvelope ? (value as Response['envelope']) : undefined;
  } catch {
    return undefined;
  }
}
