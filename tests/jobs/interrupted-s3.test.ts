import type { Need } from '../runner/needs.ts';
import { testInterruptedOnBucket } from './interrupted-s3.ts';

export const needs: readonly Need[] = ['bucket'];

// tests/long interrupts every step of all jobs. tests/jobs/interrupted-disk.test.ts has all jobs.
testInterruptedOnBucket(24, ['deletes', 'moves and replaces', 'copies and replaces', 'restores']);
