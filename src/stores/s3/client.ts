import type { IncomingHttpHeaders } from 'node:http';
import type { Cancellable } from '../../model/store.ts';
import type { BackendResponse } from '../../observability/tracer.ts';
import { type RequestObserver, sendObserved } from '../network.ts';
import type { CredentialCache, Credentials } from './credentials.ts';
import type { BucketEndpoint } from './endpoint.ts';
import { type RequestContext, readErrorResponse, requestIdOf, S3ErrorResponse, toStoreError } from './errors.ts';
import { encodeKey, type Key, type KeyPrefix, toFullKey } from './keys.ts';
import { RetryPolicy } from './retry.ts';
import { isSameByAllRules, payloadHash, type Query, queryString, Signer, type SpaceRule } from './signature.ts';
import { type HttpRequest, type HttpResponse, HttpTransport } from './transport.ts';

/** A request to the bucket or to one of its objects. */
export interface S3Request<Result> extends Cancellable {
  readonly method: HttpRequest['method'];
  /** The requested object; undefined for the whole bucket. */
  readonly key?: Key;
  readonly query?: Query;
  /** Headers with an undefined value are omitted. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: Buffer;
  /** Milliseconds until the response headers arrive. Default: `S3ClientOptions.timeoutMs` */
  readonly timeoutMs?: number;
  /** Maximum size of a buffered response body in bytes. Default: `MAX_RESPONSE_BYTES` */
  readonly maxBytes?: number;
  /** Whether a larger response body is a stream instead of an error. */
  readonly isStreamed?: boolean;
  /** Parses a success response. An error that it throws fails the request, which can be retried. */
  parse(response: HttpResponse): Result;
}

/** Milliseconds until the response headers arrive, for quick requests and for requests that transfer or copy bytes. */
export const DEFAULT_TIMEOUT_MS = 20_000;
export const LONG_TIMEOUT_MS = 10 * 60_000;

/** Maximum bytes of a response without content or listing. */
const MAX_RESPONSE_BYTES = 64 * 2 ** 10;

export interface S3ClientOptions extends KeyPrefix {
  /** The settings that error messages name. */
  readonly context: Omit<RequestContext, 'key'>;
  readonly target: BucketEndpoint;
  readonly credentials: CredentialCache;
  /** Milliseconds until the headers of the response to a quick request arrive. */
  readonly timeoutMs: number;
  /** Called for each retry. */
  readonly onRetry: () => void;
  /** Observes each HTTP request. */
  readonly onRequest: RequestObserver | undefined;
}

/** Signs, sends and retries all requests to one bucket. */
export class S3Client {
  readonly #options: S3ClientOptions;
  readonly #transport: HttpTransport;
  readonly #signer: Signer;
  readonly #retries: RetryPolicy;
  readonly #clock = new Clock();
  /** The rule of the store, as far as it is known. */
  #spaces: SpaceRule = 'ascii';

  constructor(options: S3ClientOptions) {
    this.#options = options;
    this.#transport = new HttpTransport(options.target.origin);
    this.#signer = new Signer(options.target.region);
    this.#retries = new RetryPolicy(options.onRetry);
  }

