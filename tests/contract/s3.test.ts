import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { s3, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

export const needs: readonly Need[] = ['bucket'];

const backend = shareWithinFile(s3);
storeContract(backend);
// The store with a prefix has the same trash and versions, and always tests them.
optionalContract(backend, { retention: isFullForm });
