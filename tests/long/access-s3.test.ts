/*
 * The permissions of every request with every authentication method, on every store. tests/access tries each request, but not
 * with each authentication method on each store: a store whose calls leave the order of the checks would be found only here.
 */

import { accessTable } from '../access/table.ts';
import { disk, memory, s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

accessTable(memory, { thorough: ['no credentials', 'a session'] });
accessTable(disk);
accessTable(s3);
