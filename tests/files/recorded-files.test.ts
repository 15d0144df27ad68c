import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { RecordedFiles } from '../../src/files/recorded-files.ts';
import type { Change } from '../../src/model/change.ts';
import { StoreError } from '../../src/model/error.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { file, folder, ofKind, plant } from '../contract/bytes.ts';

describe('Recorded files', () => {
  it('record nothing if a file or folder of the other kind has the name of the destination', async () => {
    const store = createMemoryStore();
    const { recorded, recording } = createRecording();
    const core = createFiles(store, { presignExpires: 60, retention: { trash: true, versions: true } });
    const files = new RecordedFiles(core, recording, { user: undefined });
    await plant(store, { 'f/a': '1', b: '2' });
    await core.deleteFolder(folder('f'));
    await plant(store, { f: 'now a file', 'g/c': '3' });
    const [item] = (await files.listTrash()).items;
    assert.ok(item);
    await assert.rejects(files.restoreTrashed(item.id), ofKind('wrong-kind'));
    await assert.rejects(files.moveFile(file('b'), file('g'), { replace: false }), ofKind('wrong-kind'));
    await assert.rejects(files.renameFile(file('b'), 'g', { replace: false }), ofKind('wrong-kind'));
    assert.deepEqual(recorded, []);
  });

  it('record a failed copy of a folder only if its destination exists, or existed before', async () => {
    const { recorded, recording } = createRecording();
    const store = createMemoryStore();
    await plant(store, { 'f/a': '1', 'g/b': '2' });
    store.copyFolder = async (_from, to) => {
      if (to === folder('g')) await store.removeTree?.(to);
      if (to === folder('half')) await store.createFolder(to);
      throw new StoreError('disk-error', 'The disk reported an error.');
    };
    const files = new RecordedFiles(createFiles(store, { presignExpires: 60 }), recording, { user: undefined });
    for (const to of ['new', 'half', 'g']) {
      await assert.rejects(files.copyFolder(folder('f'), folder(to), { replace: true }), { code: 'disk-error' });
    }
    await assert.rejects(files.copyFolder(folder('f'), folder('x'), { replace: false }), { code: 'disk-error' });
    assert.deepEqual(
      recorded.map(({ type, path }) => `${type} ${path}`),
      ['folder.changed half/', 'folder.changed g/'],
    );
  });

  it('record nothing when the item would have to move to another file system', async () => {
    const { recorded, recording } = createRecording();
    const store = createMemoryStore();
    await plant(store, { 'f/a': '1' });
    const refuse = () => Promise.reject(new StoreError('other-file-system', 'Another file system.'));
    Object.assign(store, { moveToTrash: refuse, moveFolder: refuse });
    const options = { presignExpires: 60, retention: { trash: true, versions: false } };
    const files = new RecordedFiles(createFiles(store, options), recording, { user: undefined });
    await assert.rejects(files.deleteFolder(folder('f'), {}), { code: 'other-file-system' });
    await assert.rejects(files.moveFolder(folder('f'), folder('g'), { replace: false }), { code: 'other-file-system' });
    assert.deepEqual(recorded, []);
  });
});

/** Returns a recording that collects all changes in `recorded`. */
function createRecording() {
  const recorded: Change[] = [];
  const end = async (changes: readonly Change[]) => {
    recorded.push(...changes);
    return undefined;
  };
  return { recorded, recording: { begin: () => {}, end } };
}
