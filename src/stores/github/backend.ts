import { EXACT_NAMES } from '../../model/name-comparison.ts';
import type { Backend } from '../backend.ts';
import { localFoldersOf } from '../local-folders.ts';
import { GITHUB_SETTINGS, nameOfBranch, repositoryOptions } from './settings.ts';

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
  capabilities: [
    'copy',
    'move',
    'copyFolder',
    'moveFolder',
    'removeTree',
    'stage',
    'presign',
    'state',
    'changeSince',
    'moveToTrash',
    'listTrash',
    'findTrashed',
    'measureTrashed',
    'restoreTrashed',
    'listVersions',
    'readVersion',
    'restoreVersion',
    'quota',
    'isPrivileged',
    'isSizeCertain',
    'watch',
    'maxPathBytes',
    'check',
    'close',
  ],

  stateFolder: (settings) => localFoldersOf(nameOfBranch(settings), settings).stateFolder,

  async open(settings, log) {
    const { openGitHub, repositoryOrigins } = await import('./github.ts');
    // Each folder has its own caches and state.
    const name = nameOfBranch(settings);
    const folders = localFoldersOf(name, settings);
    const store = openGitHub(repositoryOptions(settings, { cacheFolder: folders.cacheFolder, log }));
    return {
      store,
      names: EXACT_NAMES,
      contentOrigins: repositoryOrigins(settings.GITHUB_API_URL),
      name,
      retriesInternally: true,
      maxStalenessSeconds: settings.GITHUB_TRUST,
      ...folders,
    };
  },

  loadChecks: async () => (await import('./checks.ts')).CHECKS,
} as const satisfies Backend<typeof GITHUB_SETTINGS>;
