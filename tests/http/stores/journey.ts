import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Backend, emptied } from '../../contract/backend.ts';
import { namesIn, plant, postJson, send, treeOf } from '../client.ts';
import { startWith } from '../folder-operations.ts';

/** Files and folders that no operation changes. */
const KEPT = { 'a/': null, 'a/1': 'one', 'a/b/': null, 'a/b/2': 'two', ab: 'neighbour', 'c/': null, 'c/kept': '' };

/** Tests each operation once, in one service. */
export function journeySuite(backend: Backend): void {
  describe(`Operations in turn: ${backend.name}`, () => {
    it('lists, copies, moves, renames and removes files and folders, and changes nothing else', async (test) => {
      const { port } = await startWith(backend, test);
      await plant(port, KEPT);
      assert.deepEqual(await namesIn(port, 'a'), ['1', 'b/']);
      const post = async (path: string, body: Record<string, unknown>) => {
        const response = await postJson(port, path, body);
        assert.equal(response.status, 200, response.body.toString());
      };

      await post('/create_folder', { path: 'c/d' });
      assert.deepEqual(await treeOf(port), { ...KEPT, 'c/d/': null });
      await post('/copy', { source: 'a', destination: 'c/d', is_folder: true, overwrite: true });
      await post('/copy', { source: 'ab', destination: 'c/e', is_folder: false });
      await post('/move', { source: 'c/e', destination: 'c/f/e', is_folder: false });
      await post('/rename/c/f/e', { newName: 'g' });
      await post('/rename_folder/c/d', { newName: 'h' });
      const file = { 'c/f/': null, 'c/f/g': 'neighbour' };
      const folder = { 'c/h/': null, 'c/h/1': 'one', 'c/h/b/': null, 'c/h/b/2': 'two' };
      assert.deepEqual(await treeOf(port), { ...KEPT, ...file, ...folder });
      await post('/move', { source: 'c/h', destination: 'i', is_folder: true });
      const moved = { 'i/': null, 'i/1': 'one', 'i/b/': null, 'i/b/2': 'two' };
      assert.deepEqual(await treeOf(port), { ...KEPT, ...file, ...moved });

      const remove = async (path: string) => assert.equal((await send(port, path, { method: 'DELETE' })).status, 200);
      await remove('/delete/c/f/g');
      await remove('/delete_folder/i');
      assert.deepEqual(await treeOf(port), emptied(backend, { ...KEPT, 'c/f/': null }, 'c/f/'));
    });
  });
}
