import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from '../../testing/processes.ts';
import type { Bucket } from './bucket.ts';
import type { ServedFolder, Server } from './servers.ts';
import { holdall } from './servers.ts';
import { entryNames, flush, uploadBytes, writeRandom } from './stage.ts';

/** The parameters of every contender on one bucket. */
export interface BucketStage {
  readonly bucket: Bucket;
  /** 4 KiB, in the bucket as `4KiB.bin`. */
  readonly smallObject: Buffer;
  /** Random bytes to upload: 4 KiB for the warm-up, and 1 GiB for the measurement. */
  readonly smallFile: string;
  readonly uploadFile: string;
  /** The service on the bucket. With `workers` 0, it uses its default. */
  holdall(workers?: number): Server;
  /** Rclone on the bucket, which it calls `bucket:`. */
  rclone(args: readonly string[]): Command;
  /** Creates a scratch folder for one process of the service. */
  newSite(): ServedFolder;
}

/** The keys of the object of 4 KiB and of one that clients fetch from the bucket, and the folder of 1,000 entries. */
export const smallKey = '4KiB.bin';
export const largeKey = '6MiB.bin';
export const largeBytes = 6 * 2 ** 20;
export const entriesFolder = 'entries/';

/** Fills a new bucket, and a local folder with the files to upload. */
export async function setBucketStage(
  bucket: Bucket,
  folder: string,
  service: string,
  withUploads: boolean,
  signal: AbortSignal,
): Promise<BucketStage> {
  const root = join(folder, 'root');
  const [smallFile, uploadFile] = [join(folder, 'small.bin'), join(folder, 'upload.bin')];
  const smallObject = Buffer.alloc(4 * 1024, 'four kibibytes ');
  const entries = entryNames.map((name) => [`${entriesFolder}${name}`, Buffer.from(`${name}\n`)] as const);
  const largeObject = Buffer.alloc(largeBytes, 'six mebibytes ');
  await bucket.put(new Map([[smallKey, smallObject], [largeKey, largeObject], ...entries]), signal);
  await mkdir(root);
  await writeRandom(smallFile, smallObject.length, signal);
  if (withUploads) await writeRandom(uploadFile, uploadBytes, signal);
  // Unwritten data would slow down the first measurement.
  await flush(folder, signal);
  let sites = 0;
  return {
    bucket,
    smallObject,
    smallFile,
    uploadFile,
    holdall: (workers) => holdall(service, workers, storageSettings(bucket)),
    rclone: (args) => ({
      file: 'rclone',
      args: [...args, '--config', join(folder, 'rclone.conf')],
      env: rcloneSettings(bucket),
    }),
    newSite: () => ({ root, scratch: join(folder, `scratch-${++sites}`) }),
  };
}

function storageSettings({ name, store }: Bucket): Record<string, string> {
  return {
    STORAGE_TYPE: 's3',
    S3_ENDPOINT: store.account.endpoint,
    S3_REGION: store.account.region,
    S3_BUCKET: name,
    S3_ACCESS_KEY_ID: store.account.accessKeyId,
    S3_SECRET_ACCESS_KEY: store.account.secretAccessKey,
    S3_ADDRESSING: 'path',
  };
}

/** Returns the configuration as environment variables: an alias of the bucket of a remote. */
function rcloneSettings({ name, store }: Bucket): Record<string, string> {
  return {
    RCLONE_CONFIG_STORE_TYPE: 's3',
    RCLONE_CONFIG_STORE_PROVIDER: store.isOwn ? 'Ceph' : 'Other',
    RCLONE_CONFIG_STORE_ENDPOINT: store.account.endpoint,
    RCLONE_CONFIG_STORE_REGION: store.account.region,
    RCLONE_CONFIG_STORE_ACCESS_KEY_ID: store.account.accessKeyId,
    RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY: store.account.secretAccessKey,
    RCLONE_CONFIG_BUCKET_TYPE: 'alias',
    RCLONE_CONFIG_BUCKET_REMOTE: `store:${name}`,
  };
}
