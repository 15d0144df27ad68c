import { describe } from 'node:test';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { judgeRuns } from './judged-run.ts';

export const needs: readonly Need[] = ['bucket'];

const isLongRun = process.env['HISTORY_MINUTES'] !== undefined;

describe('A bucket with object versions', isLongRun ? {} : IN_FULL_FORM_ONLY, () => judgeRuns('versioned-bucket', 2));
