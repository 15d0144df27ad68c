import { Octokit } from '@octokit/core';
import { createSemaphore } from '../../../concurrency/semaphore.ts';
import { StoreError } from '../../../model/error.ts';
import type { Cancellable } from '../../../model/store.ts';
import { version } from '../../../system.ts';
import type { GitHubOptions } from '../settings.ts';
import {
  type Effect,
  ErrorResponse,
  isErrorResponse,
  isOctokitError,
  isTransient,
  NoResponse,
  notGitHub,
  rateLimitSeconds,
  redirectError,
  retryAfterSeconds,
  toStoreError,
} from './errors.ts';
import { followingWrites, observedFetch, REQUEST_TIMEOUT_MS, timedFetch } from './fetch.ts';
import {
  QuotaTracker,
  type ResponseHeaders,
  type WritePriority,
  WriteThrottle,
  waitUnlessClosing,
} from './rate-limits.ts';

/** Maximum concurrent requests that GitHub allows (docs.github.com, "Rate limits for the REST API"). */
const MAX_CONCURRENT_REQUESTS = 100;

/** Maximum attempts of a request that fails temporarily. */
const MAX_ATTEMPTS = 4;

/** Milliseconds before the first retry of a temporary failure; the next two wait four and nine times as long. */
const RETRY_DELAY_MS = 250;

/** Maximum retries of a request after the repository was renamed. */
const MAX_RENAMES = 3;

/** A response of GitHub. */
export interface GitHubResponse<Body> {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly data: Body;
}

/** How to send a request. */
export interface SendOptions extends Cancellable {
  readonly effect: Effect;
  /** Priority among the write requests that wait for the throttle. Default: `normal` */
  readonly priority?: WritePriority;
  /** Default: `REQUEST_TIMEOUT_MS` */
  readonly timeoutMs?: number;
  /** Whether the request body is a stream, so that the request can't be retried. */
  readonly hasStreamBody?: boolean;
  /** Whether to stream the body of a successful response. */
  readonly streamsResponse?: boolean;
}

/** Parameters of every request: the repository's current name, and how Octokit sends the request. */
export interface BaseParameters {
  readonly owner: string;
  readonly repo: string;
  readonly request: { readonly signal?: AbortSignal; readonly fetch: typeof fetch; readonly redirect?: 'manual' };
}

/** Calls an endpoint with Octokit. */
export type Call<Body> = (base: BaseParameters) => Promise<GitHubResponse<Body>>;

/** State of one request over all its attempts. */
interface RequestState {
  /** When to stop waiting for the rate limit, in milliseconds of `Date.now`. */
  readonly deadline: number;
  attempts: number;
  failures: number;
  renames: number;
}

/**
 * Sends all requests to GitHub: limits their number, respects the quota, retries what fails temporarily, and follows a
 * renamed repository.
 */
