import { disk, memory } from '../contract/backend.ts';
import { testRepeatedJobs } from './repeated.ts';

for (const backend of [memory, disk]) testRepeatedJobs(backend);
