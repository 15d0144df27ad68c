import { it } from 'node:test';
import { openCephStage } from '../replicas/bucket-stage.ts';
import { NOTHING } from '../replicas/fault.ts';
import { BUCKET_FAULTS, SHARED_FAULTS } from '../replicas/faults.ts';
import { openBranchStage, openDiskStage } from '../replicas/shared-stages.ts';
import { tryEach } from '../replicas/trials.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['ceph', 'git', 'nginx'];

// As in tests/replicas, on every store, with all faults, more clients, larger files, and faults that last longer.

const SECONDS = 10;

it('Three replicas on a bucket, behind nginx and under load', async (t) => {
  await tryEach(t, await openCephStage(t, 3), [NOTHING, ...BUCKET_FAULTS], SECONDS);
});

it('Two replicas on a disk folder, behind nginx and under load', async (t) => {
  await tryEach(t, await openDiskStage(t), [NOTHING, ...SHARED_FAULTS], SECONDS);
});

it('Two replicas on a branch, behind nginx and under load', async (t) => {
  await tryEach(t, await openBranchStage(t), [NOTHING, ...SHARED_FAULTS], SECONDS);
});
