import { s3 } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { testUndo } from './suite.ts';

export const needs: readonly Need[] = ['bucket'];

testUndo(s3, { onlyRepresentative: !isFullForm });
