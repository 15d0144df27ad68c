import { parseRetryAfter } from '../../../model/dates.ts';
import { quoted, StoreError } from '../../../model/error.ts';
import { networkProblem, RETRY_LATER_SECONDS, RETRY_SOON_SECONDS } from '../../network.ts';
import type { Headers } from './client.ts';

/** An answer of the host that is no success, as the client throws it. */
export interface Refusal extends Error {
  readonly status: number;
  readonly response: { readonly headers: Headers; readonly data: unknown };
}

/** What was asked, as far as an error has to say it. */
export interface Asked {
  readonly apiUrl: string;
  /** `owner/name` */
  readonly repository: string;
  readonly branch: string;
  readonly effect: 'reads' | 'writes';
  readonly hasToken: boolean;
}

/** The most bytes that a file of a repository may have (docs.github.com, "About large files on GitHub"). */
export const MAX_FILE = 100 * 1024 * 1024;

export function isRefusal(error: unknown, ...statuses: readonly number[]): error is Refusal {
  if (!(error instanceof Error && 'status' in error && 'response' in error && error.response)) return false;
  return statuses.length === 0 || statuses.includes(Number(error.status));
}

/**
 * Seconds for which the host wants to be left alone, if that is what a refusal says: docs.github.com, "Rate limits for
 * the REST API". 0 where the headers about the quota say it.
 */
export function limitOf(error: unknown): number | undefined {
  if (!isRefusal(error, 403, 429)) return undefined;
  const { headers } = error.response;
  const seconds = retryAfterOf(error);
  if (seconds !== undefined) return Math.max(1, seconds);
  if (String(headers['x-ratelimit-remaining']) === '0') return 0;
  // The documentation asks for a minute where nothing is said. Only a limit has the header, also one that can't be read.
  const isLimit = error.status === 429 || headers['retry-after'] !== undefined;
  return isLimit || /rate limit|abuse detection/i.test(error.message) ? 60 : undefined;
}

/** The seconds after which the host wants to be asked again, where it says so. */
function retryAfterOf({ response: { headers } }: Refusal): number | undefined {
  return parseRetryAfter(headers['retry-after'], headers['date']);
}

/** Whether the file was too large for the host: it says so with several statuses. */
export function isTooLarge(error: unknown): boolean {
  return isRefusal(error, 413) || (isRefusal(error, 403, 422) && /too.large/i.test(textOf(error)));
}

/** Whether the host does not take a list of edits to a tree: for one of them, or for their size. */
export function isRefusedTree(error: unknown): error is Refusal {
  return isRefusal(error, 422) || isTooLarge(error);
}

/** Whether a refusal to move a branch says that no commit can be put on it so: retries would change nothing. */
export function isForbidden(error: unknown): boolean {
  return (
    isRefusal(error) &&
    /protected|rule|permission|not accessible|hook declined|archived|pull request|review|status check|signature/i.test(
      textOf(error),
    )
  );
}

/** Whether a refusal says that a branch does not have the head any more that a commit follows. */
export function isOutrun(error: unknown): boolean {
  return isRefusal(error, 422) && /fast.?forward/i.test(error.message);
}

/** Whether a refusal says that a repository has no commit yet. */
export function isEmpty(error: unknown): boolean {
  return isRefusal(error, 409) && /empty/i.test(error.message);
}

/** Whether the outcome of a request is unknown: it may have been done although its answer was lost. */
export function isUncertain(error: unknown): boolean {
  return error instanceof Error && 'status' in error && Number(error.status) >= 500;
}

/** Whether a request that failed had been sent before, and may have been done then. */
export function wasRepeated(error: unknown): boolean {
  if (!isRefusal(error) || !('request' in error)) return false;
  const { request } = error as { request?: { request?: { retryCount?: number } } };
  return (request?.request?.retryCount ?? 0) > 0;
}

/**
 * The error that callers act on, for one of the client or the host. An error that an operator has to set right names the
 * setting to look at. A status that is not known here is `unavailable`, with the words of the host.
 */
export function toStoreError(error: unknown, asked: Asked): unknown {
  if (error instanceof StoreError) return error;
  if (isRefusal(error)) return ofAnswer(error, asked);
  if (isProxyAuthentication(error)) return fromProxy(407, asked.apiUrl, error);
  const host = { name: `The host of the repository at ${asked.apiUrl}`, setting: 'GITHUB_API_URL' };
  return networkProblem(error, host) ?? (isUncertain(error) ? unasked(error, host) : error);
}

/**
 * Whether a proxy demanded authentication: `fetch` gives no response for a 407, but a network error, in Node.js one without
 * a reason (fetch.spec.whatwg.org, "HTTP-network-or-cache fetch"), or, for a tunnel, an error with the status in its text.
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

/** A refusal that is not GitHub's, which always says why in JSON. */
function fromProxy(status: number, apiUrl: string, cause: unknown): StoreError {
  const reasons: Readonly<Record<number, string>> = {
    407: 'demands a username and password (407): allow this machine to pass without',
    413: 'refuses a body of this size (413): raise its limit',
  };
  const reason =
    reasons[status] ?? `answered ${status} without a message of GitHub: look at GITHUB_API_URL and at the proxy`;
  const kind = status === 413 ? 'too-large' : 'unavailable';
  return new StoreError(kind, `A proxy before the host of the repository at ${apiUrl} ${reason}.`, {
    cause,
    ...(kind === 'unavailable' && { retryAfter: RETRY_LATER_SECONDS }),
  });
}