export class GitHubClient {
  readonly quota: QuotaTracker;
  readonly octokit: Octokit;
  readonly #options: GitHubOptions;
  readonly #writeThrottle: WriteThrottle | undefined;
  readonly #closing = new AbortController();
  readonly #slots = createSemaphore({
    limit: MAX_CONCURRENT_REQUESTS,
    maxWaiting: Number.POSITIVE_INFINITY,
    busyMessage: 'Too many requests to GitHub',
  });
  #owner: string;
  #repo: string;
  /** Whether requests are redirected although the repository was not renamed, for example by a proxy. */
  #hasOtherRedirects = false;

  constructor(options: GitHubOptions) {
    const { apiUrl, token, owner, repository, writesPerMinute, log } = options;
    this.#options = options;
    this.#owner = owner;
    this.#repo = repository;
    this.quota = new QuotaTracker(log, this.#closing.signal);
    this.#writeThrottle = writesPerMinute === undefined ? undefined : new WriteThrottle(writesPerMinute);
    // Octokit logs deprecated endpoints, for example.
    const warn = (message: string) => log.warn(message, {});
    this.octokit = new Octokit({
      baseUrl: apiUrl,
      auth: token,
      userAgent: `holdall/${version}`,
      log: { debug: () => {}, info: () => {}, warn, error: warn },
    });
  }

  /** Returns `owner/name`, updated when the repository is renamed. */
  repository(): string {
    return `${this.#owner}/${this.#repo}`;
  }

  /**
   * Sends a request, and retries it when it is rate-limited, fails temporarily, or the repository was renamed. Throws
   * an `ErrorResponse`, a `NoResponse`, or a `StoreError` if GitHub can't be used. Rejects with the abort reason of the
   * signal.
   */
  async send<Body>(options: SendOptions, call: Call<Body>): Promise<GitHubResponse<Body>> {
    const deadline = Date.now() + this.#options.quotaWait * 1000;
    const state: RequestState = { deadline, attempts: 0, failures: 0, renames: 0 };
    for (;;) {
      try {
        return await this.#attempt(options, call, state);
      } catch (error) {
        options.signal?.throwIfAborted();
        await this.#prepareRetry(error, options, state);
      }
    }
  }

  /** Converts an error of `send` to a `StoreError`. */
  translate(error: unknown, effect: Effect): unknown {
    const { apiUrl, branch, token } = this.#options;
    const hasToken = token !== undefined;
    return toStoreError(error, { apiUrl, repository: this.repository(), branch, effect, hasToken });
  }

  /** Rejects the requests that wait for the quota or for a retry, and all later ones that would have to. */
  stopWaiting(): void {
    this.#closing.abort();
  }

  /** Rejects all requests that wait, also for the write throttle. */
  close(): void {
    this.stopWaiting();
    this.#writeThrottle?.close();
  }

  async #attempt<Body>(options: SendOptions, call: Call<Body>, state: RequestState): Promise<GitHubResponse<Body>> {
    const { effect, priority = 'normal', signal } = options;
    await this.quota.admit(state.deadline, signal);
    if (effect === 'writes') await this.#writeThrottle?.acquire(priority, signal);
    const release = await this.#slots.acquire(signal);
    let redirectedTo: URL | null = null;
    const onRedirect = (url: URL) => {
      redirectedTo = url;
    };
    try {
      // The quota might have been exhausted while this request waited.
      await this.quota.admit(state.deadline, signal);
      if (++state.attempts > 1) this.#options.log.onRetry();
      const response = await call(this.#parameters(options, onRedirect));
      this.quota.update(response.headers);
      if (response.status >= 300) throw new UnfollowedRedirect(locationOf(response, this.#options.apiUrl));
      if (redirectedTo && !this.#hasOtherRedirects) await this.#learnName(effect, signal);
      return response;
    } catch (error) {
      const failure = this.#toRequestError(error, state.attempts > 1);
      // GitHub redirects writes of a renamed repository to a URL that does not accept them.
      const mayBeRenamed = effect === 'writes' && redirectedTo && isErrorResponse(failure, 404, 405);
      throw mayBeRenamed ? new UnfollowedRedirect(redirectedTo, failure) : failure;
    } finally {
      release();
    }
  }

  #parameters(options: SendOptions, onRedirect: (url: URL) => void): BaseParameters {
    const { effect, timeoutMs = REQUEST_TIMEOUT_MS, streamsResponse = false, signal } = options;
    const send = timedFetch({ timeout: timeoutMs, streamsBody: streamsResponse, onRedirect });
    return {
      owner: this.#owner,
      repo: this.#repo,
      request: {
        ...(signal && { signal }),
        fetch: followingWrites(observedFetch(send, this.#options.log.onRequest), onRedirect),
        // `fetch` changes POST to GET for some redirects, and follows others to any origin.
        ...(effect === 'writes' && { redirect: 'manual' }),
      },
    };
  }

  /** Resolves when a failed request can be sent again; throws the error if a retry would not help. */
  async #prepareRetry(error: unknown, options: SendOptions, state: RequestState): Promise<void> {
    const { hasStreamBody = false, signal } = options;
    if (error instanceof UnfollowedRedirect) return this.#followRename(error, options, state);
    const seconds = rateLimitSeconds(error);
    if (seconds !== undefined) {
      this.quota.pause(seconds);
      if (hasStreamBody) throw this.quota.exceededError();
      return;
    }
    state.failures++;
    if (!isTransient(error) || hasStreamBody || state.failures === MAX_ATTEMPTS) throw error;
    const { retryAfter: baseDelayMs = RETRY_DELAY_MS } = this.#options;
    const requestedMs = (retryAfterSeconds(error) ?? 0) * 1000;
    if (requestedMs > 0 && Date.now() + requestedMs > state.deadline) throw error;
    const delayMs = Math.max(baseDelayMs * state.failures ** 2, requestedMs);
    await waitUnlessClosing(delayMs, { signal, closing: this.#closing.signal });
  }

  /** Converts an error of Octokit, and records the quota of an error response. */
  #toRequestError(error: unknown, isRetry: boolean): unknown {
    const isConverted = [StoreError, UnfollowedRedirect, ErrorResponse, NoResponse].some(
      (type) => error instanceof type,
    );
    if (isConverted) return error;
    // Octokit throws errors without a status for data that it can't parse.
    if (!isOctokitError(error)) return notGitHub(this.#options.apiUrl, error);
    if (!error.response) return new NoResponse(error, isRetry);
    this.quota.update(error.response.headers);
    return new ErrorResponse(error.message, { ...error.response, status: error.status, isRetry });
  }

  /** Resolves if the repository was found under a new name. Otherwise throws an error with the `Location`. */
  async #followRename({ location, cause }: UnfollowedRedirect, options: SendOptions, state: RequestState) {
    const { apiUrl } = this.#options;
    const isSameHost = location?.origin === new URL(apiUrl).origin;
    if (state.renames++ === MAX_RENAMES) throw cause ?? redirectError(apiUrl, location);
    if (!isSameHost || !(await this.#findName(options.signal))) throw redirectError(apiUrl, location);
    if (!options.hasStreamBody) return;
    throw new StoreError('store-busy', 'The repository was renamed during the upload. Send the upload again.', {
      retryAfter: 1,
    });
  }

  /** Looks up the repository's name after a redirected request. A write has succeeded, even if the lookup fails. */
  async #learnName(effect: Effect, signal: AbortSignal | undefined): Promise<void> {
    try {
      this.#hasOtherRedirects = !(await this.#findName(signal));
    } catch (error) {
      if (effect === 'reads') throw error;
    }
  }

  /**
   * Looks up the repository's current name, and returns whether it changed. GitHub redirects reads of a renamed
   * repository, but not writes.
   */
  async #findName(signal: AbortSignal | undefined): Promise<boolean> {
    const base = this.#parameters({ effect: 'reads', ...(signal && { signal }) }, () => {});
    const { data } = await this.octokit.request('GET /repos/{owner}/{repo}', { ...base }).catch((error: unknown) => {
      throw this.#toRequestError(error, false);
    });
    const fullName: unknown = data?.full_name;
    const [, owner, repo] = /^([\w.-]+)\/([\w.-]+)$/.exec(typeof fullName === 'string' ? fullName : '') ?? [];
    if (owner === undefined || repo === undefined) throw notGitHub(this.#options.apiUrl);
    if (owner === this.#owner && repo === this.#repo) return false;
    this.#options.log.warn('The repository was renamed. Set GITHUB_OWNER and GITHUB_REPO.', {
      before: this.repository(),
      now: fullName,
    });
    this.#owner = owner;
    this.#repo = repo;
    return true;
  }
}

/** A redirect of a write request that could not be followed. The repository might have been renamed. */
class UnfollowedRedirect extends Error {
  override readonly name = 'UnfollowedRedirect';
  readonly location: URL | null;

  constructor(location: URL | null, cause?: unknown) {
    super('The request was redirected.', { cause });
    this.location = location;
  }
}

const locationOf = ({ headers }: GitHubResponse<unknown>, apiUrl: string) =>
  URL.parse(String(headers['location'] ?? ''), apiUrl);
