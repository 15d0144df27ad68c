import { parseRetryAfter } from '../../../model/dates.ts';
import { quoted, StoreError, type StoreErrorCode } from '../../../model/error.ts';
import { LONG_RETRY_AFTER_SECONDS, networkProblem, SHORT_RETRY_AFTER_SECONDS } from '../../network.ts';
import type { ResponseHeaders } from './rate-limits.ts';

/** Whether a request reads or changes the repository. */
export type Effect = 'reads' | 'writes';

/** An error response to a request, from GitHub or from a proxy. Its message is GitHub's. */
export class ErrorResponse extends Error {
  override readonly name = 'ErrorResponse';
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly data: unknown;
  /** Whether the request was a retry. An earlier attempt might have succeeded. */
  readonly isRetry: boolean;

  constructor(
    message: string,
    { status, headers, data, isRetry }: Pick<ErrorResponse, 'status' | 'headers' | 'data' | 'isRetry'>,
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.data = data;
    this.isRetry = isRetry;
  }
}

/** A request without a response: the connection failed, or no response arrived in time. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
  readonly isRetry: boolean;

  constructor(cause: Error, isRetry: boolean) {
    super(cause.message, { cause });
    this.isRetry = isRetry;
  }
}

/** An error that Octokit throws for an error response, or without `response` for a failed request. */
interface OctokitError extends Error {
  readonly status: number;
  readonly response?: { readonly headers: ResponseHeaders; readonly data: unknown };
}

export function isOctokitError(error: unknown): error is OctokitError {
  return error instanceof Error && 'status' in error && typeof error.status === 'number';
}

/** The context of a failed request, for error messages. */
export interface RequestContext {
  readonly apiUrl: string;
  /** `owner/name` */
  readonly repository: string;
  readonly branch: string;
  readonly effect: Effect;
  readonly hasToken: boolean;
}

/** Maximum bytes of a file in a repository (docs.github.com, "About large files on GitHub"). */
export const MAX_FILE_BYTES = 100 * 1024 * 1024;

/** Returns whether an error is an error response, with one of the statuses if any are given. */
export function isErrorResponse(error: unknown, ...statuses: readonly number[]): error is ErrorResponse {
  return error instanceof ErrorResponse && (statuses.length === 0 || statuses.includes(error.status));
}

/** Returns whether a retry can succeed: GitHub failed or did not respond. */
export function isTransient(error: unknown): boolean {
  return isOutcomeUnknown(error) || isErrorResponse(error, 408);
}

/**
 * Returns the seconds to wait if an error is a rate limit (docs.github.com, "Rate limits for the REST API"), otherwise
 * undefined. Returns 0 if the quota headers contain the time.
 */
export function rateLimitSeconds(error: unknown): number | undefined {
  if (!isErrorResponse(error, 403, 429)) return undefined;
  const seconds = retryAfterSeconds(error);
  if (seconds !== undefined) return seconds;
  if (String(error.headers['x-ratelimit-remaining']) === '0') return 0;
  // GitHub documents a wait of one minute if the response gives no time. Only rate limits have `Retry-After`, so the
  // header counts even if it can't be parsed.
  const isLimit = error.status === 429 || error.headers['retry-after'] !== undefined;
  return isLimit || /rate limit|abuse detection/i.test(error.message) ? 60 : undefined;
}

/** Returns the seconds of `Retry-After`, at least 1; undefined if the error is no response with a valid one. */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (!isErrorResponse(error)) return undefined;
  const seconds = parseRetryAfter(error.headers['retry-after'], error.headers['date']);
  return seconds === undefined ? undefined : Math.max(1, seconds);
}

/** Returns whether GitHub rejected a file as too large. GitHub uses several statuses for it. */
export function isTooLarge(error: unknown): boolean {
  return isErrorResponse(error, 413) || (isErrorResponse(error, 403, 422) && /too.large/i.test(textOf(error)));
}

/** Returns whether GitHub rejected the edits of a tree, because one of them is invalid or all are too large. */
export function isRejectedTree(error: unknown): error is ErrorResponse {
  return isErrorResponse(error, 422) || isTooLarge(error);
}

/** Returns whether GitHub refused to move the branch because of a rule or permission. A retry would not help. */
export function isMoveForbidden(error: unknown): boolean {
  return (
    isErrorResponse(error) &&
    /protected|rule|permission|not accessible|hook declined|archived|pull request|review|status check|signature/i.test(
      textOf(error),
    )
  );
}

