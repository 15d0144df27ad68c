import { memory } from '../contract/backend.ts';
import { testUndoChains } from './chains.ts';
import { testUndo } from './suite.ts';

testUndo(memory);
testUndoChains(
  memory,
  // Chain 63 moves a folder that an undone change left. Chains 98 and 104 delete two folders of the same name, and restore
  // both. Chain 1033 redoes a move whose undo replaced an empty folder.
  [0, 1, 2, 3, 4, 5, 63, 98, 104, 1033],
);
