import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import { assertSameBytes } from '../../contract/bytes.ts';
import {
  assertFailure,
  assertSuccess,
  type HttpResponse,
  jsonOf,
  plant,
  postForm,
  postJson,
  send,
  treeOf,
  upload,
} from '../client.ts';
import { servedEmpty } from '../service.ts';
import { maxPathBytesOf, segmentsOf } from '../wrong-paths.ts';
import { NEIGHBOURS } from './folders.ts';

const OPERATIONS = [
  { path: '/copy', done: { message: 'Item copied successfully' }, keepsSource: true },
  { path: '/move', done: { message: 'Item moved successfully' }, keepsSource: false },
] as const;

/** Tests copies and moves of files and folders. */
export function transferSuite(backend: Backend): void {
  for (const { path, done, keepsSource } of OPERATIONS) {
    describe(`${path} over HTTP: ${backend.name}`, () => {
      const service = servedEmpty(backend);
      let port: number;

      beforeEach(() => {
        ({ port } = service);
      });
      const file = (source: unknown, destination: unknown, rest: Record<string, unknown> = {}): Promise<HttpResponse> =>
        postJson(port, path, { source, destination, is_folder: false, ...rest });
      const folder = (
        source: unknown,
        destination: unknown,
        rest: Record<string, unknown> = {},
      ): Promise<HttpResponse> => postJson(port, path, { source, destination, is_folder: true, ...rest });
      /** The remaining files of a source after the operation. */
      const left = (tree: Record<string, string | null>) => (keepsSource ? tree : {});

      describe('with is_folder false', () => {
        it(`${keepsSource ? 'leaves' : 'removes'} the source, creates the parents of the destination, and returns exactly success and message`, async () => {
          await plant(port, { a: '1', 'f/b': '2' });
          assertSuccess(await file('a', 'g/h/a'), done);
          assertSuccess(await file('/f/b', '/c'), done);
          const copies = { c: '2', 'g/': null, 'g/h/': null, 'g/h/a': '1' };
          const tree = { ...left({ a: '1' }), 'f/': null, ...left({ 'f/b': '2' }), ...copies };
          assert.deepEqual(await treeOf(port), keepsSource ? tree : tree);
        });

        it('keeps every byte', async () => {
          const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 11) % 256));
          await upload(port, 'a.bin', bytes);
          assertSuccess(await file('a.bin', 'f/b.bin'), done);
          assertSameBytes((await send(port, '/file/f/b.bin')).body, bytes);
        });

        it('keeps the media type', async () => {
          await postForm(port, [{ name: 'file', filename: 'a.txt', type: 'image/x-own', value: 'x' }]);
          assertSuccess(await file('a.txt', 'b.json'), done);
          assert.equal((await send(port, '/file/b.json')).headers['content-type'], 'image/x-own');
        });

        it('returns 404 for a missing file and for a folder, and keeps the folder', async () => {
          const tree = { a: '1', 'empty/': null, 'f/': null, 'f/b': '2' };
          await plant(port, tree);
          for (const source of ['missing', 'f/missing', 'a/b', 'empty', 'f']) {
            assertFailure(await file(source, 'z'), 404, `The file "${source}" does not exist.`);
          }
          assert.deepEqual(await treeOf(port), tree);
        });

        it('returns 404 for a missing source with an existing destination', async () => {
          await plant(port, { a: '1' });
          for (const overwrite of [false, true])
            assertFailure(await file('missing', 'a', { overwrite }), 404, /"missing"/);
          assert.deepEqual(await treeOf(port), { a: '1' });
        });

        it('returns 409 when the destination exists, and replaces it only with "overwrite": true', async () => {
          await plant(port, { a: '1', 'f/b': '2' });
          for (const overwrite of [undefined, false]) {
            const response = await file('a', 'f/b', { overwrite });
            assertFailure(response, 409, 'The file "f/b" already exists. Set "overwrite": true to replace it.');
          }
          assert.deepEqual(await treeOf(port), { a: '1', 'f/': null, 'f/b': '2' });
          assertSuccess(await file('a', 'f/b', { overwrite: true }), done);
          assert.deepEqual(await treeOf(port), { ...left({ a: '1' }), 'f/': null, 'f/b': '1' });
        });

        it('accepts "overwrite": true without a destination', async () => {
          await plant(port, { a: '1' });
          assertSuccess(await file('a', 'b', { overwrite: true }), done);
          assert.deepEqual(await treeOf(port), { ...left({ a: '1' }), b: '1' });
        });

        it('returns 409 for the name of a folder and a path through a file, with and without overwrite', async () => {
          const tree = { a: '1', b: '2', 'empty/': null, 'f/': null, 'f/c': '3' };
          await plant(port, tree);
          for (const destination of ['empty', 'f', 'b/a', 'b/c/d', 'a/a', 'f/c/a']) {
            for (const overwrite of [false, true]) {
              const response = await file('a', destination, { overwrite });
              assert.equal(response.status, 409, `${destination}: ${response.body.toString()}`);
              assertFailure(response, 409, /is not a (file|folder)/);
            }
          }
          assert.deepEqual(await treeOf(port), tree);
        });

        it('changes no neighbours', async () => {
          const neighbours = { ...NEIGHBOURS, 'b.txt': '5', 'bb/': null, 'bb/x': '6' };
          await plant(port, { ...neighbours, a: 'x' });
          assertSuccess(await file('a', 'b'), done);
          assert.deepEqual(await treeOf(port), { ...neighbours, ...left({ a: 'x' }), b: 'x' });
        });
      });

      describe('with is_folder true', () => {
        const tree = (prefix: string) => ({
          [`${prefix}/`]: null,
          [`${prefix}/.hidden`]: '0',
          [`${prefix}/empty/`]: null,
          [`${prefix}/s/`]: null,
          [`${prefix}/s/t/`]: null,
          [`${prefix}/s/t/y`]: '2',
          [`${prefix}/x`]: '1',
        });

        it(`${keepsSource ? 'leaves' : 'removes'} the source, transfers its contents, and returns exactly success and message`, async () => {
          await plant(port, tree('a'));
          assertSuccess(await folder('a', 'g/h/b'), done);
          assert.deepEqual(await treeOf(port), { ...left(tree('a')), 'g/': null, 'g/h/': null, ...tree('g/h/b') });
        });

        it('accepts each path with or without slashes at both ends', async () => {
          for (const [source, destination] of [
            ['a/', 'b'],
            ['/b', '/c/'],
            ['/c/', 'd/'],
          ]) {
            await plant(port, { 'a/x': '1' });
            assertSuccess(await folder(source, destination), done);
          }
          assert.deepEqual(await treeOf(port, 'd'), { 'd/x': '1' });
        });

        it('transfers an empty folder', async () => {
          await plant(port, { 'a/': null });
          assertSuccess(await folder('a', 'b'), done);
          assert.deepEqual(await treeOf(port), { ...left({ 'a/': null }), 'b/': null });
        });

        it('transfers more files than the concurrency limit', async () => {
          const names = Array.from({ length: 40 }, (_, index) => `${index % 4}/${index}`);
          await Promise.all(names.map((name) => upload(port, `a/${name}`, name)));
          assertSuccess(await folder('a', 'b'), done);
          const copies = Object.entries(await treeOf(port, 'b')).filter(([, text]) => text !== null);
          assert.deepEqual(Object.fromEntries(copies), Object.fromEntries(names.map((name) => [`b/${name}`, name])));
          assert.equal((await send(port, '/a')).status, keepsSource ? 200 : 404);
        });

        it('returns 404 for a missing folder and for a file, and keeps the file', async () => {
          const present = { a: '1', 'f/': null };
          await plant(port, present);
          for (const source of ['missing', 'f/missing', 'a', 'a/b']) {
            for (const overwrite of [false, true]) {
              assertFailure(await folder(source, 'z', { overwrite }), 404, `The folder "${source}/" does not exist.`);
            }
          }
          assert.deepEqual(await treeOf(port), present);
        });

        it('returns 404 for a missing source, and keeps the destination', async () => {
          const present = { 'f/': null, 'f/x': '1' };
          await plant(port, present);
          for (const overwrite of [false, true]) {
            assertFailure(await folder('missing', 'f', { overwrite }), 404, 'The folder "missing/" does not exist.');
          }
          assert.deepEqual(await treeOf(port), present);
        });

        it('returns 409 when the destination exists, and changes nothing', async () => {
          const present = { ...tree('a'), 'b/': null, 'b/x': 'other', 'c/': null };
          await plant(port, present);
          for (const destination of ['b', 'c']) {
            for (const overwrite of [undefined, false]) {
              const error = `The folder "${destination}/" already exists. Set "overwrite": true to replace it.`;
              assertFailure(await folder('a', destination, { overwrite }), 409, error);
            }
          }
          assert.deepEqual(await treeOf(port), present);
        });

        it('replaces the whole destination with "overwrite": true', async () => {
          await plant(port, {
            ...tree('a'),
            'b/x': 'old',
            'b/z': 'old',
            'b/s/t/y': 'old',
            'b/s/t/z': 'old',
            'b/old/old': 'old',
            'b/gone/': null,
          });
          assertSuccess(await folder('a', 'b', { overwrite: true }), done);
          assert.deepEqual(await treeOf(port), { ...left(tree('a')), ...tree('b') });
        });

        it('replaces a folder with an empty one, and an empty folder', async () => {
          await plant(port, { 'a/': null, 'b/x': 'old', 'c/x': '1', 'd/': null });
          assertSuccess(await folder('a', 'b', { overwrite: true }), done);
          assertSuccess(await folder('c', 'd', { overwrite: true }), done);
          const sources = left({ 'a/': null, 'c/': null, 'c/x': '1' });
          assert.deepEqual(await treeOf(port), { ...sources, 'b/': null, 'd/': null, 'd/x': '1' });
        });

        it('replaces a file with a folder, and a folder with a file', async () => {
          await plant(port, { 'a/x': '1', 'a/y/z': '2', 'b/x/z': 'old', 'b/y': 'old' });
          assertSuccess(await folder('a', 'b', { overwrite: true }), done);
          assert.deepEqual(await treeOf(port, 'b'), { 'b/x': '1', 'b/y/': null, 'b/y/z': '2' });
        });

        it('returns 409 for the name of a file and a path through a file, with and without overwrite', async () => {
          // The source has files, folders, or nothing, so that different requests find the conflict.
          const present = {
            'a/': null,
            'a/x': '1',
            b: '2',
            'empty/': null,
            'f/': null,
            'f/c': '3',
            'n/': null,
            'n/empty/': null,
            'n/s/': null,
            'n/s/y': '4',
          };
          await plant(port, present);
          for (const source of ['a', 'n', 'empty']) {
            const destinations = source === 'a' ? ['b', 'b/c', 'b/c/d', 'f/c', 'f/c/d'] : ['b', 'f/c/d'];
            for (const destination of destinations) {
              for (const overwrite of [false, true]) {
                const response = await folder(source, destination, { overwrite });
                assert.equal(response.status, 409, `${source} to ${destination}: ${response.body.toString()}`);
                assertFailure(response, 409, /"(b|f\/c)" is not a folder/);
              }
            }
          }
          assert.deepEqual(await treeOf(port), present);
        });

        it('accepts a destination with the same name prefix: ab is not below a', async () => {
          await plant(port, { 'a/x': '1' });
          assertSuccess(await folder('a', 'ab'), done);
          assert.deepEqual(await treeOf(port), { ...left({ 'a/': null, 'a/x': '1' }), 'ab/': null, 'ab/x': '1' });
        });

        it('returns 409 for a folder that contains the source, and 400 with overwrite', async () => {
          const present = { 'a/': null, 'a/b/': null, 'a/b/c/': null, 'a/b/c/x': '1', 'a/y': '2' };
          await plant(port, present);
          for (const [source, destination] of [
            ['a/b', 'a'],
            ['a/b/c', 'a'],
            ['a/b/c', 'a/b'],
          ]) {
            assertFailure(await folder(source, destination), 409, /already/);
            assertFailure(await folder(source, destination, { overwrite: true }), 400, /contains the source/);
          }
          assert.deepEqual(await treeOf(port), present);
        });

        it('changes nothing outside the two folders: a/ is not ab/, nor a.txt', async () => {
          const others = { 'b-b/': null, 'b-b/x': '5', 'b.txt': '6', 'bb/': null, 'bb/b/': null, 'bb/b/x': '7' };
          await plant(port, { ...NEIGHBOURS, ...others, 'a/x': '1', 'b/y': 'old' });
          assertSuccess(await folder('a', 'b', { overwrite: true }), done);
          const rest = { ...NEIGHBOURS, ...others, ...left({ 'a/': null, 'a/x': '1' }) };
          assert.deepEqual(await treeOf(port), { ...rest, 'b/': null, 'b/x': '1' });
        });

        it('returns 400 when a path would exceed the limit, and changes nothing', async () => {
          const limit = await maxPathBytesOf(port);
          await plant(port, { [`a/${segmentsOf(limit - 100)}`]: '1', 'a/b': '2' });
          const before = await treeOf(port);
          const response = await folder('a', segmentsOf(200));
          assertFailure(response, 400, new RegExp(`The maximum is ${limit}`));
          assert.deepEqual(await treeOf(port), before);
        });

        it('measures path lengths in UTF-8 bytes', async () => {
          const name = 'x'.repeat(60);
          const limit = await maxPathBytesOf(port);
          await plant(port, { [`${name}/${segmentsOf(limit - 74)}`]: '1' });
          const before = await treeOf(port);
          assertFailure(await folder(name, '日'.repeat(30)), 400, new RegExp(`The maximum is ${limit}`));
          assert.deepEqual(await treeOf(port), before);
        });

        it('keeps the media types of the files', async () => {
          const parts = [
            { name: 'prefix', value: 'a' },
            { name: 'file', filename: 'x.txt', type: 'image/x-own', value: 'x' },
          ];
          await postForm(port, parts);
          assertSuccess(await folder('a', 'b'), done);
          assert.equal((await send(port, '/file/b/x.txt')).headers['content-type'], 'image/x-own');
          const { entries } = jsonOf(await send(port, '/b')) as { entries: { contentType: string }[] };
          assert.deepEqual(
            entries.map(({ contentType }) => contentType),
            ['image/x-own'],
          );
        });
      });
    });
  }
}
