import { join } from 'node:path';
import { isStoreError } from '../../model/error.ts';
import type { FolderPath } from '../../model/path.ts';
import {
  duration,
  emailAddress,
  folderPath,
  integer,
  oneLine,
  password,
  type Reader,
  size,
  url,
  yesOrNo,
} from '../../settings/readers.ts';
import type { SettingGroup } from '../../settings/setting.ts';
import type { SettingsOf } from '../backend.ts';
import type { StoreLog } from '../network.ts';
import { requireWritable } from './branch/reserved-names.ts';

/** Options of a GitHub store: the repository and branch, the credentials, and the form of commits. */
export interface GitHubOptions {
  /** Base URL of the REST API, without a trailing slash. */
  readonly apiUrl: string;
  readonly owner: string;
  readonly repository: string;
  readonly branch: string;
  /** The folder of the branch to serve. Default: the whole branch */
  readonly path?: FolderPath;
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
  /** Milliseconds between two requests for the head while the branch is watched. */
  readonly pollEvery?: number;
  /** Milliseconds before the first retry of a transient failure; the next two wait four and nine times as long. */
  readonly retryAfter?: number;
}

/** Reads the name of a GitHub user or organization. Names in GitHub Enterprise can also contain `_`. */
const ownerName: Reader<string> = (text) =>
  /^[A-Za-z0-9](?:[\w-]{0,38})$/.test(text)
    ? { value: text }
    : { problem: 'must be the name of a user or an organization: letters, digits and hyphens' };

/** Reads the name of a repository. Rejects a URL, and a name with its owner. */
const repositoryName: Reader<string> = (text) =>
  /^[\w.-]{1,100}$/.test(text) && !/^\.{1,2}$/.test(text)
    ? { value: text }
    : { problem: 'must be a repository name without its owner: letters, digits, dots, hyphens and underscores' };

