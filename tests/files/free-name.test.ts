import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { disk, github, memory } from '../contract/backend.ts';
import { file, plant, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git'];

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
