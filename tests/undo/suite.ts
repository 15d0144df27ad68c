import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import { type Backend, shareWithinFile } from '../contract/backend.ts';
import { openUndoableFiles, type UndoableFiles } from './undoable-files.ts';

type Work = (undoable: UndoableFiles) => Promise<unknown>;

const FILE = parseFile('d/a');
const OTHER = parseFile('d/b');
const FOLDER = parseFolder('f');
const TARGET = parseFolder('g');

/** Changes of each kind, with what exists before. Undoing each one restores that. */
const CHANGES: Readonly<Record<string, { readonly before?: Work; readonly change: Work }>> = {
  'a new file': { change: ({ upload }) => upload('d/a', 'new') },
  'a replaced file': {
    before: ({ upload }) => upload('d/a', 'first'),
    change: ({ upload }) => upload('d/a', 'second'),
  },
  'a deleted file': { before: ({ upload }) => upload('d/a', 'x'), change: ({ files }) => files.deleteFile(FILE) },
  'a renamed file': {
    before: ({ upload }) => upload('d/a', 'x'),
    change: ({ files }) => files.renameFile(FILE, 'b', { replace: false }),
  },
  'a move over a file': {
    before: async ({ upload }) => {
      await upload('d/a', 'one');
      await upload('d/b', 'three');
    },
    change: ({ files }) => files.moveFile(FILE, OTHER, { replace: true }),
  },
  'a copied file': {
    before: ({ upload }) => upload('d/a', 'x'),
    change: ({ files }) => files.copyFile(FILE, OTHER, { replace: false }),
  },
  'a copy over a file': {
    before: async ({ upload }) => {
      await upload('d/a', 'one');
      await upload('d/b', 'three');
    },
    change: ({ files }) => files.copyFile(FILE, OTHER, { replace: true }),
  },
  'a file that was restored from the trash': {
    before: async ({ upload, files }) => {
      await upload('d/a', 'x');
      await files.deleteFile(FILE);
    },
    change: async ({ files }) => {
      const { items } = await files.listTrash();
      for (const { id } of items) await files.restoreTrashed(id);
    },
  },
  'a restored version': {
    before: async ({ upload }) => {
      await upload('d/a', 'first');
      await upload('d/a', 'second');
    },
    change: async ({ files }) => {
      const { versions } = await files.listVersions(FILE);
      for (const { id } of versions) await files.restoreVersion(FILE, id);
    },
  },
  'a new folder': { change: ({ files }) => files.createFolder(FOLDER) },
  'a deleted folder': {
    before: ({ upload }) => upload('f/sub/a', 'x'),
    change: ({ files }) => files.deleteFolder(FOLDER),
  },
  'a moved folder': {
    before: ({ upload }) => upload('f/sub/a', 'x'),
    change: ({ files }) => files.moveFolder(FOLDER, TARGET, { replace: false }),
  },
  'a move over a folder': {
    before: async ({ upload }) => {
      await upload('f/a', 'one');
      await upload('g/b', 'three');
    },
    change: ({ files }) => files.moveFolder(FOLDER, TARGET, { replace: true }),
  },
  'a copied folder': {
    before: ({ upload }) => upload('f/a', 'x'),
    change: ({ files }) => files.copyFolder(FOLDER, TARGET, { replace: false }),
  },
  'a copy over a folder': {
    before: async ({ upload }) => {
      await upload('f/a', 'one');
      await upload('g/b', 'three');
    },
    change: ({ files }) => files.copyFolder(FOLDER, TARGET, { replace: true }),
  },
};

const failsWith = (code: string, message: RegExp) => (error: unknown) =>
  isStoreError(error) && error.code === code && message.test(error.message) ? true : assert.fail(String(error));

/** Changes whose undo differs most between stores. */
const REPRESENTATIVE: ReadonlySet<string> = new Set(['a replaced file', 'a move over a file', 'a copy over a folder']);

/**
 * The tests that the undo of changes passes on every store. `onlyRepresentative`: whether to test only some of the changes,
 * for a slow store.
 */
export function testUndo(backend: Backend, { onlyRepresentative = false } = {}): void {
  const { open } = shareWithinFile(backend);

  describe(`undo on ${backend.name}`, () => {
    let undoable: UndoableFiles;
    let close: () => Promise<void>;
    beforeEach(async () => {
      const opened = await open();
      close = opened.close;
      undoable = await openUndoableFiles(opened.store);
    });
    afterEach(async () => {
      await undoable[Symbol.asyncDispose]();
      await close();
    });

    for (const [name, { before, change }] of Object.entries(CHANGES)) {
      if (onlyRepresentative && !REPRESENTATIVE.has(name)) continue;
      it(`reverses ${name}, and its own undo redoes it`, async () => {
        const { undo } = undoable;
        // The parent folder remains when its last file is removed.
        await undoable.upload('d/other', 'other');
        await before?.(undoable);
        const original = await undoable.tree();
        const id = await undoable.change(() => change(undoable));
        const changed = await undoable.tree();
        assert.notDeepEqual(changed, original);
        const undone = await undo(id);
        assert.deepEqual(await undoable.tree(), original);
        await assert.rejects(undo(id), failsWith('already-undone', /already undone/));
        const redone = await undo(undone);
        assert.deepEqual(await undoable.tree(), changed);
        await assert.rejects(undo(undone), failsWith('already-undone', /already undone/));
        await undo(redone);
        assert.deepEqual(await undoable.tree(), original);
        // The change was undone twice, and redone once.
        await assert.rejects(undo(id), failsWith('already-undone', /already undone/));
      });
    }

    it('reverses renames of one file only in reverse order', async () => {
      const { files, change, undo, upload } = undoable;
      await upload('a', 'x');
      const first = await change(() => files.renameFile(parseFile('a'), 'b', { replace: false }));
      const second = await change(() => files.renameFile(parseFile('b'), 'c', { replace: false }));
      await assert.rejects(undo(first), failsWith('not-undoable', /by "ann".*"b" to "c"/));
      await undo(second);
      await undo(first);
      assert.deepEqual(await undoable.tree(), { a: 'x' });
    });

    it('reverses several replacements of one file in reverse order', async () => {
      const { change, undo, upload } = undoable;
      const ids: string[] = [];
      for (const content of ['1', '2', '3']) ids.push(await change(() => upload('a', content)));
      const [created = '', replaced = '', last = ''] = ids;
      await assert.rejects(undo(replaced), failsWith('not-undoable', /file\.replaced "a"/));
      await undo(last);
      await undo(replaced);
      assert.deepEqual(await undoable.tree(), { a: '1' });
      await undo(created);
      assert.deepEqual(await undoable.tree(), {});
    });
  });
}
