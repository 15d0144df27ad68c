// As in tests/history, on a bucket that keeps object versions, for two minutes: only it runs histories on such a bucket.
import { judgeRuns } from '../history/judged-run.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

judgeRuns('versioned-bucket', 12, 2);
