import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { httpSuite } from './suite/all.ts';

export const needs: readonly Need[] = ['bucket'];

httpSuite(s3);
