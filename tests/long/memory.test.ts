/*
 * Transfers of gigabytes, larger than a signed 32-bit number, to and from each store, and a listing of 100,000 files:
 * tests/faults/disk-memory.test.ts proves flat memory with a file that is only larger than the limit, and
 * tests/dav/streamed-listing.test.ts that a listing is streamed.
 */

import { testDiskTransfers, testPropfind, testRemoteUploads } from '../faults/flat-memory.ts';
import { MIB } from '../faults/pattern.ts';
import { LARGEST_TEST_FILE, openTestBucket, openTestRepository } from '../faults/remote-stores.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

// Larger than a signed 32-bit number.
testDiskTransfers(2050 * MIB);

testPropfind(100_000);

testRemoteUploads('a bucket', { size: 1000 * MIB + 12_345, open: openTestBucket });
testRemoteUploads('a repository', { size: LARGEST_TEST_FILE, open: openTestRepository });
