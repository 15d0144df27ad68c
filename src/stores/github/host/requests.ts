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

/** What the host answers. */
export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Body;
}

/** What each request is given beside its parameters. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly fetch: typeof fetch;
  readonly retries?: number;
  /** How often the same was sent before, as the client itself counts: see `wasRepeated`. */
  readonly retryCount?: number;
  readonly redirect?: 'manual';
  readonly parseSuccessResponseBody?: false;
}

/** How a request is to be sent. */
export interface How extends Cancellable {
  readonly effect: Asked['effect'];
  /** Which of the writing requests that wait for their turn goes first. */
  readonly urgency?: Urgency;
  /** Milliseconds. */
  readonly limit?: number;
  /** Whether the request can be sent once only, because its body is a stream. */
  readonly once?: boolean;
  /** Whether the body of a success is handed on as it arrives. */
  readonly streamsBody?: boolean;
}

/** How often a request is sent again because the repository was found under another name. */
const MAX_RENAMES = 3;

/** Redirects that a writing request follows one after the other, as many as browsers do. */
const MAX_REDIRECTS = 20;

/** The one way to ask the host: in its pace, within its quota, and wherever the repository is by now. */
export interface Asking {
  readonly client: Client;
  readonly quota: QuotaKeeper;
  /** The repository as it is called now, as every request has to name it. */
  here(): { readonly owner: string; readonly repo: string };
  /** Sends a request until it is answered; what the host refuses is thrown as it is. */
  ask<Body>(how: How, send: Send<Body>): Promise<Answer<Body>>;
  /** As `ask`, with the error that callers act on. */
  tell<Body>(how: How, send: Send<Body>): Promise<Body>;
  /** The error that stands for one that was thrown as it is. */
  translate(error: unknown, effect: Asked['effect']): unknown;
  /** Ends what still waits for its turn. */
  close(): void;
}

type Send<Body> = (request: RequestOptions) => Promise<Answer<Body>>;

export function createAsking(options: GitHubOptions): Asking {
  const { client, turn, close } = createClient(options);
  const quota = createQuotaKeeper(options.log);
  let here = { owner: options.owner, repo: options.repository };
  /** Whether requests are led on to elsewhere although the repository has its name: by a proxy, say. */
  let isLedOn = false;

  /**
   * After a redirect that could not be followed: returns where the repository was found under another name, so that the
   * request can be sent again. Throws an error that names the `Location` otherwise.
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

  /** A repository that was renamed: reads are led on by the host, writes are not. Gives whether it was. */
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

  /** As `findAgain`. What was written is written, also where the look for the name of the repository fails. */
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
            // The client comes back here each time that it tries again by itself.
            if (attempts++ > 0) options.log.retried();
            return quota.admit(deadline, signal);
          },
        ),
        ...(once && { retries: 0 }),
        // `fetch` turns a POST into a GET as it follows some redirects, and follows others to any origin.
        ...(effect === 'writes' && { redirect: 'manual' }),
      };
      await quota.admit(deadline, signal);
      if (effect === 'writes') await untilAborted(turn(urgency), signal);
      signal?.throwIfAborted();
      try {
        // It may wait for its turn, where nobody looks at the signal.
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

/** Whether an error is one of ours or of a request. Anything else is what the client throws for data that it can't read. */
function isFailure(error: unknown): boolean {
  return error instanceof StoreError || (error instanceof Error && 'status' in error);
}

/**
 * The same fetch, which follows 307 and 308 with method and body, within one origin, so that the token goes nowhere else
 * (RFC 9110, sections 15.4.8 and 15.4.9). A body that is a stream can't be sent twice. What can't be followed is returned.
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

/** The same fetch, which tells of each request. */
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

/** That a request may not be sent. By this name, the client knows that there is nothing to try again. */
class NotAdmitted extends Error {
  override readonly name = 'AbortError';
}

/** The same fetch, which waits until a request may be sent: also the second and third time, which the client decides. */
function admitted(send: typeof fetch, admit: () => Promise<void>): typeof fetch {
  return async (input, init) => {
    await admit().catch((cause: unknown) => {
      throw new NotAdmitted('The request may not be sent now.', { cause });
    });
    return send(input, init);
  };
}

/*
 * What is taken out of the host's answers. What does not have it is no answer of GitHub's.
 */

/** Whether this is the sha of an object. */
export function isSha(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}$/.test(value);
}

/** A URL of http or https as a header can hold it; undefined for every other value. */
export function webUrlIn(value: unknown): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/** The bytes of an answer, whose errors are what `translated` makes of them. */
export function bytesOf(body: ReadableStream<Uint8Array> | null, translated: (error: unknown) => unknown): Readable {
  const bytes = new PassThrough({
    destroy: (error, done) => done(error && asError(translated(error))),
  });
  // Whichever of the two ends early ends the other.
  pipeline(body ? Readable.fromWeb(body) : Readable.from([]), bytes, () => {});
  return bytes;
}
