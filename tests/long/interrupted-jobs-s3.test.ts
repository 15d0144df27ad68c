// Only it interrupts long operations at every step, in every way: about 2,000 operations, each run twice.
import { testInterruptedOnDisk } from '../jobs/interrupted-disk.ts';
import { testInterruptedOnBucket } from '../jobs/interrupted-s3.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

testInterruptedOnDisk(1);
testInterruptedOnBucket(1);