/** Reads the name of a branch, by the rules of `git check-ref-format`. */
const branchName: Reader<string> = (text) =>
  BRANCH.test(text) && !/(^|\/)\.|\.lock(\/|$)|\.\.|\/\/|@\{/.test(text)
    ? { value: text }
    : { problem: 'must be a branch name without "refs/heads/", spaces or any of ~^:?*[\\' };

const BRANCH = /^(?!refs\/)(?!@$)(?![-/])[^\u0000-\u0020\u007f~^:?*[\\]{1,255}(?<![/.])$/;

/** Reads the path of a folder in a repository. Rejects names that a repository can't contain. */
const servedPath: Reader<FolderPath> = (text) => {
  const reading = folderPath(text);
  if ('problem' in reading) return reading;
  try {
    requireWritable(reading.value);
    return reading;
  } catch (error) {
    if (isStoreError(error)) return { problem: 'must not contain ".gitkeep" or a name that git reserves' };
    throw error;
  }
};

/** The settings of a branch. */
export const GITHUB_SETTINGS = {
  GITHUB_OWNER: {
    read: ownerName,
    defaultText: null,
    example: 'octocat',
    help: 'Owner of the repository: a user or an organization.',
    isRequired: true,
  },
  GITHUB_REPO: {
    read: repositoryName,
    defaultText: null,
    example: 'my-files',
    help: 'Name of the repository, without its owner.',
    isRequired: true,
  },
  GITHUB_TOKEN: {
    read: password,
    defaultText: null,
    example: 'github_pat_11ABCDEFG0EXAMPLE',
    help: 'Access token with the permission "Contents: read and write". Optional if `READ_ONLY=true`.',
    isSecret: true,
  },
  GITHUB_BRANCH: {
    read: branchName,
    defaultText: 'main',
    example: 'files',
    help: 'Branch to serve and to commit to.',
  },
  GITHUB_PATH: {
    read: servedPath,
    defaultText: null,
    example: 'team/files',
    help: 'Folder of the branch to serve. Everything outside it is invisible. Default: the whole branch.',
  },
  GITHUB_CREATE_BRANCH: {
    read: yesOrNo,
    defaultText: 'false',
    example: 'true',
    help: 'Whether to create a missing branch from the default branch.',
  },
  GITHUB_API_URL: {
    read: url({ path: true }),
    defaultText: 'https://api.github.com',
    example: 'https://github.example.org/api/v3',
    help: 'URL of the REST API of GitHub or of a GitHub Enterprise server.',
  },
  GITHUB_COMMIT_MESSAGE: {
    read: oneLine,
    defaultText: '{summary}',
    example: 'files: {summary}',
    help: 'Title of commits. `{summary}` describes the change, `{count}` is the number of changes.',
  },
  GITHUB_AUTHOR_NAME: {
    read: oneLine,
    defaultText: null,
    example: 'Holdall',
    help: 'Author of commits. Requires `GITHUB_AUTHOR_EMAIL`. Default: the owner of the token.',
  },
  GITHUB_AUTHOR_EMAIL: {
    read: emailAddress,
    defaultText: null,
    example: 'holdall@example.org',
    help: 'Email address of the author. Requires `GITHUB_AUTHOR_NAME`.',
  },
  GITHUB_TRUST: {
    read: duration('s', 0, 3600),
    defaultText: '2',
    example: '0',
    help: 'Seconds that reads use the last known commit. With 0, each read asks GitHub.',
  },
  GITHUB_QUOTA_WAIT: {
    read: duration('s', 0, 3600),
    defaultText: '10',
    example: '1m',
    help: 'Maximum seconds that a request waits for the rate limit of GitHub.',
  },
  GITHUB_WRITES_PER_MINUTE: {
    read: integer(0, 100_000),
    defaultText: '80',
    example: '0',
    help: 'Maximum write requests per minute. A commit takes three. 0 removes the limit.',
  },
  GITHUB_CACHE_SIZE: {
    read: size,
    defaultText: '1GiB',
    example: '10GiB',
    help: 'Maximum bytes of cached files in `blobs` under `CACHE_DIR`. 0 disables the cache.',
  },
} as const satisfies SettingGroup;

export type GitHubSettings = SettingsOf<typeof GITHUB_SETTINGS>;

/** Returns the options of the store that the settings describe. `cacheFolder` is used unless `CACHE_DIR` is set. */
export function repositoryOptions(
  settings: GitHubSettings,
  { cacheFolder, log }: { readonly cacheFolder: string; readonly log: StoreLog },
): GitHubOptions {
  const { GITHUB_OWNER: owner, GITHUB_REPO: repository, GITHUB_PATH: path } = settings;
  const { GITHUB_AUTHOR_NAME: author, GITHUB_AUTHOR_EMAIL: email } = settings;
  if (owner === undefined || repository === undefined) {
    throw new Error('The settings of the repository were not checked.');
  }
  return {
    apiUrl: settings.GITHUB_API_URL,
    owner,
    repository,
    branch: settings.GITHUB_BRANCH,
    ...(path !== undefined && { path }),
    token: settings.GITHUB_TOKEN,
    createBranch: settings.GITHUB_CREATE_BRANCH && !settings.READ_ONLY,
    readOnly: settings.READ_ONLY,
    trust: settings.GITHUB_TRUST,
    quotaWait: settings.GITHUB_QUOTA_WAIT,
    writesPerMinute: settings.GITHUB_WRITES_PER_MINUTE || undefined,
    commitMessage: settings.GITHUB_COMMIT_MESSAGE,
    author: author === undefined || email === undefined ? undefined : { name: author, email },
    cache: { folder: join(settings.CACHE_DIR ?? cacheFolder, 'blobs'), size: settings.GITHUB_CACHE_SIZE },
    log,
  };
}

/** Returns the name of the served part of a repository, for users and for the names of local folders. */
export function nameOfBranch(settings: GitHubSettings): string {
  const { GITHUB_API_URL: apiUrl, GITHUB_OWNER: owner, GITHUB_REPO: repository, GITHUB_BRANCH: branch } = settings;
  const name = `${apiUrl}/repos/${owner}/${repository}, branch ${branch}`;
  return settings.GITHUB_PATH === undefined ? name : `${name}, folder ${settings.GITHUB_PATH}`;
}
