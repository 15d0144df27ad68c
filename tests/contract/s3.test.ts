import { describe } from 'node:test';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { s3, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

export const needs: readonly Need[] = ['bucket'];

// The store with a prefix has the same code, and the other tests of this store use it without a prefix.
describe('A bucket without a prefix', IN_FULL_FORM_ONLY, () => {
  const backend = shareWithinFile(s3);
  storeContract(backend);
  optionalContract(backend);
});
