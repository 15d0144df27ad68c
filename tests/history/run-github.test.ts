import type { Need } from '../runner/needs.ts';
import { judgeRuns } from './judged-run.ts';

export const needs: readonly Need[] = ['git'];

judgeRuns('github', 2);
