import type { Need } from '../runner/needs.ts';
import { judgeRuns } from './judged-run.ts';

export const needs: readonly Need[] = ['bucket'];

judgeRuns('versioned-bucket', 2);
