import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutBucketLifecycleConfigurationCommand } from '@aws-sdk/client-s3';
import { atEnd, type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import { type Ceph, startCeph } from '../../testing/servers/ceph.ts';
import { unusedLoopbackAddress } from '../../testing/servers/loopback-address.ts';
import { type S3Proxy, startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { until } from '../../testing/until.ts';
import { mountTmpfs } from '../faults/mounts.ts';
import { MIB } from '../faults/pattern.ts';
import { type Stage, startReplicas } from './stage.ts';

/** Replicas on a bucket. */
export interface BucketStage extends Stage {
  /** The proxy between each replica and the bucket. */
  readonly links: readonly S3Proxy[];
  /** Sets the clock of the last replica ahead by so many seconds. */
  setClock(seconds: number): Promise<void>;
  /** The thumbnail cache of all replicas, its size in bytes, and the reason if its size is not limited. */
  readonly cache: { readonly folder: string; readonly size: number; readonly whyUnbounded: string | undefined };
}

/** Replicas on a bucket of their own Ceph. */
export interface CephStage extends BucketStage {
  readonly ceph: Ceph;
}

const SKEWED_CLOCK = new URL('skewed-clock.ts', import.meta.url);

/** Bytes. */
const CACHE_SIZE = 4 * MIB;

/** Starts so many replicas on a bucket of their own Ceph, which removes orphaned parts. */
export async function openCephStage(owner: Owner, count: number): Promise<CephStage> {
  const ceph = await startCeph({ parent: tmpdir(), address: unusedLoopbackAddress() });
  atEnd(owner, () => ceph.stop());
  const bucket = await createBucket(ceph);
  await setLifecycleRule(bucket);
  return {
    ...(await startOnBucket(owner, bucket, { count, large: 17 * MIB })),
    ceph,
    async untilClean() {
      await until('no upload part is left', async () => {
        if ((await bucket.openUploads()).length === 0) return true;
        await ceph.applyLifecycles();
        return false;
      });
    },
  };
}

/** Starts so many replicas. `large` is the size of large files in bytes; parts have 8 MiB. */
async function startOnBucket(
  owner: Owner,
  bucket: TestBucket,
  { count, large }: { count: number; large: number },
): Promise<Omit<BucketStage, 'untilClean'>> {
  const { endpoint = assert.fail('The store has no endpoint.') } = bucket.settings;
  const folder = await temporaryFolder(owner);
  const cache = join(folder, 'cache');
  const whyUnbounded = await mountTmpfs(owner, cache, `size=${CACHE_SIZE}`);
  const clock = join(folder, 'clock');
  await writeFile(clock, '0');

  const links = await Promise.all(Array.from({ length: count }, () => startS3Proxy({ endpoint })));
  for (const link of links) atEnd(owner, () => link.stop());
  const settings = links.map(({ url }, index) => ({
    ...settingsOf({ settings: { ...bucket.settings, endpoint: url } }),
    CACHE_DIR: cache,
    CACHE_SIZE: '64MiB',
    ...(index === count - 1 && { NODE_OPTIONS: `--import ${SKEWED_CLOCK.href}`, CLOCK_FILE: clock }),
  }));
  return {
    ...(await startReplicas(owner, settings)),
    large,
    links,
    setClock: (seconds) => writeFile(clock, String(seconds)),
    cache: { folder: cache, size: CACHE_SIZE, whyUnbounded },
  };
}

/** Sets the lifecycle rule of `docs/how-to/stores/s3.md`, with one day. */
async function setLifecycleRule({ client, name }: TestBucket): Promise<void> {
  const rule = {
    ID: 'abort-incomplete-uploads',
    Status: 'Enabled' as const,
    Filter: { Prefix: '' },
    AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
  };
  const LifecycleConfiguration = { Rules: [rule] };
  await client.send(new PutBucketLifecycleConfigurationCommand({ Bucket: name, LifecycleConfiguration }));
}
