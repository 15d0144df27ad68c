import { github, githubPath } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { testUndoChains } from './chains.ts';
import { testUndo } from './suite.ts';

export const needs: readonly Need[] = ['git'];

testUndo(github, { onlyRepresentative: true });
// It moves and copies over the same content.
testUndoChains(githubPath, [10]);
