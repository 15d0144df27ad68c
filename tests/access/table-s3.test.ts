import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { accessTable } from './table.ts';

export const needs: readonly Need[] = ['bucket'];

// The permissions don't depend on the store. The memory store is tested in every situation, and in tests/long all stores.
accessTable(s3, {
  methods: ['a session'],
  brief: ['a session'],
  rows: [
    'List a folder',
    'Fetch a file',
    'Upload over a file',
    'Delete a folder',
    'Move a file over another',
    'Restore an item',
    'Restore a version over a file',
  ],
});
