import type { Need } from '../runner/needs.ts';
import { s3 } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

export const needs: readonly Need[] = ['bucket'];

storeContract(s3);
optionalContract(s3);
