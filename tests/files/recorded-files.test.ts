import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { RecordedFiles } from '../../src/files/recorded-files.ts';
import type { Change } from '../../src/model/change.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { file, folder, ofKind, plant } from '../contract/bytes.ts';

describe('Recorded files', () => {
  it('record nothing if a file or folder of the other kind has the name of the destination', async () => {
    const store = createMemoryStore();
    const recorded: Change[] = [];
    const recording = {
      begin: () => {},
      end: async (changes: readonly Change[]) => {
        recorded.push(...changes);
        return undefined;
      },
    };
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
});
