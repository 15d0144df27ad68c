import { buffer } from 'node:stream/consumers';
import { type AdviceTable, findAdvice, notTried, ok, warning } from '../../checks/check.ts';
import { isStoreError } from '../../model/error.ts';
import { childFile, type FolderPath, parentOf, ROOT } from '../../model/path.ts';
import type { Cancellable, Store } from '../../model/store.ts';
import { adviseOn, type BackendChecks, type StoreCheck, type StoreSubject } from '../backend.ts';
import { localFoldersOf } from '../local-folders.ts';
import { networkAdvice, type StoreLog } from '../network.ts';
import { openGitHub } from './github.ts';
import { type GitHubSettings, nameOfBranch, repositoryOptions } from './settings.ts';

/** The checks of a branch. */
export const CHECKS: BackendChecks<GitHubSettings> = {
  afterOpen: (runner, subject) => runner.run(REPOSITORY_CHECKS, subject),

  advise(error) {
    const known = findAdvice(error, ADVICE) ?? networkAdvice(error, 'Correct the host in GITHUB_API_URL.');
    if (known !== undefined) return known;
    if (isStoreError(error, 'denied')) {
      return 'Give the token in GITHUB_TOKEN the permission "Contents: read and write", and let its owner bypass the rules of GITHUB_BRANCH, or serve another branch.';
    }
    return 'See docs/how-to/stores/github-problems.md.';
  },
};

const WRITE_ACCESS = 'Give the token in GITHUB_TOKEN the permission "Contents: read and write", or set READ_ONLY=true.';

const ADVICE: AdviceTable = {
  'token-rejected': 'Create a new token, and set GITHUB_TOKEN to it.',
  'token-lacks-permission': WRITE_ACCESS,
  'repository-archived': 'Unarchive the repository, or set READ_ONLY=true.',
  'store-not-writable': WRITE_ACCESS,
  'repository-not-found':
    'Correct GITHUB_OWNER and GITHUB_REPO, and add the repository to the "Repository access" of the token in GITHUB_TOKEN.',
  'branch-not-found': 'Set GITHUB_BRANCH to a branch that exists, or GITHUB_CREATE_BRANCH=true.',
  'branch-protected':
    'Let the owner of the token bypass the rules of GITHUB_BRANCH, or set GITHUB_BRANCH to a branch without such rules.',
  'quota-exhausted': 'Wait until the time in the message, or use a token with a larger quota.',
};

/** Checks of a branch. */
const REPOSITORY_CHECKS: readonly StoreCheck<GitHubSettings>[] = [
  {
    name: 'repository-quota',
    async run({ store, settings }) {
      const quota = store.quota?.();
      if (quota === undefined) return notTried('GitHub reported no rate limit.');
      const { limit, remaining, reset } = quota;
      const found = `${remaining} of ${limit} requests are left until ${reset.toISOString()}.`;
      if (settings.GITHUB_TOKEN === undefined) {
        return warning(`${found} Without a token, GitHub allows 60 requests per hour.`, 'Set GITHUB_TOKEN.');
      }
      if (remaining >= limit / 10) return ok(found);
      return warning(
        found,
        'Wait until then, use a token that no other program uses, or raise GITHUB_TRUST and GITHUB_CACHE_SIZE.',
      );
    },
    explain: adviseOn(),
  },
  {
    name: 'repository-workers',
    async run({ settings: { WORKERS, GITHUB_WRITES_PER_MINUTE: writes } }) {
      if (WORKERS === 1) return ok('One process creates all commits.');
      return warning(
        `WORKERS=${WORKERS}: each process creates its own commits and sends up to ${writes} write requests per minute.`,
        'Set WORKERS=1, or divide GITHUB_WRITES_PER_MINUTE by WORKERS.',
      );
    },
    explain: adviseOn(),
  },
  {
    name: 'repository-lfs',
    async run(subject, signal) {
      const { GITHUB_PATH: path } = subject.settings;
      const attributes =
        path === undefined
          ? await readAttributes(subject.store, ROOT, { signal })
          : await readAttributesAbove(path, subject, { signal });
      if (!/\bfilter=lfs\b/.test(attributes)) {
        return ok(
          path === undefined
            ? 'The .gitattributes file in the root does not use Git LFS.'
            : `No .gitattributes file in ${path} or above it uses Git LFS.`,
        );
      }
      return warning(
        '.gitattributes assigns files to Git LFS. Holdall can download them, but commits uploads under such names as ordinary files.',
        'Push large files with git lfs, or remove the lines with filter=lfs from .gitattributes: docs/reference/stores-github.md, "Git LFS".',
      );
    },
    explain: adviseOn(),
  },
];

/** Returns the text of `.gitattributes` in a folder; empty if there is none. */
async function readAttributes(store: Store, folder: FolderPath, { signal }: Cancellable): Promise<string> {
  try {
    const { bytes, body } = await store.read(childFile(folder, '.gitattributes'), { signal });
    return (bytes ?? (await buffer(body))).toString();
  } catch (error) {
    if (isStoreError(error, 'not-found')) return '';
    throw error;
  }
}

/** Returns the texts of `.gitattributes` in the served folder and above it, whose rules also apply. */
async function readAttributesAbove(
  path: FolderPath,
  { settings }: StoreSubject<GitHubSettings>,
  options: Cancellable,
): Promise<string> {
  const { cacheFolder } = localFoldersOf(nameOfBranch(settings), settings);
  const branch = openGitHub(repositoryOptions({ ...settings, GITHUB_PATH: undefined }, { cacheFolder, log: SILENT }));
  try {
    const texts = [await readAttributes(branch, path, options)];
    for (let folder = path; folder !== ROOT; ) {
      folder = parentOf(folder);
      texts.push(await readAttributes(branch, folder, options));
    }
    return texts.join('\n');
  } finally {
    await branch.close?.();
  }
}

/** Discards the log of a store that only the checks use. */
const SILENT: StoreLog = { info() {}, warn() {}, error() {}, onRetry() {}, onCommit() {} };
