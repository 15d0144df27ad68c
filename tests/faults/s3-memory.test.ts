import type { Need } from '../runner/needs.ts';
import { testRemoteUploads } from './flat-memory.ts';
import { MIB } from './pattern.ts';
import { openTestBucket } from './remote-stores.ts';

export const needs: readonly Need[] = ['bucket'];

// Not a multiple of the part size. Files that come before their prefix, and repositories: tests/long/memory-s3.test.ts.
testRemoteUploads('a bucket', { size: 150 * MIB + 12_345, orders: ['prefix first'], open: openTestBucket });