/** Whether a refusal is GitHub's own: JSON with a message. */
function isGitHubs({ response: { data } }: Refusal): boolean {
  return typeof data === 'object' && data !== null && 'message' in data && typeof data.message === 'string';
}

/** What the client could not even ask: fetch refuses some ports, say. */
function unasked(cause: unknown, { name, setting }: { name: string; setting: string }): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `${name} can't be asked (${reason}): look at ${setting}.`;
  return new StoreError('unavailable', message, { cause, retryAfter: RETRY_LATER_SECONDS });
}

function ofAnswer(error: Refusal, asked: Asked): unknown {
  const { repository, branch, effect, apiUrl } = asked;
  const misset = (message: string) =>
    new StoreError('unavailable', message, { cause: error, retryAfter: RETRY_LATER_SECONDS });
  const denied = (message: string) => new StoreError('denied', message, { cause: error });
  if (limitOf(error) !== undefined) return limited(error);
  const isProxys = [400, 403, 407, 413].includes(error.status) && !isGitHubs(error);
  if (isProxys) return fromProxy(error.status, apiUrl, error);
  if (isTooLarge(error)) return tooLarge(error);
  switch (error.status) {
    case 401:
      return misset('The host of the repository does not take the token in GITHUB_TOKEN: it is wrong, or has expired.');
    case 403:
      if (/archived/i.test(error.message))
        return denied(`The repository ${repository} is archived: it can only be read.`);
      if (effect === 'writes') return denied(`${mayNotWrite(repository)} It says: ${quoted(error.message)}.`);
      return misset(
        `The host refuses ${repository} to the token in GITHUB_TOKEN, with these words: ${quoted(error.message)}.`,
      );
    case 404:
      // The host tells nobody that there is what they may not see, nor that they may not write to it.
      return effect === 'writes' ? denied(mayNotWrite(repository)) : misset(noRepository(asked));
    case 422:
      if (effect !== 'writes') break;
      return denied(`The host refuses the change to the branch ${branch}, with these words: ${quoted(error.message)}.`);
    case 451:
      return misset(`The repository ${repository} is not available for legal reasons.`);
  }
  if (error.status === 409) {
    const message = `The host of the repository refuses this for now, with these words: ${quoted(error.message)}.`;
    return new StoreError('unavailable', message, { cause: error, retryAfter: RETRY_SOON_SECONDS });
  }
  if (error.status >= 500 || error.status === 408) return busy(error);
  if (error.status < 400) return noHost(apiUrl, error);
  return misset(`The host of the repository at ${apiUrl} answered ${error.status}: ${quoted(error.message)}.`);
}

const mayNotWrite = (repository: string) =>
  `The token in GITHUB_TOKEN may not write to ${repository}: it needs the permission "Contents: read and write".`;

function noRepository({ repository, apiUrl, hasToken }: Asked): string {
  const message = `There is no repository ${repository} at ${apiUrl}`;
  return hasToken
    ? `${message}, or the token in GITHUB_TOKEN does not see it: look at GITHUB_OWNER, GITHUB_REPO and GITHUB_TOKEN.`
    : `${message} that is seen without a token: look at GITHUB_OWNER and GITHUB_REPO, or set GITHUB_TOKEN.`;
}

function busy(cause: Refusal): StoreError {
  const retryAfter = Math.max(1, retryAfterOf(cause) ?? RETRY_SOON_SECONDS);
  return new StoreError('unavailable', 'The host of the repository is busy or failing.', { cause, retryAfter });
}

function limited(cause: Refusal): StoreError {
  const message = 'The host of the repository takes no more requests for now.';
  return new StoreError('unavailable', message, { cause, retryAfter: limitOf(cause) || RETRY_SOON_SECONDS });
}

/** A file that the host does not take. */
export function tooLarge(cause?: unknown): StoreError {
  const said =
    cause === undefined
      ? `A file in a repository may have ${MAX_FILE} bytes (100 MB) at the most.`
      : `The host does not take a file of this size. It documents ${MAX_FILE} bytes (100 MB) as its limit, and takes less by its interface.`;
  return new StoreError('too-large', said, { cause });
}

/** The host redirects a request to where it can't be sent. The query of a URL may hold a secret. */
export function leadsElsewhere(apiUrl: string, location: URL | null): StoreError {
  if (!location) return noHost(apiUrl);
  const message = `${apiUrl} redirects requests to ${quoted(location.origin + location.pathname)}: look at GITHUB_API_URL.`;
  return new StoreError('unavailable', message, { retryAfter: RETRY_LATER_SECONDS });
}

/** What answers is something else than the interface of GitHub. */
export function noHost(apiUrl: string, cause?: unknown): StoreError {
  const message = `${apiUrl} does not answer as GitHub does: look at GITHUB_API_URL.`;
  return new StoreError('unavailable', message, { cause, retryAfter: RETRY_LATER_SECONDS });
}

/** All that a refusal says in words. The client gives large integers as `bigint`, which JSON does not have. */
function textOf({ message, response }: Refusal): string {
  const data = JSON.stringify(response.data, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return `${message} ${data}`;
}
