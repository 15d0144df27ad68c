import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { accessTable, REPRESENTATIVE_ROWS } from './table.ts';

export const needs: readonly Need[] = ['bucket'];

// The permissions don't depend on the store. The memory store is tested in every situation, and in tests/long all stores.
accessTable(s3, {
  methods: ['a session'],
  brief: ['a session'],
  rows: REPRESENTATIVE_ROWS,
});