/** Returns whether GitHub refused to move the branch because the commit does not follow the current head. */
export function isNotFastForward(error: unknown): boolean {
  return isErrorResponse(error, 422) && /fast.?forward/i.test(error.message);
}

/** Returns whether an error means that the repository has no commits. */
export function isEmptyRepository(error: unknown): boolean {
  return isErrorResponse(error, 409) && /empty/i.test(error.message);
}

/** Returns whether the outcome of a request is unknown: GitHub might have applied it although the response was lost. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof NoResponse || (isErrorResponse(error) && isServerFailure(error.status));
}

/**
 * Returns whether a status reports a temporary failure of the server. 501 is permanent: the method is not supported.
 */
export const isServerFailure = (status: number): boolean => status >= 500 && status !== 501;

/** Returns whether a failed request was a retry. An earlier attempt might have succeeded. */
export function wasRetried(error: unknown): boolean {
  return (error instanceof ErrorResponse || error instanceof NoResponse) && error.isRetry;
}

/**
 * Converts an error of the client or of GitHub to a `StoreError`. An error that the operator must fix names the
 * setting. An unknown status becomes `unavailable` with GitHub's message.
 */
export function toStoreError(error: unknown, context: RequestContext): unknown {
  if (error instanceof StoreError) return error;
  if (isErrorResponse(error)) return fromErrorResponse(error, context);
  if (isProxyAuthentication(error)) return fromProxy(407, context.apiUrl, error);
  const host = { name: `GitHub at ${context.apiUrl}`, setting: 'GITHUB_API_URL' };
  return networkProblem(error, host) ?? (error instanceof NoResponse ? notSent(error, host) : error);
}

/**
 * Returns whether a proxy requires authentication. `fetch` reports a 407 as a network error (fetch.spec.whatwg.org,
 * "HTTP-network-or-cache fetch"). In Node.js, the error has no reason or, for a tunnel, the status in its message.
 */
function isProxyAuthentication(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (/proxy authentication required|proxy response \(407\)/i.test(current.message)) return true;
    const isSilent =
      current.message === 'fetch failed' && current.cause instanceof Error && current.cause.message === '';
    if (isSilent && !('code' in (current.cause as object))) return true;
  }
  return false;
}

/** Converts an error response that is not GitHub's. GitHub's own always contain a JSON message. */
function fromProxy(status: number, apiUrl: string, cause: unknown): StoreError {
  const reasons: Readonly<Record<number, string>> = {
    407: 'requires a username and password (407). Allow this machine without them',
    413: 'rejected a body of this size (413). Raise its limit',
  };
  const reason =
    reasons[status] ?? `returned ${status} without a message of GitHub. Check GITHUB_API_URL and the proxy`;
  const isBodyTooLarge = status === 413;
  const code = isBodyTooLarge ? 'too-large-for-store' : 'unexpected-store-response';
  return new StoreError(code, `A proxy in front of GitHub at ${apiUrl} ${reason}.`, {
    cause,
    ...(!isBodyTooLarge && { retryAfter: LONG_RETRY_AFTER_SECONDS }),
  });
}

/** Returns whether an error response is GitHub's own: JSON with a message. */
function hasGitHubMessage({ data }: ErrorResponse): boolean {
  return typeof data === 'object' && data !== null && 'message' in data && typeof data.message === 'string';
}

/** Converts the error of a request that the client could not send, for example to a port that `fetch` blocks. */
function notSent(cause: unknown, { name, setting }: { name: string; setting: string }): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `The request to ${name} could not be sent (${reason}). Check ${setting}.`;
  return new StoreError('store-misconfigured', message, { cause, retryAfter: LONG_RETRY_AFTER_SECONDS });
}

