/*
 * Several services behind nginx on each store, under load, while replicas, the store or the network fail: the only test of a
 * documented rolling restart that no client notices, of a store process that dies, of a network that hangs, of a wrong clock and
 * of a full cache. tests/history has kills and lost connections with two services, without nginx.
 */

import { it } from 'node:test';
import { openCephStage } from '../replicas/bucket-stage.ts';
import { NOTHING } from '../replicas/fault.ts';
import { BUCKET_FAULTS, SHARED_FAULTS } from '../replicas/faults.ts';
import { openBranchStage, openDiskStage } from '../replicas/shared-stages.ts';
import { tryEach } from '../replicas/trials.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['ceph', 'git', 'nginx'];

const SECONDS = 5;

it('Three replicas with a bucket stay consistent behind nginx under load', async (t) => {
  await tryEach(t, await openCephStage(t, 3), [NOTHING, ...BUCKET_FAULTS], SECONDS);
});

it('Two replicas with a disk folder stay consistent behind nginx under load', async (t) => {
  await tryEach(t, await openDiskStage(t), [NOTHING, ...SHARED_FAULTS], SECONDS);
});

it('Two replicas with a branch stay consistent behind nginx under load', async (t) => {
  await tryEach(t, await openBranchStage(t), [NOTHING, ...SHARED_FAULTS], SECONDS);
});
