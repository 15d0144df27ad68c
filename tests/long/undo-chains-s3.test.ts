// Only it undoes and redoes hundreds of random chains of twenty changes, on every store. Each chain makes eighty changes.
import { disk, github, githubPath, memory, s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { testUndoChains } from '../undo/chains.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

const seeds = (count: number) => Array.from({ length: count }, (_, index) => index);

testUndoChains(memory, seeds(200));
testUndoChains(disk, seeds(40));
testUndoChains(s3, seeds(20));
testUndoChains(github, seeds(20));
testUndoChains(githubPath, seeds(20));
