import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { isFolder } from '../../src/model/path.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { disk, github, memory } from '../contract/backend.ts';
import { file, folder, ofKind, plant, silentLog, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git'];

describe('Names of symbolic links', () => {
  it('are taken, for uploads and restores that choose a free name', async () => {
    await using place = await openDiskAt();
    const { root, store } = place;
    await symlink('/etc', join(root, 'link'));
    const files = createFiles(store, { presignExpires: 60, retention: { trash: true, versions: false } });
    const target = async () => ({ path: file('link'), condition: 'absent', rename: true }) as const;
    assert.equal((await files.upload({ target, body: upload('one').body })).path, 'link (2)');
    await plant(store, { a: '1', 'f/b': '2' });
    await files.deleteFile(file('a'));
    await files.deleteFolder(folder('f'));
    for (const { id, path } of (await files.listTrash()).items) {
      const to = isFolder(path) ? folder('link') : file('link');
      assert.match(await files.restoreTrashed(id, { to, rename: true }), /^link \([34]\)\/?$/);
    }
    const below = files.upload({
      target: async () => ({ ...(await target()), path: file('link/x') }),
      body: upload('x').body,
    });
    await assert.rejects(below, ofKind('wrong-kind'));
  });
});

/** Opens a disk store with a known folder. */
async function openDiskAt() {
  const root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
  const { store } = await openDisk({ root, log: silentLog });
  return {
    root,
    store,
    async [Symbol.asyncDispose]() {
      await store.close?.();
      await rm(root, { recursive: true });
    },
  };
}

for (const backend of [memory, disk, github]) {
  describe(`Uploads that choose a free name: ${backend.name}`, () => {
    const open = async () => {
      const { store, close } = await backend.open();
      const files = createFiles(store, { presignExpires: 60 });
      const send = (path: string, content: string) =>
        files.upload({
          target: async () => ({ path: file(path), condition: 'absent', rename: true }),
          body: upload(content).body,
        });
      return { store, files, send, [Symbol.asyncDispose]: close };
    };

    it('numbers taken names, and replaces nothing', async () => {
      await using opened = await open();
      await plant(opened.store, { 'f/a.txt': 'old', 'f/b.txt': 'other' });
      assert.equal((await opened.send('f/a.txt', 'one')).path, 'f/a (2).txt');
      assert.equal((await opened.send('f/a.txt', 'two')).path, 'f/a (3).txt');
      assert.deepEqual(await treeOf(opened.store), {
        'f/': null,
        'f/a (2).txt': 'one',
        'f/a (3).txt': 'two',
        'f/a.txt': 'old',
        'f/b.txt': 'other',
      });
    });

    it('keeps all of several uploads of one name at once', async () => {
      await using opened = await open();
      const contents = Array.from({ length: 6 }, (_, index) => `content ${index}`);
      await Promise.all(contents.map((content) => opened.send('a.txt', content)));
      const stored = Object.values(await treeOf(opened.store)).filter((each) => each !== null);
      assert.deepEqual(stored.toSorted(), contents);
    });
  });
}
