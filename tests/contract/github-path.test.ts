import type { Need } from '../runner/needs.ts';
import { githubPath, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

export const needs: readonly Need[] = ['git'];

const backend = shareWithinFile(githubPath);
storeContract(backend);
optionalContract(backend);
