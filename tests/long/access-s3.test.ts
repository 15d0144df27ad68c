import { accessTable } from '../access/table.ts';
import { disk, memory, s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

// The permissions of every request with every authentication method, on all stores: tests/access tests a part of them.

accessTable(memory, { thorough: ['no credentials', 'a session'] });
accessTable(disk);
accessTable(s3);
