import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import { type FilePath, type FolderPath, isFolder, parseFile, parseFolder } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { type Backend, memory, shareWithinFile, testsOf } from '../contract/backend.ts';
import { plant } from '../contract/bytes.ts';
import { openUndoableFiles, type UndoableFiles } from './undoable-files.ts';

type Path = FilePath | FolderPath;
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

/** Changes whose undo moves or deletes what they left at `path`. */
const CHANGES_OF_PLACE: Readonly<
  Record<string, { readonly path: Path; readonly before: Work; readonly change: Work; readonly later?: Work }>
> = {
  'a moved file': {
    path: OTHER,
    before: ({ upload }) => upload('d/a', 'mine'),
    change: ({ files }) => files.moveFile(FILE, OTHER, { replace: false }),
  },
  'a moved file that was replaced since': {
    path: OTHER,
    before: ({ upload }) => upload('d/a', 'mine'),
    change: ({ files }) => files.moveFile(FILE, OTHER, { replace: false }),
    later: ({ upload }) => upload('d/b', 'mine too'),
  },
  'a moved folder': {
    path: TARGET,
    before: ({ upload }) => upload('f/a', 'mine'),
    change: ({ files }) => files.moveFolder(FOLDER, TARGET, { replace: false }),
  },
  'a move over a folder': {
    path: TARGET,
    before: async ({ upload }) => {
      await upload('f/a', 'mine');
      await upload('g/a', 'replaced');
    },
    change: ({ files }) => files.moveFolder(FOLDER, TARGET, { replace: true }),
  },
  'a copied folder': {
    path: TARGET,
    before: ({ upload }) => upload('f/a', 'mine'),
    change: ({ files }) => files.copyFolder(FOLDER, TARGET, { replace: false }),
  },
  'a restored folder': {
    path: TARGET,
    before: async ({ upload, files }) => {
      await upload('g/a', 'mine');
      await files.deleteFolder(TARGET);
    },
    change: async ({ files }) => files.restoreTrashed((await files.listTrash()).items[0]?.id ?? fail()),
  },
};

/** Moves whose undo can be interrupted between its first step and the record of that. */
const INTERRUPTED_MOVES: Readonly<
  Record<string, { readonly from: Path; readonly path: Path; readonly before: Work; readonly change: Work }>
> = {
  'a renamed file': {
    from: FILE,
    path: OTHER,
    before: ({ upload }) => upload('d/a', 'x'),
    change: ({ files }) => files.renameFile(FILE, 'b', { replace: false }),
  },
  'a move over a file': {
    from: FILE,
    path: OTHER,
    before: async ({ upload }) => {
      await upload('d/a', 'one');
      await upload('d/b', 'three');
    },
    change: ({ files }) => files.moveFile(FILE, OTHER, { replace: true }),
  },
  'a moved empty folder': {
    from: FOLDER,
    path: TARGET,
    before: ({ files }) => files.createFolder(FOLDER),
    change: ({ files }) => files.moveFolder(FOLDER, TARGET, { replace: false }),
  },
  'a move over a folder': {
    from: FOLDER,
    path: TARGET,
    before: async ({ upload }) => {
      await upload('f/a', 'one');
      await upload('g/b', 'three');
    },
    change: ({ files }) => files.moveFolder(FOLDER, TARGET, { replace: true }),
  },
};

/** Moves an item like a process that is killed before it records the change, or like another program. */
async function moveUnrecorded(store: Store, from: Path, to: Path): Promise<void> {
  if (isFolder(from)) await store.moveFolder?.(from, to as FolderPath, { replace: false });
  else await store.move?.(from, to as FilePath, { replace: false });
}

const failsWith = (code: string, message: RegExp) => (error: unknown) =>
  isStoreError(error) && error.code === code && message.test(error.message) ? true : assert.fail(String(error));

/** Changes whose undo differs most between stores. */
const REPRESENTATIVE: ReadonlySet<string> = new Set(['a replaced file', 'a move over a file', 'a copy over a folder']);

/**
 * The tests that the undo of changes passes on every store. `onlyRepresentative`: for a slow store, only changes whose undo
 * differs between stores.
 */
