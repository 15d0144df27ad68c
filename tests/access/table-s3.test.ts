import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { accessTable } from './table.ts';

export const needs: readonly Need[] = ['bucket'];

// What is rare is told apart before any store is asked, and so on the disk alone.
accessTable(s3);
