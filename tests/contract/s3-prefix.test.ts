import type { Need } from '../runner/needs.ts';
import { s3Prefix, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

export const needs: readonly Need[] = ['bucket'];

const backend = shareWithinFile(s3Prefix);
storeContract(backend);
optionalContract(backend);
