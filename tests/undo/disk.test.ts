import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import { parseFile } from '../../src/model/path.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import { disk } from '../contract/backend.ts';
import { silentLog } from '../contract/bytes.ts';
import { testUndoChains } from './chains.ts';
import { testUndo } from './suite.ts';
import { openUndoableFiles } from './undoable-files.ts';

testUndo(disk);
testUndoChains(disk, [0]);

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

it('The undo of an upload after the undo of a rename keeps what another program has appended to the file', async (t) => {
  const root = await temporaryFolder(t);
  const { store } = await openDisk({ root, log: silentLog });
  try {
    await using undoable = await openUndoableFiles(store);
    const { change, files, undo, upload } = undoable;
    const uploaded = await change(() => upload('a', 'uploaded'));
    await undo(await change(() => files.renameFile(parseFile('a'), 'b', { replace: false })));
    await appendFile(join(root, 'a'), ' and appended');
    await assert.rejects(undo(uploaded), (error) => isStoreError(error) && error.code === 'not-undoable');
    assert.deepEqual(await undoable.tree(), { a: 'uploaded and appended' });
  } finally {
    await store.close?.();
  }
});

it('An upload can be undone after moves that copied the file, so that it has other ETags', async () => {
  const { store, close } = await disk.open();
  try {
    const { move: _, ...withoutMove } = store;
    await using undoable = await openUndoableFiles(withoutMove);
    const { change, files, undo, upload } = undoable;
    const uploaded = await change(() => upload('a', 'uploaded'));
    await undo(await change(() => files.renameFile(parseFile('a'), 'b', { replace: false })));
    await undo(uploaded);
    assert.deepEqual(await undoable.tree(), {});
  } finally {
    await close();
  }
});
