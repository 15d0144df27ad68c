import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { buffer } from 'node:stream/consumers';

/** One request: by default, a GET to this machine with a timeout of 30 seconds. */
export interface Request {
  readonly method?: 'GET' | 'POST' | 'DELETE' | 'PROPFIND';
  readonly url: URL;
  /** The permitted host of the URL, if it is not this machine. */
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly seconds?: number;
}

/** A raw response: redirects are not followed, and encodings are not decoded. */
export interface BenchResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Fetches a URL of this machine, as `send` does. */
export async function get(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<BenchResponse> {
  return await send({ url, headers }, signal);
}

/**
 * Sends a request on a connection of its own, so that it does not delay the shutdown of a server. Rejects without a response,
 * after the timeout, and for any host except the permitted one.
 */
export async function send(request: Request, signal: AbortSignal): Promise<BenchResponse> {
  const { method = 'GET', url, host, headers = {}, body, seconds = 30 } = request;
  requireHost(url, host);
  const ends = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]);
  const options: RequestOptions = { method, headers, agent: false, signal: ends };
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    open(url, options, resolve).on('error', reject).end(body);
  });
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

/** Throws for a URL of another host: a benchmark sends requests only to the configured hosts. */
export function requireHost(url: URL, host = '127.0.0.1'): void {
  if (url.hostname !== host) throw new Error(`${url.href} is not on ${host}`);
}