function fromErrorResponse(error: ErrorResponse, context: RequestContext): unknown {
  const { repository, branch, effect, apiUrl } = context;
  const misconfigured = (code: StoreErrorCode, message: string) =>
    new StoreError(code, message, { cause: error, retryAfter: LONG_RETRY_AFTER_SECONDS });
  const denied = (code: StoreErrorCode, message: string) => new StoreError(code, message, { cause: error });
  if (rateLimitSeconds(error) !== undefined) return limited(error);
  const isFromProxy = [400, 403, 407, 413].includes(error.status) && !hasGitHubMessage(error);
  if (isFromProxy) return fromProxy(error.status, apiUrl, error);
  if (isTooLarge(error)) return tooLarge(error);
  switch (error.status) {
    case 401:
      return misconfigured('token-rejected', 'GitHub rejected the token in GITHUB_TOKEN: it is wrong or has expired.');
    case 403:
      if (/archived/i.test(error.message))
        return denied('repository-archived', `The repository ${repository} is archived and read-only.`);
      if (effect === 'writes')
        return denied(
          'token-lacks-permission',
          `${mayNotWrite(repository)} GitHub's message: ${quoted(error.message)}.`,
        );
      return misconfigured(
        'token-rejected',
        `GitHub denied the token in GITHUB_TOKEN access to ${repository}: ${quoted(error.message)}.`,
      );
    case 404:
      // GitHub returns 404 instead of 403 for repositories that the token can't read or write.
      return effect === 'writes'
        ? denied('token-lacks-permission', mayNotWrite(repository))
        : misconfigured('repository-not-found', noRepository(context));
    case 422:
      if (effect !== 'writes') break;
      return denied(
        'branch-protected',
        `GitHub rejected the change to the branch ${branch}: ${quoted(error.message)}.`,
      );
    case 451:
      return misconfigured('store-misconfigured', `The repository ${repository} is not available for legal reasons.`);
  }
  if (error.status === 409) {
    const message = `GitHub reported a conflict: ${quoted(error.message)}. Send the request again.`;
    return new StoreError('store-busy', message, { cause: error, retryAfter: SHORT_RETRY_AFTER_SECONDS });
  }
  if (isServerFailure(error.status) || error.status === 408) return busy(error);
  if (error.status < 400) return notGitHub(apiUrl, error);
  return misconfigured(
    'unexpected-store-response',
    `GitHub at ${apiUrl} returned ${error.status}: ${quoted(error.message)}.`,
  );
}

const mayNotWrite = (repository: string) =>
  `The token in GITHUB_TOKEN can't write to ${repository}: it needs the permission "Contents: read and write".`;

function noRepository({ repository, apiUrl, hasToken }: RequestContext): string {
  const message = `The repository ${repository} does not exist at ${apiUrl}`;
  return hasToken
    ? `${message}, or the token in GITHUB_TOKEN can't read it. Check GITHUB_OWNER, GITHUB_REPO and GITHUB_TOKEN.`
    : `${message}, or it is private. Check GITHUB_OWNER and GITHUB_REPO, or set GITHUB_TOKEN.`;
}

function busy(cause: ErrorResponse): StoreError {
  const retryAfter = retryAfterSeconds(cause) ?? SHORT_RETRY_AFTER_SECONDS;
  return new StoreError('store-busy', 'GitHub is busy or failing.', { cause, retryAfter });
}

function limited(cause: ErrorResponse): StoreError {
  const message = "GitHub's rate limit is exceeded.";
  return new StoreError('quota-exhausted', message, {
    cause,
    retryAfter: rateLimitSeconds(cause) || SHORT_RETRY_AFTER_SECONDS,
  });
}

/** The error for a file that exceeds GitHub's limit. */
export function tooLarge(cause?: unknown): StoreError {
  const message =
    cause === undefined
      ? `A file in a repository can have at most ${MAX_FILE_BYTES} bytes (100 MB).`
      : `GitHub rejected a file of this size. Its documented limit is ${MAX_FILE_BYTES} bytes (100 MB); the limit of its API is lower.`;
  return new StoreError('too-large-for-store', message, { cause });
}

/** The error for a redirect that can't be followed. Omits the query of the URL, which might contain a secret. */
export function redirectError(apiUrl: string, location: URL | null): StoreError {
  if (!location) return notGitHub(apiUrl);
  const message = `${apiUrl} redirects requests to ${quoted(location.origin + location.pathname)}. Check GITHUB_API_URL.`;
  return new StoreError('unexpected-store-response', message, { retryAfter: LONG_RETRY_AFTER_SECONDS });
}

/** The error for a response that is not from the GitHub API. */
export function notGitHub(apiUrl: string, cause?: unknown): StoreError {
  const message = `${apiUrl} does not respond like the GitHub API. Check GITHUB_API_URL.`;
  return new StoreError('unexpected-store-response', message, { cause, retryAfter: LONG_RETRY_AFTER_SECONDS });
}

/**
 * Returns the message and the body of an error as text. The client parses large integers as `bigint`, which JSON does
 * not support.
 */
function textOf({ message, data }: ErrorResponse): string {
  const text = JSON.stringify(data, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return `${message} ${text}`;
}
