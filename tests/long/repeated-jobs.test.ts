// Only it repeats each job on a bucket and on a branch after its work: about 50 jobs, each on a store of its own.
import { github, s3, shareWithinFile } from '../contract/backend.ts';
import { testRepeatedJobs } from '../jobs/repeated.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

testRepeatedJobs(shareWithinFile(s3));
// Nothing can be removed from the history of a branch.
testRepeatedJobs(shareWithinFile(github), { canPurge: false });
