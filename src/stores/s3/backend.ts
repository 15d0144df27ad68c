import { EXACT_NAMES } from '../../model/name-comparison.ts';
import type { Backend, SettingsOf } from '../backend.ts';
import { localFoldersOf } from '../local-folders.ts';
import { bucketOptions, nameOfBucket, S3_SETTINGS } from './settings.ts';

/** A bucket of an S3-compatible store. */
export const S3 = {
  types: { s3: 'a bucket of any S3-compatible store', r2: 'a bucket of Cloudflare R2' },
  settings: S3_SETTINGS,
  requirements: [
    {
      name: 'S3_ACCESS_KEY_ID',
      reason: (settings) => accessKeyReason(settings, settings.S3_SECRET_ACCESS_KEY),
    },
    {
      name: 'S3_SECRET_ACCESS_KEY',
      reason: (settings) => accessKeyReason(settings, settings.S3_ACCESS_KEY_ID),
    },
    {
      name: 'S3_ENDPOINT',
      reason: ({ STORAGE_TYPE, S3_REGION }) => {
        if (STORAGE_TYPE === 'r2') return 'for STORAGE_TYPE=r2';
        return S3_REGION === 'auto' ? 'unless S3_REGION names a region of AWS' : undefined;
      },
    },
  ],

  capabilities: [
    'copy',
    'move',
    'copyFolder',
    'moveFolder',
    'removeTree',
    'walk',
    'now',
    'createUpload',
    'openUpload',
    'removeUploads',
    'presignParts',
    'presign',
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
    'maxPathBytes',
    'check',
    'close',
  ],

  stateFolder: (settings) => localFoldersOf(nameOfBucket(settings), settings).stateFolder,

  async open(settings, log) {
    const { openS3, bucketOrigins } = await import('./s3.ts');
    const options = bucketOptions(settings, log);
    const store = openS3(options);
    const name = nameOfBucket(settings);
    return {
      store,
      names: EXACT_NAMES,
      contentOrigins: bucketOrigins(options),
      name,
      retriesInternally: true,
      ...localFoldersOf(name, settings),
    };
  },

  loadChecks: async () => (await import('./checks.ts')).CHECKS,
} as const satisfies Backend<typeof S3_SETTINGS>;

/** Returns why one half of the access key is required, if it is: R2 has no other credentials. */
function accessKeyReason(
  { STORAGE_TYPE, S3_SESSION_TOKEN }: Partial<SettingsOf<typeof S3_SETTINGS>>,
  otherHalf: string | undefined,
): string | undefined {
  if (STORAGE_TYPE === 'r2') return 'for STORAGE_TYPE=r2';
  if (otherHalf !== undefined) return 'because an access key has an id and a secret';
  return S3_SESSION_TOKEN === undefined ? undefined : 'for S3_SESSION_TOKEN';
}
