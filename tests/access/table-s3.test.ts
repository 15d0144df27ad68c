import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { accessTable } from './table.ts';

export const needs: readonly Need[] = ['bucket'];

// The authentication methods and rare situations don't depend on the store. The memory store is tested with all of them.
accessTable(s3, { methods: ['a session'] });
