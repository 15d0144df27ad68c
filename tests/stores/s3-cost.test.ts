import type { Need } from '../runner/needs.ts';
import { testBucketCosts } from './s3-cost.ts';

export const needs: readonly Need[] = ['bucket'];

// tests/long proves every row of the table.
testBucketCosts([
  'upload, 20 MiB',
  'list one page',
  'fetch, small',
  'rename a small file',
  'move or rename a folder of 10 objects',
]);
