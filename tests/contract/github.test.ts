import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { github, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

export const needs: readonly Need[] = ['git'];

const backend = shareWithinFile(github);
storeContract(backend);
// The store with a path has the same trash and versions, and always tests them.
optionalContract(backend, { retention: isFullForm });
