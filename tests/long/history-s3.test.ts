/*
 * As tests/history, with longer histories, for two minutes on each store: the only test that checks random concurrent operations
 * and faults against the documented guarantees. A violation that needs several overlapping requests is found by many rounds only.
 */

import { judgeRuns } from '../history/judged-run.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

judgeRuns('disk', 20, 2);
judgeRuns('github', 10, 2);
judgeRuns('bucket', 12, 2);
