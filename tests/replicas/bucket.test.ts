import { it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { openBucketStage } from './bucket-stage.ts';
import { BUCKET_FAULTS } from './faults.ts';
import { tryAll } from './trials.ts';

export const needs: readonly Need[] = ['ceph', 'nginx'];

it('three replicas on one bucket, behind nginx and under load, lose nothing, whatever happens', async (t) => {
  await tryAll(t, await openBucketStage(t, 3), BUCKET_FAULTS);
});
