import type { Need } from '../runner/needs.ts';
import { testInterruptedOnBucket } from './interrupted-s3.ts';

export const needs: readonly Need[] = ['bucket'];

// tests/long interrupts every step.
testInterruptedOnBucket(24);
