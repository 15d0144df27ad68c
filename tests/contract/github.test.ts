import { describe } from 'node:test';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { github, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

export const needs: readonly Need[] = ['git'];

// The store with a path has the same code, and the other tests of this store use it without a path.
describe('A branch without a path', IN_FULL_FORM_ONLY, () => {
  const backend = shareWithinFile(github);
  storeContract(backend);
  optionalContract(backend);
});
