import { join } from 'node:path';
import { EXACT_NAMES } from '../../model/name-comparison.ts';
import type { Backend } from '../backend.ts';
import { localFoldersOf } from '../local-folders.ts';
import { GITHUB_SETTINGS } from './settings.ts';

/** A branch of a repository on GitHub. */
export const GITHUB = {
  types: { github: 'a branch of a repository' },
  settings: GITHUB_SETTINGS,
  requirements: [
    {
      name: 'GITHUB_TOKEN',
      reason: ({ READ_ONLY }) => (READ_ONLY === false ? 'for STORAGE_TYPE=github, unless READ_ONLY=true' : undefined),
    },
    {
      name: 'GITHUB_AUTHOR_NAME',
      reason: ({ GITHUB_AUTHOR_EMAIL }) => (GITHUB_AUTHOR_EMAIL === undefined ? undefined : 'with GITHUB_AUTHOR_EMAIL'),
    },
    {
      name: 'GITHUB_AUTHOR_EMAIL',
      reason: ({ GITHUB_AUTHOR_NAME }) => (GITHUB_AUTHOR_NAME === undefined ? undefined : 'with GITHUB_AUTHOR_NAME'),
    },
  ],
  // Processes share neither the quota of a token nor their commits.
  defaults: { WORKERS: '1' },

  async open(settings, log) {
    const { GITHUB_OWNER: owner, GITHUB_REPO: repository, GITHUB_BRANCH: branch, GITHUB_API_URL: apiUrl } = settings;
    const { GITHUB_AUTHOR_NAME: author, GITHUB_AUTHOR_EMAIL: email } = settings;
    if (owner === undefined || repository === undefined) {
      throw new Error('The settings of the repository were not checked.');
    }
    const { openGitHub, repositoryOrigins } = await import('./github.ts');
    const name = `${apiUrl}/repos/${owner}/${repository}, branch ${branch}`;
    const folders = localFoldersOf(name, settings);
    const store = openGitHub({
      apiUrl,
      owner,
      repository,
      branch,
      token: settings.GITHUB_TOKEN,
      createBranch: settings.GITHUB_CREATE_BRANCH && !settings.READ_ONLY,
      readOnly: settings.READ_ONLY,
      trust: settings.GITHUB_TRUST,
      quotaWait: settings.GITHUB_QUOTA_WAIT,
      writesPerMinute: settings.GITHUB_WRITES_PER_MINUTE || undefined,
      commitMessage: settings.GITHUB_COMMIT_MESSAGE,
      author: author === undefined || email === undefined ? undefined : { name: author, email },
      cache: { folder: join(settings.CACHE_DIR ?? folders.cacheFolder, 'blobs'), size: settings.GITHUB_CACHE_SIZE },
      log,
    });
    return {
      store,
      names: EXACT_NAMES,
      contentOrigins: repositoryOrigins(apiUrl),
      name,
      retriesInternally: true,
      maxStalenessSeconds: settings.GITHUB_TRUST,
      ...folders,
    };
  },

  loadChecks: async () => (await import('./checks.ts')).CHECKS,
} as const satisfies Backend<typeof GITHUB_SETTINGS>;
