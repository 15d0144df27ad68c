import assert from 'node:assert/strict';
import { it } from 'node:test';
import { disk } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import { testUndoChains } from './chains.ts';
import { testUndo } from './suite.ts';
import { openUndoableFiles } from './undoable-files.ts';

testUndo(disk);
testUndoChains(
  disk,
  Array.from({ length: isFullForm ? 40 : 2 }, (_, index) => index),
);

it('The undo of a replacement on a disk, which has no conditional writes, is one event in the audit log', async () => {
  const { store, close } = await disk.open();
  try {
    await using undoable = await openUndoableFiles(store);
    await undoable.upload('a', 'old');
    const replaced = await undoable.change(() => undoable.upload('a', 'new'));
    const earlier = undoable.events.length;
    await undoable.undo(replaced);
    const summary = undoable.events.slice(earlier).map(({ action, outcome }) => `${action} ${outcome}`);
    assert.deepEqual(summary, ['restore version done']);
    assert.deepEqual(await undoable.tree(), { a: 'old' });
  } finally {
    await close();
  }
});
