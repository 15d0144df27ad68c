import { lookup as lookUp } from 'node:dns';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { parseRetryAfter } from '../model/dates.ts';
import { version } from '../system.ts';
import type { AddressPolicy } from './address-policy.ts';
import { signatureHeaders } from './signature.ts';
import type { Attempt, Webhook } from './webhook.ts';

/** Milliseconds for a whole attempt: the lookup, the connection, and the response with its body. */
const TIMEOUT_MS = 15_000;

/** Bytes of a response that are read. The rest is not received. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/** Characters of a response that are stored. */
const MAX_EXCERPT_LENGTH = 1000;

/** Maximum bytes of the headers of a response. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Resolves a host name to all its addresses, as `dns.lookup` with `all` does. */
export type Resolve = (
  host: string,
  callback: (error: Error | null, addresses: readonly { readonly address: string; readonly family: number }[]) => void,
) => void;

export interface SenderOptions {
  readonly addresses: AddressPolicy;
  readonly timeoutMs?: number;
  /** Default: the resolver of the system. */
  readonly resolve?: Resolve;
}

/** An attempt, with what the response asks for. */
export interface SentMessage extends Attempt {
  /** Seconds of `Retry-After`. */
  readonly retryAfter: number | undefined;
}

/** A message to send. */
export interface OutgoingMessage {
  readonly id: string;
  readonly body: string;
}

/** The error for an address that webhooks may not reach. */
class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/**
 * Sends messages to webhooks. Connects only to addresses that were checked: the host is resolved once for each connection,
 * and every address of the result must be allowed. Uses no proxy, no open connection of another request, and follows no
 * redirect.
 */
export class Sender {
  readonly #addresses: AddressPolicy;
  readonly #timeoutMs: number;
  readonly #resolve: Resolve;

  constructor({ addresses, timeoutMs = TIMEOUT_MS, resolve = resolveAll }: SenderOptions) {
    this.#addresses = addresses;
    this.#timeoutMs = timeoutMs;
    this.#resolve = resolve;
  }

  /** Sends a message once. Rejects only if `signal` aborts. */
  async send(webhook: Webhook, { id, body }: OutgoingMessage, signal?: AbortSignal): Promise<SentMessage> {
    const time = new Date();
    const began = performance.now();
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    try {
      const headers = signatureHeaders({ id, time, body }, webhook.secrets);
      const response = await this.#post(new URL(webhook.url), {
        headers,
        body,
        signal: AbortSignal.any([timeout, ...(signal ? [signal] : [])]),
      });
      const { status, excerpt, retryAfter } = response;
      const error = status >= 200 && status < 300 ? undefined : describeStatus(status);
      return { time, durationMs: performance.now() - began, response: { status, excerpt }, error, retryAfter };
    } catch (error) {
      signal?.throwIfAborted();
      const reason = timeout.aborted ? `No response within ${this.#timeoutMs / 1000} seconds.` : describeError(error);
      const durationMs = performance.now() - began;
      return { time, durationMs, response: undefined, error: reason, retryAfter: undefined };
    }
  }

  async #post(
    url: URL,
    { headers, body, signal }: { headers: Readonly<Record<string, string>>; body: string; signal: AbortSignal },
  ): Promise<{ status: number; excerpt: string; retryAfter: number | undefined }> {
    signal.throwIfAborted();
    const isSecure = url.protocol === 'https:';
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    // Without a host name, nothing is resolved.
    if (isIP(host) !== 0) this.#requireAllowed(host, [host], isSecure);
    const request = (isSecure ? https : http).request({
      host,
      port: url.port,
      path: url.pathname + url.search,
      method: 'POST',
      headers: {
        host: url.host,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': `Holdall/${version}`,
        ...headers,
      },
      agent: false,
      lookup: this.#lookup(isSecure),
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    });
    try {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      request.once('response', resolve);
      request.on('error', reject);
      request.end(body);
      const response = await promise;
      return {
        status: response.statusCode ?? 0,
        excerpt: excerptOf(await readStart(response)),
        retryAfter: parseRetryAfter(response.headers['retry-after'], response.headers.date),
      };
    } finally {
      request.destroy();
    }
  }

  /** Returns the function that resolves the host for one connection. The connection uses only its result. */
  #lookup(isSecure: boolean): LookupFunction {
    return (host, options, callback) => {
      this.#resolve(host, (error, addresses) => {
        const [first] = addresses ?? [];
        if (error || !first) return callback(error ?? new Error(`The host "${host}" has no address.`), '', 0);
        try {
          this.#requireAllowed(
            host,
            addresses.map(({ address }) => address),
            isSecure,
          );
        } catch (refusal) {
          return callback(refusal as Error, '', 0);
        }
        if (options.all) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      });
    };
  }

  #requireAllowed(host: string, addresses: readonly string[], isSecure: boolean): void {
    const refused = addresses.find((address) => !this.#addresses.isReachable(address));
    if (refused !== undefined) {
      throw new AddressRefused(
        `The host "${host}" has the private or reserved address ${refused}, which WEBHOOK_NETWORKS does not allow.`,
      );
    }
    if (isSecure || addresses.every((address) => this.#addresses.isAllowedPrivate(address))) return;
    throw new AddressRefused(`The host "${host}" is not in WEBHOOK_NETWORKS, so its URL must begin with https://.`);
  }
}

const resolveAll: Resolve = (host, callback) =>
  lookUp(host, { all: true }, (error, addresses) => callback(error, addresses));

/** Reads the first bytes of a body. Also returns what arrived before an error: the status of the response counts. */
async function readStart(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MAX_RESPONSE_BYTES) break;
    }
  } catch {
    // The endpoint has responded.
  }
  return Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES);
}

/** Returns the beginning of a body as text that can be stored and shown. */
function excerptOf(body: Buffer): string {
  // Databases and terminals don't accept all control characters.
  const text = body.toString().replace(/[^\t\n\x20-\u{10ffff}]/gu, '\ufffd');
  return text.slice(0, MAX_EXCERPT_LENGTH).toWellFormed();
}

function describeStatus(status: number): string {
  const isRedirect = status >= 300 && status < 400;
  return `The endpoint responded with ${status}.${isRedirect ? ' Redirects are not followed.' : ''}`;
}

/** Returns why there was no response, without internals except the code of the system. */
function describeError(error: unknown): string {
  if (error instanceof AddressRefused) return error.message;
  const cause = error instanceof AggregateError ? (error.errors as unknown[])[0] : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  return `The endpoint could not be reached (${code}).`;
}
