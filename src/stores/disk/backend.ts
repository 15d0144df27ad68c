import { join, resolve } from 'node:path';
import type { Backend } from '../backend.ts';
import { loadKeyFrom } from '../local-folders.ts';
import { RESERVED_FOLDER } from './reserved-names.ts';
import { DISK_SETTINGS } from './settings.ts';

/** A folder of this machine. */
export const DISK = {
  types: { disk: 'a folder of this machine' },
  settings: DISK_SETTINGS,
  folderSetting: 'DISK_ROOT',
  capabilities: [
    'copy',
    'move',
    'copyFolder',
    'moveFolder',
    'removeTree',
    'setModified',
    'hasFolder',
    'identify',
    'now',
    'stage',
    'createUpload',
    'openUpload',
    'removeUploads',
    'readCached',
    'space',
    'moveToTrash',
    'listTrash',
    'findTrashed',
    'measureTrashed',
    'restoreTrashed',
    'purgeTrashed',
    'listVersions',
    'readVersion',
    'restoreVersion',
    'purgeVersions',
    'expireVersions',
    'watch',
    'maxPathBytes',
    'check',
    'close',
  ],

  stateFolder: ({ DISK_ROOT, STATE_DIR }) => STATE_DIR ?? join(resolve(DISK_ROOT), RESERVED_FOLDER),

  async open({ DISK_ROOT, UMASK, STATE_DIR, SIGNING_KEY, UV_THREADPOOL_SIZE }, log, place) {
    // Holdall's own files have modes of their own.
    if (UMASK !== undefined) process.umask(UMASK);
    const { openDisk } = await import('./disk.ts');
    const { store, signingKey, ownFolder, root, ...traits } = await openDisk({
      root: DISK_ROOT,
      signingKey: SIGNING_KEY ?? (STATE_DIR === undefined ? undefined : await loadKeyFrom(STATE_DIR)),
      threads: UV_THREADPOOL_SIZE,
      place,
      log,
    });
    return {
      store,
      streamsLargeFiles: true,
      ...traits,
      isLocal: true,
      contentOrigins: [],
      name: root,
      retriesInternally: false,
      cacheFolder: join(ownFolder, 'cache'),
      stateFolder: STATE_DIR ?? ownFolder,
      signingKey: async () => signingKey,
    };
  },

  loadChecks: async () => (await import('./checks.ts')).CHECKS,
} as const satisfies Backend<typeof DISK_SETTINGS>;
