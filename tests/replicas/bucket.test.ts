import { it } from 'node:test';
import { MIB } from '../faults/pattern.ts';
import type { Need } from '../runner/needs.ts';
import { openBucketStage } from './bucket-stage.ts';
import { SHORT_BUCKET_FAULTS } from './faults.ts';
import { tryTogether } from './trials.ts';

export const needs: readonly Need[] = ['ceph', 'nginx'];

it('Two replicas on a bucket, behind nginx and under load', async (t) => {
  // Large files have two parts.
  await tryTogether(t, await openBucketStage(t, 2, 9 * MIB), SHORT_BUCKET_FAULTS);
});
