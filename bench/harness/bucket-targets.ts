import { isObjectStoreNamed } from '../../tests/servers/object-store.ts';
import { createBucket } from './bucket.ts';
import { bucketFolderComparisons } from './bucket-folders.ts';
import { bucketReadComparisons, redirectComparison } from './bucket-reading.ts';
import type { BucketStage } from './bucket-stage.ts';
import { setBucketStage } from './bucket-stage.ts';
import type { Comparison } from './comparison.ts';
import { openObjectStore } from './object-store.ts';
import type { Duration } from './reading.ts';
import type { Target, TargetGroup } from './target.ts';
import { chooseTargets, sampleFigure, speedOver } from './target.ts';

/** Fetching, listing, copying and moving in a bucket. */
export const bucketTargets: TargetGroup = {
  ids: ['get-4KiB', 'redirect', 'list-1000', 'copy-2000', 'move-2000'].map(idInBucket),
  bytesNeeded: () => (isObjectStoreNamed() ? 0 : 2 ** 31) + 2 ** 28,
  measure: async (setting, measureAll) => {
    const { duration, folder, service, signal } = setting;
    await using store = await openObjectStore(folder, signal);
    await using bucket = await createBucket(store, signal);
    const stage = await setBucketStage(bucket, folder, service, false, signal);
    await measureAll(chooseTargets(planTargets(stage, duration), setting));
  },
};

function planTargets(stage: BucketStage, duration: Duration): Target[] {
  const storePrograms = stage.bucket.store.programs;
  const comparisons = [
    ...bucketReadComparisons(stage, duration),
    redirectComparison(stage, duration),
    ...bucketFolderComparisons(stage),
  ];
  return comparisons.flatMap((comparison) => {
    const target = describeTarget(comparison);
    if (!target) return [];
    const { id, title, programs } = comparison;
    const inBucket = { id: idInBucket(id), title: `${title}, in a bucket`, programs: [...programs, ...storePrograms] };
    return [{ ...target, comparison: { ...comparison, ...inBucket } }];
  });
}

/** Others than those on disk, whose names are the same. */
function idInBucket(id: string): string {
  return `bucket-${id}`;
}

/** Undefined where there is no target. */
function describeTarget({ id, reference }: Comparison): Omit<Target, 'comparison'> | undefined {
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
    default:
      return undefined;
  }
}
