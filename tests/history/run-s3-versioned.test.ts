import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { judgeRuns } from './judged-run.ts';

export const needs: readonly Need[] = ['bucket'];

// `npm run history` also runs it.
if (isFullForm || process.env['HISTORY_MINUTES'] !== undefined) judgeRuns('versioned-bucket', 2);
