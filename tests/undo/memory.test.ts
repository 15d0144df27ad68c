import { memory } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import { testUndoChains } from './chains.ts';
import { testUndo } from './suite.ts';

testUndo(memory);
testUndoChains(
  memory,
  Array.from({ length: isFullForm ? 200 : 6 }, (_, index) => index),
);