  /** Sends a request. Throws a `StoreError` for expected errors, or the abort reason of the signal. */
  async send<Result>(request: S3Request<Result>): Promise<Result> {
    const { signal } = request;
    signal?.throwIfAborted();
    const knownSpaces = this.#spaces;
    let spaces = knownSpaces;
    for (let attempt = 1, cost = 0, rejected: Credentials | undefined; ; attempt++) {
      let credentials: Credentials | undefined;
      try {
        // Without a promise in the usual case, because this is on the path of every request.
        const found = this.#options.credentials.get();
        credentials = found instanceof Promise ? await found : found;
        const result = request.parse(await this.#sendOnce(request, credentials, spaces));
        this.#retries.recordSuccess(cost);
        if (spaces !== knownSpaces) this.#spaces = spaces;
        return result;
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof S3ErrorResponse) error.attempts = attempt;
        if (credentials && !rejected && isExpired(error) && this.#options.credentials.invalidate(credentials)) {
          rejected = credentials;
          continue;
        }
        if (spaces === knownSpaces && mayDependOnSpaces(error, headersOf(request, this.#options.target))) {
          spaces = spaces === 'ascii' ? 'unicode' : 'ascii';
          continue;
        }
        cost = await this.#retries.waitForRetry(error, attempt, signal);
        if (cost === 0) throw this.#toStoreError(error, request.key);
      }
    }
  }

  async #sendOnce(request: S3Request<unknown>, credentials: Credentials, spaces: SpaceRule): Promise<HttpResponse> {
    const {
      method,
      key,
      query = {},
      body,
      signal,
      timeoutMs = this.#options.timeoutMs,
      maxBytes = MAX_RESPONSE_BYTES,
    } = request;
    const { target, onRequest } = this.#options;
    const path = this.#pathOf(key);
    const headers = headersOf(request, target);
    const clockOffset = this.#clock.offset;
    const signable = { method, path, query, headers };
    const signed = this.#signer.sign(signable, payloadHash(body), credentials, Date.now() + clockOffset, spaces);
    // The user agent is not signed, because proxies might change it.
    signed['user-agent'] = 'holdall';
    const search = queryString(query);
    const stream = request.isStreamed
      ? { toStreamError: (error: Error) => this.#toStoreError(error, key) as Error }
      : undefined;
    const send = () =>
      this.#transport.send({
        method,
        target: search === '' ? path : `${path}?${search}`,
        headers: signed,
        body,
        timeoutMs,
        signal,
        maxBytes,
        stream,
      });
    const response = await sendObserved(onRequest, { method, url: target.origin + path }, send, observedResponse);
    this.#clock.update(response.headers);
    if (response.status < 300) return response;
    const isClockCorrected = Math.abs(this.#clock.offset - clockOffset) >= MAX_CLOCK_SKEW_MS;
    throw readErrorResponse(response, { isClockCorrected });
  }

  /**
   * Returns a presigned URL for the request, valid for `expires` seconds, or less if temporary credentials expire
   * earlier. The request must have exactly these headers.
   */
  async presign({ method, key, query = {}, headers }: PresignRequest, expires: number): Promise<string> {
    const { target } = this.#options;
    const path = this.#pathOf(key);
    // A presigned URL with a wrong time fails only at the client. Any response, even an error, contains the time of
    // the store.
    if (this.#clock.wasReset()) await this.send({ method: 'HEAD', parse: () => {} }).catch(() => {});
    const credentials = await this.#options.credentials.get();
    const validSeconds = Math.floor(
      ((credentials.expiration?.getTime() ?? Number.POSITIVE_INFINITY) - Date.now()) / 1000,
    );
    const signable = { method, path, query, headers: { host: target.host, ...headers } };
    const time = Date.now() + this.#clock.offset;
    const search = this.#signer.presign(signable, Math.min(expires, Math.max(validSeconds, 1)), credentials, time);
    return `${target.origin}${path}?${search}`;
  }

  close(): void {
    this.#transport.close();
  }

  /** Returns the percent-encoded path of an object, or of the bucket if `key` is undefined. */
  #pathOf(key: Key | undefined): string {
    const { path } = this.#options.target;
    if (key !== undefined) return path + encodeKey(toFullKey(this.#options, key));
    return path === '/' ? path : path.slice(0, -1);
  }

  #toStoreError(error: unknown, key: Key | undefined): unknown {
    return toStoreError(error, { ...this.#options.context, key });
  }
}

/** A request that another client sends. The names of headers are in lower case. */
interface PresignRequest extends Pick<S3Request<unknown>, 'method' | 'key' | 'query'> {
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns whether the store rejected temporary credentials as expired. */
const isExpired = (error: unknown): boolean =>
  error instanceof S3ErrorResponse && (error.code === 'ExpiredToken' || error.code === 'InvalidToken');

/** Returns whether the store rejected a signature that is another one under the other rule for spaces in headers. */
const mayDependOnSpaces = (error: unknown, headers: Readonly<Record<string, string>>): boolean =>
  error instanceof S3ErrorResponse && error.code === 'SignatureDoesNotMatch' && !isSameByAllRules(headers);

/** Returns the headers of a request before it is signed. */
function headersOf(request: S3Request<unknown>, { host }: BucketEndpoint): Record<string, string> {
  const headers: Record<string, string> = { host };
  for (const name in request.headers) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

/** Returns the status and the request id of a response, for the trace. */
const observedResponse = ({ status, headers }: HttpResponse): BackendResponse => ({
  status,
  backendId: requestIdOf(headers),
});

/** Milliseconds from which a clock difference counts as an error. Stores accept up to 15 minutes. */
const MAX_CLOCK_SKEW_MS = 4 * 60_000;

/** The difference between the local clock and the store's clock. The store rejects signatures with a wrong time. */
class Clock {
  /** Milliseconds by which the store's clock is ahead of the local clock. */
  offset = 0;
  #last: { readonly date: string; readonly now: number; readonly uptime: number } | undefined;

  /** Returns whether the local clock was set since the last response. The offset is then invalid until the next one. */
  wasReset(): boolean {
    const last = this.#last;
    if (last === undefined) return false;
    return Math.abs(Date.now() - last.now - (performance.now() - last.uptime)) >= MAX_CLOCK_SKEW_MS;
  }

  /** Updates the offset from the headers of a response. */
  update({ date, age }: IncomingHttpHeaders): void {
    // A response with an Age header comes from a cache, so its Date is old.
    if (date === undefined || age !== undefined) return;
    const now = Date.now();
    // Most responses repeat the same second. A repeated date matters only if the local clock was set in between.
    if (date === this.#last?.date && Math.abs(now - this.#last.now) < MAX_CLOCK_SKEW_MS) return;
    this.#last = { date, now, uptime: performance.now() };
    const offset = Date.parse(date) - now;
    if (!Number.isNaN(offset)) this.offset = offset;
  }
}
