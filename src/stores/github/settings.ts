import type { StoreLog } from '../network.ts';

/** Which branch of which repository, who we are to its host, and how commits are to look. */
export interface GitHubOptions {
  /** The address of the host's REST interface, without a `/` at its end. */
  readonly apiUrl: string;
  readonly owner: string;
  readonly repository: string;
  readonly branch: string;
  /** Without one, only public repositories are read, and those seldom. */
  readonly token: string | undefined;
  /** Whether a branch that is not there is made, from the default branch. */
  readonly createBranch: boolean;
  /** Whether nothing will be written, so that the token need not be able to. */
  readonly readOnly: boolean;
  /** Seconds for which the branch is believed to be as it was last seen. */
  readonly trust: number;
  /** Seconds for which a request waits at the most when the host takes no more of them. */
  readonly quotaWait: number;
  /** How many writing requests are sent in a minute at the most; unlimited where undefined. */
  readonly writesPerMinute: number | undefined;
  /** The first line of commits, with `{summary}` and `{count}` in it. */
  readonly commitMessage: string;
  /** Who commits are by; whom the token belongs to where undefined. */
  readonly author: { readonly name: string; readonly email: string } | undefined;
  /** Where files that were read are kept, and how many bytes of them. */
  readonly cache: { readonly folder: string; readonly size: number };
  readonly log: StoreLog;
  /** Milliseconds for which the first change waits for others to go out with. */
  readonly gatherFor?: number;
  /** Milliseconds before a request that failed in passing is sent again; four and nine times as long for the next two. */
  readonly retryAfter?: number;
}
