import { it } from 'node:test';
import { MIB } from '../faults/pattern.ts';
import type { Need } from '../runner/needs.ts';
import { SHARED_FAULTS } from './faults.ts';
import { openBranchStage, openDiskStage } from './shared-stages.ts';
import { tryTogether } from './trials.ts';

export const needs: readonly Need[] = ['git', 'nginx'];

it('Two replicas on a disk folder, behind nginx and under load', async (t) => {
  await tryTogether(t, await openDiskStage(t, 9 * MIB), SHARED_FAULTS);
});

it('Two replicas on a branch, behind nginx and under load', async (t) => {
  await tryTogether(t, await openBranchStage(t), SHARED_FAULTS);
});