export function testUndo(backend: Backend, { onlyRepresentative = false } = {}): void {
  const { open } = shareWithinFile(backend);

  describe(`undo on ${backend.name}`, () => {
    const test = testsOf(backend);
    /** Defines a test of what only the change log decides, which one store suffices for. */
    const ofLog = (title: string, body: () => Promise<void>) => {
      if (backend === memory) it(title, body);
    };
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

    ofLog('reverses renames of one file only in reverse order', async () => {
      const { files, change, undo, upload } = undoable;
      await upload('a', 'x');
      const first = await change(() => files.renameFile(parseFile('a'), 'b', { replace: false }));
      const second = await change(() => files.renameFile(parseFile('b'), 'c', { replace: false }));
      await assert.rejects(undo(first), failsWith('not-undoable', /by "ann".*"b" to "c"/));
      await undo(second);
      await undo(first);
      assert.deepEqual(await undoable.tree(), { a: 'x' });
    });

    ofLog('reverses several replacements of one file in reverse order', async () => {
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

    ofLog('reverses an upload after its folder was renamed, and the file replaced in between', async () => {
      const { files, change, undo, upload } = undoable;
      const created = await change(() => upload('f/a', '1'));
      const renamed = await change(() => files.renameFolder(FOLDER, 'g', { replace: false }));
      const replaced = await change(() => upload('g/a', '2'));
      await undo(replaced);
      await undo(renamed);
      assert.deepEqual(await undoable.contents(), { 'f/a': '1' });
      await undo(created);
      assert.deepEqual(await undoable.contents(), {});
    });

    ofLog('does not reverse an upload if the file was replaced while its folder had another name', async () => {
      const { files, change, undo, upload } = undoable;
      const created = await change(() => upload('f/a', '1'));
      const renamed = await change(() => files.renameFolder(FOLDER, 'g', { replace: false }));
      await change(() => upload('g/a', '2'));
      await undo(renamed);
      await assert.rejects(undo(created), failsWith('not-undoable', /file\.(replaced|written) "g\/a"/));
      assert.deepEqual(await undoable.contents(), { 'f/a': '2' });
    });

    const vacating: Record<string, Work> = {
      deleted: ({ files }) => files.deleteFolder(FOLDER),
      renamed: ({ files }) => files.renameFolder(FOLDER, 'g', { replace: false }),
    };
    for (const [name, vacate] of Object.entries(vacating)) {
      it(`restores a folder that was ${name} although a reversed upload left an empty folder of its name`, async () => {
        const { change, undo, upload } = undoable;
        await upload('f/a', '1');
        const vacated = await change(() => vacate(undoable));
        const later = await change(() => upload('f/sub/b', '2'));
        await undo(later);
        const undone = await undo(vacated);
        assert.deepEqual(await undoable.contents(), { 'f/a': '1' });
        await undo(undone);
        assert.equal('f/a' in (await undoable.contents()), false);
      });

      it(`does not restore a folder that was ${name} over a new folder with files or folders`, async () => {
        const { files, change, undo, upload } = undoable;
        await upload('f/a', '1');
        const vacated = await change(() => vacate(undoable));
        const later = await change(() => files.createFolder(parseFolder('f/new')));
        const before = await undoable.tree();
        await assert.rejects(undo(vacated), failsWith('not-undoable', /already exists/));
        assert.deepEqual(await undoable.tree(), before);
        await undo(later);
        await upload('f/b', '2');
        await assert.rejects(undo(vacated), failsWith('not-undoable', /already exists/));
      });
    }

    it('records no change for a new folder that exists already', async () => {
      const { files, changeIfAny, upload, store } = undoable;
      await upload('f/sub/a', '1');
      await store.createFolder(parseFolder('p/q'));
      for (const path of ['f', 'f/sub', 'p', 'p/q']) {
        assert.equal(await changeIfAny(() => files.createFolder(parseFolder(path))), undefined, path);
      }
    });

    it('does not reverse a new folder in which another program created a folder', async () => {
      const { files, change, undo, upload, store } = undoable;
      const created = await change(() => files.createFolder(FOLDER));
      const later = await change(() => upload('f/sub/b', '2'));
      await undo(later);
      await store.createFolder(parseFolder('f/theirs'));
      const before = await undoable.tree();
      await assert.rejects(undo(created), failsWith('not-undoable', /not empty/));
      assert.deepEqual(await undoable.tree(), before);
      await store.removeFolder(parseFolder('f/theirs'));
      await undo(created);
      assert.deepEqual(await undoable.tree(), {});
    });

    it('does not restore a folder over a folder of another program', async () => {
      const { files, change, undo, upload, store } = undoable;
      await upload('f/a', '1');
      const deleted = await change(() => files.deleteFolder(FOLDER));
      await store.createFolder(parseFolder('f/theirs'));
      const before = await undoable.tree();
      await assert.rejects(undo(deleted), failsWith('not-undoable', /already exists/));
      assert.deepEqual(await undoable.tree(), before);
    });

    ofLog('reverses a deletion after its item was restored and the restoration was reversed', async () => {
      const { files, change, undo, upload } = undoable;
      await upload('d/a', '1');
      const deleted = await change(() => files.deleteFile(FILE));
      const { items } = await files.listTrash();
      const [item] = items;
      assert(item);
      const restored = await change(() => files.restoreTrashed(item.id, { to: parseFile('elsewhere') }));
      await assert.rejects(undo(deleted), failsWith('not-undoable', /file\.restored "elsewhere"/));
      await undo(restored);
      await undo(deleted);
      assert.deepEqual(await undoable.contents(), { 'd/a': '1' });
    });

    ofLog('redoes the fifth of: put, put, move over, put, put', async () => {
      const { files, change, undo, upload } = undoable;
      const ids = [
        await change(() => upload('d/a', '1')),
        await change(() => upload('d/b', '2')),
        await change(() => files.moveFile(FILE, OTHER, { replace: true })),
        await change(() => upload('d/a', '4')),
        await change(() => upload('d/b', '5')),
      ];
      const undos: string[] = [];
      for (const id of ids.toReversed()) undos.unshift(await undo(id));
      assert.deepEqual(await undoable.contents(), {});
      for (const id of undos) await undo(id);
      assert.deepEqual(await undoable.contents(), { 'd/a': '4', 'd/b': '5' });
    });

    for (const [name, { path, before, change, later }] of Object.entries(CHANGES_OF_PLACE)) {
      test(
        ['identify'],
        `does not reverse ${name} after another program put another item there, also after a redo`,
        async () => {
          const { store, tree, undo } = undoable;
          await before(undoable);
          const id = await undoable.change(() => change(undoable));
          const redone = await undo(await undo(id));
          await later?.(undoable);
          await store.createFolder(parseFolder('elsewhere'));
          if (isFolder(path)) {
            await store.moveFolder?.(path, parseFolder('elsewhere/f'), { replace: false });
            await plant(store, { [path]: null, [`${path}other`]: 'other' });
          } else {
            await store.move?.(path, parseFile('elsewhere/a'), { replace: false });
            await plant(store, { [path]: 'other' });
          }
          const found = await tree();
          await assert.rejects(undo(redone), failsWith('not-undoable', /has changed since/));
          assert.deepEqual(await tree(), found);
        },
      );
    }

    for (const [name, contents] of Object.entries({ 'an upload': ['1'], 'a replacement': ['0', '1'] })) {
      it(`reverses ${name} after moves and their undo, unless another program has changed the file since`, async () => {
        // Only the ETags tell, where items have no identity.
        const { identify: _, ...store } = undoable.store;
        await using withoutIdentities = await openUndoableFiles(store);
        const { files, change, undo, upload } = withoutIdentities;
        let id = '';
        for (const content of contents) id = await change(() => upload('d/a', content));
        const renamed = await change(() => files.renameFile(FILE, 'b', { replace: false }));
        await undo(renamed);
        const undone = await undo(id);
        const redone = await undo(undone);
        const moved = await change(() => files.moveFile(FILE, parseFile('f/a'), { replace: false }));
        await undo(moved);
        await plant(store, { 'd/a': 'by another program' });
        await assert.rejects(undo(redone), failsWith('not-undoable', /has changed since/));
        assert.deepEqual(await undoable.contents(), { 'd/a': 'by another program' });
      });
    }

    ofLog('does not redo a move over a file that another program has changed since the undo', async () => {
      const { files, change, undo, upload, store } = undoable;
      await upload('d/a', 'one');
      await upload('d/b', 'three');
      const moved = await change(() => files.moveFile(FILE, OTHER, { replace: true }));
      const undone = await undo(moved);
      await plant(store, { 'd/b': 'by another program' });
      const found = await undoable.tree();
      await assert.rejects(undo(undone), failsWith('not-undoable', /has changed since/));
      assert.deepEqual(await undoable.tree(), found);
      await store.remove(OTHER);
      await undo(undone);
      assert.deepEqual(await undoable.contents(), { 'd/b': 'one' });
    });

    test(
      ['identify'],
      'does not redo a move over a folder that another program has replaced since the undo',
      async () => {
        const { files, change, undo, upload, store, tree } = undoable;
        await upload('f/a', 'one');
        await upload('g/b', 'three');
        const moved = await change(() => files.moveFolder(FOLDER, TARGET, { replace: true }));
        const undone = await undo(moved);
        await store.moveFolder?.(TARGET, parseFolder('elsewhere'), { replace: false });
        await plant(store, { 'g/': null, 'g/other': 'by another program' });
        const found = await tree();
        await assert.rejects(undo(undone), failsWith('not-undoable', /has changed since/));
        assert.deepEqual(await tree(), found);
      },
    );

    ofLog('undoes a rename again after a redone chain that created the folder twice', async () => {
      const { files, change, undo, upload } = undoable;
      let ids = [
        await change(() => files.createFolder(parseFolder('d/e'))),
        await change(() => files.renameFolder(parseFolder('d/e'), 'z', { replace: false })),
        await change(() => upload('d/e/c', '1')),
      ];
      // Undo all, redo all, undo all again.
      for (let round = 0; round < 3; round++) {
        const undos: string[] = [];
        for (const id of ids.toReversed()) undos.push(await undo(id));
        ids = undos;
      }
      assert.deepEqual(await undoable.contents(), {});
    });

    for (const [name, { from, path, before, change }] of Object.entries(INTERRUPTED_MOVES)) {
      test(
        ['identify'],
        `completes the undo of ${name} whose first step was not recorded, and its own undo redoes it`,
        async () => {
          const { store, tree, undo } = undoable;
          await undoable.upload('d/other', 'other');
          await before(undoable);
          const original = await tree();
          const id = await undoable.change(() => change(undoable));
          const changed = await tree();
          await moveUnrecorded(store, path, from);
          const undone = await undo(id);
          assert.deepEqual(await tree(), original);
          await assert.rejects(undo(id), failsWith('already-undone', /already undone/));
          const redone = await undo(undone);
          assert.deepEqual(await tree(), changed);
          await undo(redone);
          assert.deepEqual(await tree(), original);
        },
      );

      test(['identify'], `does not take another item for ${name} that an undo has moved back`, async () => {
        const { store, tree, undo } = undoable;
        await before(undoable);
        const id = await undoable.change(() => change(undoable));
        await moveUnrecorded(store, path, isFolder(path) ? parseFolder('elsewhere') : parseFile('elsewhere'));
        await plant(store, isFolder(from) ? { [from]: null, [`${from}a`]: 'other' } : { [from]: 'other' });
        const found = await tree();
        await assert.rejects(undo(id), failsWith('not-undoable', /does not exist|already exists/));
        assert.deepEqual(await tree(), found);
      });
    }

    it('reverses the move of a folder whose content changed since, also by other programs', async () => {
      const { files, change, undo, upload, store } = undoable;
      await upload('f/a', 'first');
      const moved = await change(() => files.moveFolder(FOLDER, TARGET, { replace: false }));
      const renamed = await change(() => files.renameFile(parseFile('g/a'), 'b', { replace: false }));
      await upload('g/b', 'second');
      await undo(renamed);
      await plant(store, { 'g/c': 'by another program' });
      await undo(moved);
      assert.deepEqual(await undoable.contents(), { 'f/a': 'second', 'f/c': 'by another program' });
    });

    test(
      ['purgeVersions'],
      'says that a replacement whose versions were deleted can no longer be reversed',
      async () => {
        const { files, change, undo, upload } = undoable;
        await upload('d/a', 'first');
        const replaced = await change(() => upload('d/a', 'second'));
        await files.deleteVersions(FILE);
        await assert.rejects(undo(replaced), failsWith('not-undoable', /no longer a version of the file/));
        assert.deepEqual(await undoable.contents(), { 'd/a': 'second' });
      },
    );

    it('changes nothing if the last step of an undo is impossible', async () => {
      const { files, change, undo, upload, store } = undoable;
      await upload('f/a', '1');
      await upload('g/b', '2');
      const moved = await change(() => files.moveFolder(FOLDER, TARGET, { replace: true }));
      if (store.purgeTrashed) await files.emptyTrash();
      else await files.restoreTrashed((await files.listTrash()).items[0]?.id ?? fail(), { to: parseFolder('h') });
      const before = await undoable.tree();
      await assert.rejects(undo(moved), failsWith('not-undoable', /trash|folder\.restored/));
      assert.deepEqual(await undoable.tree(), before);
    });
  });
}

const fail = (): never => assert.fail('The trash is empty.');
