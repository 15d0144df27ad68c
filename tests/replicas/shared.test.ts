import { describe, it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { SHARED_FAULTS } from './faults.ts';
import { openBranchStage, openDiskStage } from './shared-stages.ts';
import { tryAll } from './trials.ts';

export const needs: readonly Need[] = ['git', 'nginx'];

describe('Two replicas behind nginx and under load lose nothing, whatever happens,', () => {
  it('on one folder of the disk', async (t) => {
    await tryAll(t, await openDiskStage(t), SHARED_FAULTS);
  });

  it('on one branch of a repository', async (t) => {
    await tryAll(t, await openBranchStage(t), SHARED_FAULTS);
  });
});
