import { PassThrough, pipeline, Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { untilAborted } from '../../../concurrency/single-flight.ts';
import { asError, StoreError } from '../../../model/error.ts';
import type { Cancellable } from '../../../model/store.ts';
import { type RequestObserver, sendObserved } from '../../network.ts';
import type { GitHubOptions } from '../settings.ts';
import {
  type Client,
  createClient,
  createQuotaKeeper,
  type Headers,
  QUICK,
  type QuotaKeeper,
  timedFetch,
  type Urgency,
} from './client.ts';
import { type Asked, isRefusal, leadsElsewhere, limitOf, noHost, toStoreError } from './errors.ts';

/** A response of GitHub. */
export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Body;
}

/** Options of each request, besides its parameters. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly fetch: typeof fetch;
  readonly retries?: number;
  /** How often the request was sent before, under the name that the retry plugin uses: see `wasRepeated`. */
  readonly retryCount?: number;
  readonly redirect?: 'manual';
  readonly parseSuccessResponseBody?: false;
}

/** How to send a request. */
export interface How extends Cancellable {
  readonly effect: Asked['effect'];
  /** Priority among the write requests that wait for the throttle. */
  readonly urgency?: Urgency;
  /** Timeout in milliseconds. */
  readonly limit?: number;
  /** Whether the body is a stream, so that the request can't be retried. */
  readonly once?: boolean;
  /** Whether to stream the body of a successful response. */
  readonly streamsBody?: boolean;
}

/** Maximum retries of a request after the repository was renamed. */
const MAX_RENAMES = 3;

/** Maximum consecutive redirects of a write request, as in browsers. */
const MAX_REDIRECTS = 20;

/** Sends all requests to GitHub: throttles writes, respects the quota, and follows a renamed repository. */
export interface Asking {
  readonly client: Client;
  readonly quota: QuotaKeeper;
  /** The repository's current owner and name, for the parameters of every request. */
  here(): { readonly owner: string; readonly repo: string };
  /** Sends a request, and retries it when it is rate-limited. Throws the original error of GitHub. */
  ask<Body>(how: How, send: Send<Body>): Promise<Answer<Body>>;
  /** As `ask`, but returns the data and throws a `StoreError`. */
  tell<Body>(how: How, send: Send<Body>): Promise<Body>;
  /** Converts an error that was thrown unchanged to a `StoreError`. */
  translate(error: unknown, effect: Asked['effect']): unknown;
  /** Rejects the requests that wait for the write throttle. */
  close(): void;
}

type Send<Body> = (request: RequestOptions) => Promise<Answer<Body>>;

export function createAsking(options: GitHubOptions): Asking {
  const { client, turn, close } = createClient(options);
  const quota = createQuotaKeeper(options.log);
  let here = { owner: options.owner, repo: options.repository };
  /** Whether requests are redirected although the repository was not renamed, for example by a proxy. */
  let isLedOn = false;

  /**
   * Called after a redirect that could not be followed. Returns if the repository was found under a new name, so that
   * the request can be retried. Otherwise throws an error with the `Location`.
   */
  const requireRenamed = async (location: URL | null, { once, signal }: Pick<How, 'once' | 'signal'>) => {
    const isHere = location?.origin === new URL(options.apiUrl).origin;
    if (!isHere || !(await findAgain(signal))) throw leadsElsewhere(options.apiUrl, location);
    if (once)
      throw new StoreError('unavailable', 'The repository was renamed. Send the upload again.', { retryAfter: 1 });
  };

  const translated = (error: unknown, effect: Asked['effect']) =>
    toStoreError(error, {
      apiUrl: options.apiUrl,
      repository: `${here.owner}/${here.repo}`,
      branch: options.branch,
      effect,
      hasToken: options.token !== undefined,
    });

  /**
   * Looks up the repository's current name, and returns whether it changed. GitHub redirects reads of a renamed
   * repository, but not writes.
   */
  const findAgain = async (signal: AbortSignal | undefined): Promise<boolean> => {
    const request = {
      signal,
      fetch: telling(timedFetch({ timeout: QUICK }), options.log.asked),
    };
    const { data } = await client.rest.repos.get({ ...here, request });
    const fullName: unknown = data?.full_name;
    const [, owner, repo] = /^([\w.-]+)\/([\w.-]+)$/.exec(typeof fullName === 'string' ? fullName : '') ?? [];
    if (owner === undefined || repo === undefined) throw noHost(options.apiUrl);
    if (owner === here.owner && repo === here.repo) return false;
    options.log.warn('The repository has another name now: set GITHUB_OWNER and GITHUB_REPO to it.', {
      before: `${here.owner}/${here.repo}`,
      now: data.full_name,
    });
    here = { owner, repo };
    return true;
  };

  /** As `findAgain`, but returns true if the lookup fails after a write: the write itself succeeded. */
  const findAgainAfter = async (effect: Asked['effect'], signal: AbortSignal | undefined): Promise<boolean> => {
    try {
      return await findAgain(signal);
    } catch (error) {
      if (effect === 'writes') return true;
      throw error;
    }
  };

  const ask: Asking['ask'] = async (
    { effect, urgency = 'usual', signal, limit = QUICK, once = false, streamsBody = false },
    send,
  ) => {
    const deadline = Date.now() + options.quotaWait * 1000;
    let attempts = 0;
    let renames = 0;
    for (let sent = 0; ; sent++) {
      let elsewhere: URL | null = null;
      const request: RequestOptions = {
        ...(signal && { signal }),
        ...(sent > 0 && { retryCount: sent }),
        fetch: admitted(
          followWrites(
            telling(
              timedFetch({ timeout: limit, streamsBody, onRedirect: (url) => (elsewhere = url) }),
              options.log.asked,
            ),
            (url) => (elsewhere = url),
          ),
          () => {
            // The client calls `fetch` again for each retry of its own.
            if (attempts++ > 0) options.log.retried();
            return quota.admit(deadline, signal);
          },
        ),
        ...(once && { retries: 0 }),
        // `fetch` changes POST to GET for some redirects, and follows others to any origin.
        ...(effect === 'writes' && { redirect: 'manual' }),
      };
      await quota.admit(deadline, signal);
      if (effect === 'writes') await untilAborted(turn(urgency), signal);
      signal?.throwIfAborted();
      try {
        // The client may queue the request, and does not observe the signal while it is queued.
        const answer = await untilAborted(send(request), signal);
        quota.note(answer.headers);
        if (answer.status >= 200 && answer.status < 300) {
          if (elsewhere && !isLedOn) isLedOn = !(await findAgainAfter(effect, signal));
          return answer;
        }
        const location = URL.parse(String(answer.headers['location'] ?? ''), options.apiUrl);
        if (answer.status < 200 || renames++ >= MAX_RENAMES) throw leadsElsewhere(options.apiUrl, location);
        await requireRenamed(location, { once, signal });
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof NotAdmitted) throw error.cause;
        if (isRefusal(error)) quota.note(error.response.headers);
        if (!isFailure(error)) throw noHost(options.apiUrl, error);
        if (effect === 'writes' && elsewhere && isRefusal(error, 404, 405) && renames++ < MAX_RENAMES) {
          await requireRenamed(elsewhere, { once, signal });
          continue;
        }
        const seconds = limitOf(error);
        if (seconds === undefined) throw error;
        quota.hold(seconds);
        if (once) await quota.admit(Date.now(), signal);
      }
    }
  };

  return {
    client,
    quota,
    here: () => here,
    ask,

    async tell(how, send) {
      try {
        return (await ask(how, send)).data;
      } catch (error) {
        how.signal?.throwIfAborted();
        throw translated(error, how.effect);
      }
    },

    translate: translated,
    close,
  };
}

