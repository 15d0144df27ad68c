import type { Need } from '../runner/needs.ts';
import { github } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

export const needs: readonly Need[] = ['git'];

storeContract(github);
optionalContract(github);
