import type { Need } from '../runner/needs.ts';
import { testGitHubCosts } from './github-cost.ts';

export const needs: readonly Need[] = ['git'];

// tests/long proves every row of the table.
testGitHubCosts([
  'list, the first time',
  'list, later, nothing changed',
  'fetch, below 6 MB, cached',
  'upload, text up to 32 KiB',
  'move a file',
  'delete a folder of 10 files',
]);
