import { judgeRuns } from '../history/judged-run.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

// As in tests/history, with longer histories, for five minutes on each store.

judgeRuns('disk', 20, 5);
judgeRuns('github', 10, 5);
judgeRuns('bucket', 12, 5);
judgeRuns('versioned-bucket', 12, 5);
