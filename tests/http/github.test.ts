import { github } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { httpSuite } from './suite/all.ts';

export const needs: readonly Need[] = ['git'];

httpSuite(github);
