import { github } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { testUndoChains } from './chains.ts';
import { testUndo } from './suite.ts';

export const needs: readonly Need[] = ['git'];

testUndo(github, { onlyRepresentative: !isFullForm });
testUndoChains(
  github,
  Array.from({ length: isFullForm ? 20 : 1 }, (_, index) => index),
);
