import { github, githubPath } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { testUndoChains } from './chains.ts';
import { testUndo } from './suite.ts';

export const needs: readonly Need[] = ['git'];

testUndo(github, { onlyRepresentative: !isFullForm });
// The two chains of the short form move and copy over the same content.
const seeds = Array.from({ length: 20 }, (_, index) => index);
testUndoChains(github, isFullForm ? seeds : [6]);
testUndoChains(githubPath, isFullForm ? seeds : [10]);
