import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import { assertSameBytes } from '../../contract/bytes.ts';
import { assertFailure, assertSuccess, pathsBelow, plant, postJson, send, treeOf, upload } from '../client.ts';
import { servedEmpty } from '../service.ts';

const DELETED = { message: 'File deleted successfully' };
const RENAMED = { message: 'File renamed successfully' };

/** Tests deleting and renaming of single files. */
export function filesSuite(backend: Backend): void {
  describe(`Files over HTTP: ${backend.name}`, () => {
    const service = servedEmpty(backend);
    let port: number;

    beforeEach(() => {
      ({ port } = service);
    });

    describe('/delete', () => {
      for (const method of ['DELETE', 'POST']) {
        it(`removes the file by ${method}, and returns exactly success and message`, async () => {
          await plant(port, { a: '1', 'f/g/a': '2' });
          assertSuccess(await send(port, '/delete/f/g/a', { method }), DELETED);
          assert.deepEqual(await treeOf(port), { a: '1', 'f/': null, 'f/g/': null });
          assertSuccess(await send(port, '/delete/a', { method }), DELETED);
          assert.deepEqual(await treeOf(port), { 'f/': null, 'f/g/': null });
        });
      }

      it('returns 404 for a missing file, and for a path below a file', async () => {
        await plant(port, { a: '1', b: '2' });
        assertSuccess(await send(port, '/delete/a', { method: 'DELETE' }), DELETED);
        for (const path of ['a', 'missing', 'f/missing', 'b/c', 'b/c/d']) {
          assertFailure(
            await send(port, `/delete/${path}`, { method: 'DELETE' }),
            404,
            `The file "${path}" does not exist.`,
          );
        }
        assert.deepEqual(await treeOf(port), { b: '2' });
      });

      it('returns 404 for a folder, and keeps it', async () => {
        const tree = { 'empty/': null, 'f/': null, 'f/a': '1' };
        await plant(port, tree);
        for (const path of ['empty', 'f']) {
          assertFailure(
            await send(port, `/delete/${path}`, { method: 'DELETE' }),
            404,
            `The file "${path}" does not exist.`,
          );
        }
        for (const path of ['empty/', 'f/']) {
          assertFailure(await send(port, `/delete/${path}`, { method: 'DELETE' }), 400, /empty segment/);
        }
        assert.deepEqual(await treeOf(port), tree);
      });

      it('changes no neighbours, and keeps the folder of the last file', async () => {
        const neighbours = { 'a.txt': '1', ab: '2', 'a-b/c': '3', 'f/ab': '4', 'f/a.b': '5', 'g/a': '6' };
        await plant(port, { ...neighbours, a: 'x', 'f/a': 'x', 'h/a': 'x' });
        for (const path of ['a', 'f/a', 'h/a'])
          assertSuccess(await send(port, `/delete/${path}`, { method: 'DELETE' }), DELETED);
        const folders = { 'a-b/': null, 'f/': null, 'g/': null, 'h/': null };
        assert.deepEqual(await treeOf(port), { ...neighbours, ...folders });
      });
    });

    describe('/rename', () => {
      it('renames the file in its folder, and returns its new path as newKey', async () => {
        await plant(port, { 'a.txt': '1', 'f/g/b.txt': '2' });
        assertSuccess(await postJson(port, '/rename/a.txt', { newName: 'z' }), { ...RENAMED, newKey: 'z' });
        const response = await postJson(port, '/rename/f/g/b.txt', { newName: 'c d.txt' });
        assertSuccess(response, { ...RENAMED, newKey: 'f/g/c d.txt' });
        assert.deepEqual(await treeOf(port), { 'f/': null, 'f/g/': null, 'f/g/c d.txt': '2', z: '1' });
      });

      it('keeps every byte', async () => {
        const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7) % 256));
        await upload(port, 'a.bin', bytes);
        await postJson(port, '/rename/a.bin', { newName: 'b.bin' });
        assertSameBytes((await send(port, '/file/b.bin')).body, bytes);
      });

      it('returns 404 for a missing file and for a folder, and keeps the folder', async () => {
        const tree = { a: '1', 'f/': null, 'f/b': '2' };
        await plant(port, tree);
        for (const path of ['missing', 'f/missing', 'a/b', 'f']) {
          const response = await postJson(port, `/rename/${path}`, { newName: 'z' });
          assertFailure(response, 404, `The file "${path}" does not exist.`);
        }
        assert.deepEqual(await treeOf(port), tree);
      });

      it('returns 409 when the file exists, and replaces it only with "overwrite": true', async () => {
        await plant(port, { 'f/a': '1', 'f/b': '2' });
        for (const overwrite of [undefined, false]) {
          const response = await postJson(port, '/rename/f/a', { newName: 'b', overwrite });
          assertFailure(response, 409, 'The file "f/b" already exists. Set "overwrite": true to replace it.');
        }
        assert.deepEqual(await treeOf(port, 'f'), { 'f/a': '1', 'f/b': '2' });
        const response = await postJson(port, '/rename/f/a', { newName: 'b', overwrite: true });
        assertSuccess(response, { ...RENAMED, newKey: 'f/b' });
        assert.deepEqual(await treeOf(port, 'f'), { 'f/b': '1' });
      });

      it('returns 409 when a folder has the name, with and without overwrite', async () => {
        const tree = { a: '1', 'empty/': null, 'f/': null, 'f/b': '2' };
        await plant(port, tree);
        for (const newName of ['empty', 'f']) {
          for (const overwrite of [false, true]) {
            const response = await postJson(port, '/rename/a', { newName, overwrite });
            assertFailure(response, 409, new RegExp(`"${newName}" is not a file`));
          }
        }
        assert.deepEqual(await treeOf(port), tree);
      });

      it('changes no neighbours', async () => {
        const neighbours = { 'a.txt': '1', ab: '2', 'b/a': '3', 'c.txt': '4', cd: '5' };
        await plant(port, { ...neighbours, a: 'x' });
        assertSuccess(await postJson(port, '/rename/a', { newName: 'c' }), { ...RENAMED, newKey: 'c' });
        assert.deepEqual(await treeOf(port), { ...neighbours, 'b/': null, c: 'x' });
        assert.deepEqual(await pathsBelow(port), ['a.txt', 'ab', 'b/', 'b/a', 'c', 'c.txt', 'cd']);
      });
    });
  });
}
