import type { Need } from '../runner/needs.ts';
import { testRemoteUploads } from './flat-memory.ts';
import { LARGEST_TEST_FILE, openTestRepository } from './remote-stores.ts';

export const needs: readonly Need[] = ['git'];

// Staging a file that comes before its prefix is the same for all stores: see s3-memory.test.ts.
testRemoteUploads('a repository', { size: LARGEST_TEST_FILE, orders: ['prefix first'], open: openTestRepository });