/**
 * Returns whether an error is a `StoreError` or has a status. The client throws any other error for data that it can't
 * parse.
 */
function isFailure(error: unknown): boolean {
  return error instanceof StoreError || (error instanceof Error && 'status' in error);
}

/**
 * Returns a `fetch` that follows 307 and 308 with method and body (RFC 9110, sections 15.4.8 and 15.4.9). It follows
 * them only within the origin, so that the token is not sent elsewhere. A streamed body can't be sent twice. A redirect
 * that can't be followed is returned.
 */
function followWrites(send: typeof fetch, onRedirect: (url: URL) => void): typeof fetch {
  return async (input, init) => {
    if (init?.redirect !== 'manual') return send(input, init);
    let url = new URL(input instanceof Request ? input.url : input);
    for (let redirects = 0; ; redirects++) {
      const response = await send(url, init);
      const canFollow = [307, 308].includes(response.status) && redirects < MAX_REDIRECTS;
      const location = canFollow ? URL.parse(response.headers.get('location') ?? '', url) : null;
      const canResend = typeof (init.body ?? '') === 'string';
      if (!canResend || location?.origin !== url.origin || location.href === url.href) return response;
      url = location;
      onRedirect(url);
    }
  };
}

/** Returns a `fetch` that reports each request to the observer. */
function telling(send: typeof fetch, asked: RequestObserver | undefined): typeof fetch {
  return (input, init) => {
    const { method = 'GET' } = init ?? {};
    const url = input instanceof Request ? input.url : String(input);
    return sendObserved(
      asked,
      { method, url },
      () => send(input, init),
      ({ status, headers }) => ({
        status,
        backendId: headers.get('x-github-request-id') ?? undefined,
        remaining: headers.get('x-ratelimit-remaining') ?? undefined,
      }),
    );
  };
}

/** The quota does not admit a request. The client does not retry an error with this name. */
class NotAdmitted extends Error {
  override readonly name = 'AbortError';
}

/** Returns a `fetch` that awaits `admit` before each attempt, including the client's own retries. */
function admitted(send: typeof fetch, admit: () => Promise<void>): typeof fetch {
  return async (input, init) => {
    await admit().catch((cause: unknown) => {
      throw new NotAdmitted('The request may not be sent now.', { cause });
    });
    return send(input, init);
  };
}

/*
 * Validation of response data. A response without valid data is not GitHub's.
 */

/** Returns whether a value is the SHA of an object. */
export function isSha(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);
}

/** Returns an http or https URL in a form that is valid in a header; undefined for every other value. */
export function webUrlIn(value: unknown): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/** Returns a response body as a stream. `translated` converts its errors. */
export function bytesOf(body: ReadableStream<Uint8Array> | null, translated: (error: unknown) => unknown): Readable {
  const bytes = new PassThrough({
    destroy: (error, done) => done(error && asError(translated(error))),
  });
  // Destroys each stream when the other one ends early.
  pipeline(body ? Readable.fromWeb(body) : Readable.from([]), bytes, () => {});
  return bytes;
}
