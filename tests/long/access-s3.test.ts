import { accessTable } from '../access/table.ts';
import { disk, s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

// The permissions of every request with every authentication method, on the stores for which tests/access takes a part.

accessTable(disk);
accessTable(s3);
