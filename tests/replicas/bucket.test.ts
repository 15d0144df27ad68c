import { it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { openBucketStage } from './bucket-stage.ts';
import { SHORT_BUCKET_FAULTS } from './faults.ts';
import { tryTogether } from './trials.ts';

export const needs: readonly Need[] = ['bucket', 'nginx'];

it('Two replicas on a bucket, behind nginx and under load', async (t) => {
  await tryTogether(t, await openBucketStage(t), SHORT_BUCKET_FAULTS);
});
