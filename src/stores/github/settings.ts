import type { StoreLog } from '../network.ts';

/** Options of a GitHub store: the repository and branch, the credentials, and the form of commits. */
export interface GitHubOptions {
  /** Base URL of the REST API, without a trailing slash. */
  readonly apiUrl: string;
  readonly owner: string;
  readonly repository: string;
  readonly branch: string;
  /** Without a token, only public repositories can be read, at a low rate limit. */
  readonly token: string | undefined;
  /** Whether to create a missing branch from the default branch. */
  readonly createBranch: boolean;
  /** Whether the store is read-only, so that the token needs no write permission. */
  readonly readOnly: boolean;
  /** Seconds for which the last known state of the branch is used without a request. */
  readonly trust: number;
  /** Maximum seconds that a request waits for the rate limit to reset. */
  readonly quotaWait: number;
  /** Maximum write requests per minute. Unlimited if undefined. */
  readonly writesPerMinute: number | undefined;
  /** Title of commits. `{summary}` and `{count}` are replaced. */
  readonly commitMessage: string;
  /** Author of commits. Default: the owner of the token. */
  readonly author: { readonly name: string; readonly email: string } | undefined;
  /** Folder of the blob cache, and its maximum size in bytes. */
  readonly cache: { readonly folder: string; readonly size: number };
  readonly log: StoreLog;
  /** Milliseconds for which the first change waits for others, to share one commit. */
  readonly gatherFor?: number;
  /** Milliseconds before the first retry of a transient failure; the next two wait four and nine times as long. */
  readonly retryAfter?: number;
}
