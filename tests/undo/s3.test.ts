import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { testUndo } from './suite.ts';

export const needs: readonly Need[] = ['bucket'];

// Chains of changes: tests/long/undo-chains-s3.test.ts.
testUndo(s3, { onlyRepresentative: true });
