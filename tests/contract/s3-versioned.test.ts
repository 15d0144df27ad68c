import type { Need } from '../runner/needs.ts';
import { s3Versioned, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';

export const needs: readonly Need[] = ['bucket'];

optionalContract(shareWithinFile(s3Versioned));
