import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { testUndoChains } from './chains.ts';
import { testUndo } from './suite.ts';

export const needs: readonly Need[] = ['bucket'];

testUndo(s3, { onlyRepresentative: true });
testUndoChains(s3, [0]);
