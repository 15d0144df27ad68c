import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import { createPermissions } from '../../../web/src/model/account/permissions.ts';
import { createFolderPickerState } from '../../../web/src/model/changes/folder-picker-state.ts';
import { when } from './folder-scene.ts';
import { createMemoryService } from './upload-service.ts';

/** Opens the picker for a move of `b/` and `x.txt`, and waits until its folders are read. */
async function openPicker() {
  const { service } = createMemoryService({ 'a/1/': '', 'b/2/': '', 'c/': '', 'x.txt': 'x' });
  const picker = createFolderPickerState({
    service,
    permissions: createPermissions({
      isReadOnly: false,
      isControlled: false,
      isAnonymous: () => false,
      shown: signal(''),
    }),
    compareNames: (left, right) => (left < right ? -1 : 1),
    kind: 'move',
    paths: ['b/', 'x.txt'],
    start: '',
  });
  await when(() => picker.state.value === 'complete');
  return picker;
}

describe('The folder picker', () => {
  it('does not open the moved folder, and lists the folders that match the filter', async () => {
    const picker = await openPicker();
    picker.open('b/');
    assert.equal(picker.path.value, '');
    picker.filter.value = 'C';
    assert.deepEqual(
      picker.folders.value.map(({ path }) => path),
      ['c/'],
    );
    assert.equal(picker.active.value?.path, 'c/');
  });

  it('explains why a folder can’t be the destination', async () => {
    const picker = await openPicker();
    assert.equal(picker.reason.value, 'already-here');
    picker.open('a/');
    assert.equal(picker.reason.value, undefined);
  });

  it('makes the previous folder active after the user goes up', async () => {
    const picker = await openPicker();
    picker.open('c/');
    picker.up();
    await when(() => picker.state.value === 'complete');
    assert.equal(picker.active.value?.path, 'c/');
    picker.move(-10);
    assert.equal(picker.active.value?.path, 'a/');
  });

  it('knows the names of folders that the filter hides', async () => {
    const picker = await openPicker();
    picker.filter.value = 'zzz';
    assert.deepEqual([picker.isTaken('a'), picker.isTaken('zzz')], [true, false]);
  });
});
