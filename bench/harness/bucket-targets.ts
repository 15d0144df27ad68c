import { isObjectStoreNamed } from '../../testing/servers/object-store.ts';
import { createBucket } from './bucket.ts';
import { bucketFolderComparisons } from './bucket-folders.ts';
import { bucketReadComparisons, redirectComparison } from './bucket-reading.ts';
import type { BucketStage } from './bucket-stage.ts';
import { setBucketStage } from './bucket-stage.ts';
import { bucketUploadComparison } from './bucket-uploading.ts';
import type { Comparison } from './comparison.ts';
import { openObjectStore } from './object-store.ts';
import type { Duration } from './reading.ts';
import { uploadBytes } from './stage.ts';
import type { Target, TargetGroup } from './target.ts';
import { aboveIdle, chooseTargets, sampleFigure, speedOver } from './target.ts';

const uploadId = 'upload-1GiB';

/** Downloads, listings, folder operations and uploads in a bucket. */
export const bucketTargets: TargetGroup = {
  ids: ['get-4KiB', 'redirect', 'list-1000', 'copy-2000', 'move-2000', 'trash-2000', 'delete-2000', uploadId].map(
    idInBucket,
  ),
  bytesNeeded: (chosen, rounds) => {
    // The file to upload. A Ceph that the benchmark starts also stores all uploads on this disk.
    const uploads = chosen.includes(idInBucket(uploadId)) ? 1 + (isObjectStoreNamed() ? 0 : 2 * rounds) : 0;
    return (isObjectStoreNamed() ? 0 : 2 ** 31) + 2 ** 28 + uploads * uploadBytes;
  },
  measure: async (setting, measureAll) => {
    const { chosen, duration, folder, service, signal } = setting;
    await using store = await openObjectStore(folder, signal);
    await using bucket = await createBucket(store, signal);
    const stage = await setBucketStage(bucket, folder, service, chosen.includes(idInBucket(uploadId)), signal);
    await measureAll(chooseTargets(planTargets(stage, duration), setting));
  },
};

function planTargets(stage: BucketStage, duration: Duration): Target[] {
  const storePrograms = stage.bucket.store.programs;
  const comparisons = [
    ...bucketReadComparisons(stage, duration),
    redirectComparison(stage, duration),
    ...bucketFolderComparisons(stage),
    bucketUploadComparison(stage),
  ];
  return comparisons.map((comparison) => {
    const { id, title, programs } = comparison;
    const inBucket = { id: idInBucket(id), title: `${title}, in a bucket`, programs: [...programs, ...storePrograms] };
    return { ...describeTarget(comparison), comparison: { ...comparison, ...inBucket } };
  });
}

/** Distinguishes a comparison from the one on disk with the same id. */
function idInBucket(id: string): string {
  return `bucket-${id}`;
}

function describeTarget({ id, title, reference }: Comparison): Omit<Target, 'comparison'> {
  switch (id) {
    case 'get-4KiB':
      return { work: 'GET 4 KiB through to the bucket', criteria: [speedOver(reference, 0.6)] };
    case 'list-1000':
      return { work: 'List 1,000 objects of the bucket', criteria: [speedOver(reference, 0.7)] };
    case 'redirect':
      return {
        work: 'Redirect for a large object',
        criteria: [sampleFigure('least', 10_000, 'a second', ({ value }) => value)],
      };
    case 'copy-2000':
      return { work: 'Copy 2,000 objects', criteria: [speedOver(reference, 1.2)] };
    case 'move-2000':
      return { work: 'Move 2,000 objects', criteria: [speedOver(reference, 1.2)] };
    case 'trash-2000':
      return { work: 'Move 2,000 objects to the trash', criteria: [speedOver(reference, 1)] };
    case uploadId:
      return { work: 'Upload 1 GiB to the bucket', criteria: [aboveIdle(120)] };
    default:
      return { work: title, criteria: [] };
  }
}
