import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { get as httpGet } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** An answer as it came: redirects are not followed, encodings not undone. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * Fetches a URL of this machine on a connection of its own, which a server that stops need not wait for.
 * Rejects when nothing answers, after 30 seconds, and for any other machine's address.
 */
export async function get(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Answer> {
  requireLoopback(url);
  const ends = AbortSignal.any([signal, AbortSignal.timeout(30_000)]);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    httpGet(url, { headers, agent: false, signal: ends }, resolve).on('error', reject);
  });
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
}

/** Throws for a URL that leaves this machine: a benchmark sends nothing to anyone else. */
export function requireLoopback(url: URL): void {
  if (url.hostname !== '127.0.0.1') throw new Error(`${url.href} is not on 127.0.0.1`);
}
