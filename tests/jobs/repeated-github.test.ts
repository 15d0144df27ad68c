import { github, shareWithinFile } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { testRepeatedJobs } from './repeated.ts';

export const needs: readonly Need[] = ['git'];

// Nothing can be removed from the history of a branch.
testRepeatedJobs(shareWithinFile(github), { canPurge: false });
