import { disk, memory } from '../contract/backend.ts';
import { testRepeatedJobs } from './repeated.ts';

// On a bucket and on a branch: tests/long/repeated-jobs.test.ts.
for (const backend of [memory, disk]) testRepeatedJobs(backend);
