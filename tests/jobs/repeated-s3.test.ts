import { s3, shareWithinFile } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { testRepeatedJobs } from './repeated.ts';

export const needs: readonly Need[] = ['bucket'];

testRepeatedJobs(shareWithinFile(s3));
