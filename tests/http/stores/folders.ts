import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import { assertFailure, assertSuccess, jsonOf, plant, postForm, postJson, send, treeOf } from '../client.ts';
import { servedEmpty } from '../service.ts';
import { maxPathBytesOf, segmentsOf } from '../wrong-paths.ts';

const CREATED = { message: 'Folder created successfully' };
const DELETED = { message: 'Folder deleted successfully' };
const RENAMED = { message: 'Folder renamed successfully' };

/** Names that are similar to a folder `a`, and that no operation on it may change. */
export const NEIGHBOURS = {
  'a-b/': null,
  'a-b/x': '1',
  'a.txt': '2',
  'aa/': null,
  'aa/a/': null,
  'aa/a/x': '3',
  'ab/': null,
  'ab/x': '4',
};

/** Tests creating, deleting and renaming of folders. */
export function foldersSuite(backend: Backend): void {
  describe(`Folders over HTTP: ${backend.name}`, () => {
    const service = servedEmpty(backend);
    let port: number;

    beforeEach(() => {
      ({ port } = service);
    });

    describe('/create_folder', () => {
      it('creates a folder and its parents, with or without slashes at both ends, and lists it at once', async () => {
        for (const path of ['a', 'b/', '/c', '/d/e/f/', 'g/h']) {
          assertSuccess(await postJson(port, '/create_folder', { path }), CREATED);
        }
        const folders = ['a/', 'b/', 'c/', 'd/', 'd/e/', 'd/e/f/', 'g/', 'g/h/'];
        assert.deepEqual(await treeOf(port), Object.fromEntries(folders.map((path) => [path, null])));
      });

      it('lists a new folder as empty, without a marker', async () => {
        await postJson(port, '/create_folder', { path: 'a/b' });
        const empty = { success: true, prefix: 'a/b/', entries: [] };
        assert.deepEqual(jsonOf(await send(port, '/a/b/')), empty);
        assert.deepEqual(jsonOf(await send(port, '/?prefix=a/b')), empty);
        const parent = { success: true, prefix: 'a/', entries: [{ type: 'folder', name: 'b', path: 'a/b/' }] };
        assert.deepEqual(jsonOf(await send(port, '/a')), parent);
      });

      it('succeeds when the folder exists, and keeps its contents', async () => {
        const tree = { 'a/': null, 'a/b/': null, 'a/x': '1' };
        await plant(port, tree);
        for (const path of ['a', 'a/b', 'a/b/']) {
          assertSuccess(await postJson(port, '/create_folder', { path }), CREATED);
        }
        assert.deepEqual(await treeOf(port), tree);
      });

      it('returns 409 when a file has the name, or the path leads through a file', async () => {
        const tree = { 'a/': null, 'a/x': '1', b: '2' };
        await plant(port, tree);
        for (const path of ['b', 'b/', 'b/c', 'b/c/d', 'a/x', 'a/x/y']) {
          assertFailure(await postJson(port, '/create_folder', { path }), 409, /"(a\/x|b)" is not a folder/);
        }
        assert.deepEqual(await treeOf(port), tree);
      });
    });

    describe('/delete_folder', () => {
      for (const method of ['DELETE', 'POST']) {
        it(`removes the folder and everything in it by ${method}, and returns exactly success and message`, async () => {
          const rest = { 'f/': null, 'f/x': '0' };
          await plant(port, { ...rest, 'f/a/x': '1', 'f/a/b/c/y': '2', 'f/a/empty/': null, 'f/e/': null });
          assertSuccess(await send(port, '/delete_folder/f/a', { method }), DELETED);
          assertSuccess(await send(port, '/delete_folder/f/e/', { method }), DELETED);
          assert.deepEqual(await treeOf(port), rest);
          assertFailure(await send(port, '/f/a/'), 404, 'The folder "f/a/" does not exist.');
        });
      }

      it('returns 404 for a missing folder and for a file, and keeps the file', async () => {
        await plant(port, { 'a/x': '1', b: '2' });
        assertSuccess(await send(port, '/delete_folder/a', { method: 'DELETE' }), DELETED);
        for (const path of ['a', 'missing', 'f/missing', 'b', 'b/c']) {
          const response = await send(port, `/delete_folder/${path}`, { method: 'DELETE' });
          assertFailure(response, 404, `The folder "${path}/" does not exist.`);
        }
        assert.deepEqual(await treeOf(port), { b: '2' });
      });

      it('changes nothing outside the folder: a/ is not ab/, nor a.txt', async () => {
        await plant(port, { ...NEIGHBOURS, 'a/x': '1', 'a/a/x': '2' });
        assertSuccess(await send(port, '/delete_folder/a', { method: 'DELETE' }), DELETED);
        assert.deepEqual(await treeOf(port), NEIGHBOURS);
      });

      it('keeps the parent folder when it becomes empty', async () => {
        await plant(port, { 'f/g/x': '1' });
        assertSuccess(await send(port, '/delete_folder/f/g', { method: 'DELETE' }), DELETED);
        assert.deepEqual(await treeOf(port), { 'f/': null });
      });
    });

    describe('/rename_folder', () => {
      it('renames the folder with its contents, and returns its new path with "/" as newPrefix', async () => {
        await plant(port, { 'a/x': '1', 'a/b/c/y': '2', 'a/empty/': null, 'f/g/z': '3' });
        const atRoot = await postJson(port, '/rename_folder/a', { newName: 'new name' });
        assertSuccess(atRoot, { ...RENAMED, newPrefix: 'new name/' });
        const nested = await postJson(port, '/rename_folder/f/g/', { newName: 'h' });
        assertSuccess(nested, { ...RENAMED, newPrefix: 'f/h/' });
        assert.deepEqual(await treeOf(port), {
          'f/': null,
          'f/h/': null,
          'f/h/z': '3',
          'new name/': null,
          'new name/b/': null,
          'new name/b/c/': null,
          'new name/b/c/y': '2',
          'new name/empty/': null,
          'new name/x': '1',
        });
      });

      it('renames an empty folder', async () => {
        await plant(port, { 'a/': null });
        const response = await postJson(port, '/rename_folder/a', { newName: 'b' });
        assertSuccess(response, { ...RENAMED, newPrefix: 'b/' });
        assert.deepEqual(await treeOf(port), { 'b/': null });
      });

      it('returns 404 for a missing folder and for a file, and keeps the file', async () => {
        const tree = { a: '1', 'f/': null };
        await plant(port, tree);
        for (const path of ['missing', 'f/missing', 'a', 'a/b']) {
          const response = await postJson(port, `/rename_folder/${path}`, { newName: 'z' });
          assertFailure(response, 404, `The folder "${path}/" does not exist.`);
        }
        assert.deepEqual(await treeOf(port), tree);
      });

      it('returns 409 when the folder exists, and changes nothing', async () => {
        const tree = { 'a/': null, 'a/x': '1', 'b/': null, 'b/y': '2', 'empty/': null };
        await plant(port, tree);
        for (const newName of ['b', 'empty']) {
          for (const overwrite of [undefined, false]) {
            const response = await postJson(port, '/rename_folder/a', { newName, overwrite });
            const error = `The folder "${newName}/" already exists. Set "overwrite": true to replace it.`;
            assertFailure(response, 409, error);
          }
        }
        assert.deepEqual(await treeOf(port), tree);
      });

      it('replaces the whole destination with "overwrite": true', async () => {
        await plant(port, { 'f/a/x': '1', 'f/a/s/z': '3', 'f/b/x': 'old', 'f/b/y': 'old', 'f/b/t/u/': null });
        const response = await postJson(port, '/rename_folder/f/a', { newName: 'b', overwrite: true });
        assertSuccess(response, { ...RENAMED, newPrefix: 'f/b/' });
        assert.deepEqual(await treeOf(port, 'f'), { 'f/b/': null, 'f/b/s/': null, 'f/b/s/z': '3', 'f/b/x': '1' });
      });

      it('returns 409 when a file has the name, with and without overwrite', async () => {
        const tree = { 'a/': null, 'a/x': '1', b: '2' };
        await plant(port, tree);
        for (const overwrite of [false, true]) {
          const response = await postJson(port, '/rename_folder/a', { newName: 'b', overwrite });
          assertFailure(response, 409, /"b" is not a folder/);
        }
        assert.deepEqual(await treeOf(port), tree);
      });

      it('changes nothing outside the folder: a/ is not ab/, nor a.txt', async () => {
        await plant(port, { ...NEIGHBOURS, 'a/x': '1' });
        const response = await postJson(port, '/rename_folder/a', { newName: 'c' });
        assertSuccess(response, { ...RENAMED, newPrefix: 'c/' });
        assert.deepEqual(await treeOf(port), { ...NEIGHBOURS, 'c/': null, 'c/x': '1' });
      });

      it('returns 400 when a path would exceed the limit, and changes nothing', async () => {
        const limit = await maxPathBytesOf(port);
        const long = segmentsOf(limit - 20);
        await plant(port, { [`a/${long}`]: '1' });
        const before = await treeOf(port);
        const response = await postJson(port, '/rename_folder/a', { newName: 'z'.repeat(30) });
        assertFailure(response, 400, new RegExp(`The maximum is ${limit}`));
        assert.deepEqual(await treeOf(port), before);
      });
    });

    it('lists the folders of an uploaded file, without markers', async () => {
      const parts = [
        { name: 'prefix', value: 'a/b' },
        { name: 'file', filename: 'x', value: '1' },
      ];
      assertSuccess(await postForm(port, parts), { message: 'File uploaded successfully', path: 'a/b/x' });
      assert.deepEqual(await treeOf(port), { 'a/': null, 'a/b/': null, 'a/b/x': '1' });
    });
  });
}
