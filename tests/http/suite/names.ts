import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import {
  type Answer,
  assertFailure,
  assertSuccess,
  escapePath,
  jsonOf,
  pathsBelow,
  plant,
  postForm,
  postJson,
  send,
  treeOf,
  upload,
} from '../client.ts';
import { startService, type TestService } from '../service.ts';

/** A path that breaks a rule, and what the error says of it. */
export type WrongPath = readonly [path: string, error: RegExp];

/** Paths that break a rule and can stand in a URL: a lone surrogate can't, which UTF-8 does not have. */
const WRONG_PATHS: readonly WrongPath[] = [
  ['a//b', /empty segment/],
  ['a///b', /empty segment/],
  ['.', /segment "\."/],
  ['./a', /segment "\."/],
  ['a/./b', /segment "\."/],
  ['..', /segment "\.\."/],
  ['../a', /segment "\.\."/],
  ['a/..', /segment "\.\."/],
  ['a/../../b', /segment "\.\."/],
  ['a\u0000b', /control character/],
  ['a\nb', /control character/],
  ['a\rb', /control character/],
  ['a/\tb', /control character/],
  ['\u001f', /control character/],
  ['\u007f', /control character/],
  [segmentsOf(1025), /1025 bytes.*1024/],
  [`${'é'.repeat(120)}/`.repeat(5).slice(0, -1), /1204 bytes.*1024/],
];

/** As `WRONG_PATHS`, where the path stands in JSON. */
export const WRONG_PATHS_IN_JSON: readonly WrongPath[] = [
  ...WRONG_PATHS,
  ['a\ud800', /surrogate/],
  ['\udc00/b', /surrogate/],
];

/** Names that are none: what `newName` must not be. */
export const WRONG_NAMES: readonly WrongPath[] = [
  ['', /empty/],
  ['/', /contains a "\/"/],
  ['/b', /contains a "\/"/],
  ['b/', /contains a "\/"/],
  ['b/c', /contains a "\/"/],
  ['../b', /contains a "\/"/],
  ['.', /segment "\."/],
  ['..', /segment "\.\."/],
  ['b\u0000', /control character/],
  ['b\n', /control character/],
  ['\u007f', /control character/],
  ['\ud800', /surrogate/],
  ['x'.repeat(1100), /1\d\d\d bytes.*1024/],
];

/** A path of so many bytes, in segments that every store takes. */
export function segmentsOf(bytes: number): string {
  return `${'x'.repeat(200)}/`.repeat(10).slice(0, bytes - 1) + 'y';
}

/** That names come back unchanged from every endpoint, and that what is no path is refused by every one. */
export function namesSuite(backend: Backend): void {
  describe(`Names over HTTP: ${backend.name}`, () => {
    let service: TestService;
    let port: number;

    beforeEach(async () => {
      service = await startService(backend);
      ({ port } = service);
    });
    afterEach(() => service.stop());

    it('keeps every name as it is: of a file that is uploaded, listed, fetched, renamed, copied, moved and deleted', async () => {
      for (const name of NAMES) {
        const path = `f/${name}/${name}`;
        assert.equal(jsonOf(await upload(port, path, name))['path'], path);
        assert.deepEqual(await namesIn(port, `f/${name}`), [name]);
        assert.equal((await send(port, `/file/${escapePath(path)}`)).body.toString(), name);
        assert.equal((await send(port, `/file/${escapePath(path)}`, { method: 'HEAD' })).status, 200, name);

        const away = await postJson(port, `/rename/${escapePath(path)}`, { newName: 'r' });
        assertSuccess(away, { message: 'File renamed successfully', newKey: `f/${name}/r` });
        const back = await postJson(port, `/rename/${escapePath(`f/${name}/r`)}`, { newName: name });
        assertSuccess(back, { message: 'File renamed successfully', newKey: path });

        const copy = `copies/${name}`;
        const copied = await postJson(port, '/copy', { source: path, destination: copy, is_folder: false });
        assertSuccess(copied, { message: 'Item copied successfully' });
        const moved = await postJson(port, '/move', { source: copy, destination: `moved/${name}`, is_folder: false });
        assertSuccess(moved, { message: 'Item moved successfully' });
        assert.deepEqual(await namesIn(port, 'moved'), [name]);
        assert.equal((await send(port, `/file/moved/${escapePath(name)}`)).body.toString(), name);
        const deleted = await send(port, `/delete/moved/${escapePath(name)}`, { method: 'DELETE' });
        assertSuccess(deleted, { message: 'File deleted successfully' });
        if (backend.lacks['emptied-folders'])
          assertFailure(await send(port, '/moved'), 404, 'There is no folder "moved/".');
        else assert.deepEqual(await namesIn(port, 'moved'), []);
      }
      assert.deepEqual(await namesIn(port, 'f'), byBytes(NAMES.map((name) => `${name}/`)));
    });

    it('keeps every name as it is: of a folder that is created, listed, renamed, copied, moved and deleted', async () => {
      for (const name of NAMES) {
        assertSuccess(await postJson(port, '/create_folder', { path: `f/${name}` }), {
          message: 'Folder created successfully',
        });
        await upload(port, `f/${name}/in`, name);
        const byPath = jsonOf(await send(port, `/f/${escapePath(name)}`));
        const byQuery = jsonOf(await send(port, `/?prefix=${encodeURIComponent(`f/${name}`)}`));
        assert.equal(byPath['prefix'], `f/${name}/`);
        assert.deepEqual(byQuery, byPath);

        const away = await postJson(port, `/rename_folder/f/${escapePath(name)}`, { newName: 'r' });
        assertSuccess(away, { message: 'Folder renamed successfully', newPrefix: 'f/r/' });
        const back = await postJson(port, '/rename_folder/f/r/', { newName: name });
        assertSuccess(back, { message: 'Folder renamed successfully', newPrefix: `f/${name}/` });

        const copy = { source: `f/${name}/`, destination: `copies/${name}`, is_folder: true };
        assertSuccess(await postJson(port, '/copy', copy), { message: 'Item copied successfully' });
        const move = { source: `copies/${name}`, destination: `moved/${name}/`, is_folder: true };
        assertSuccess(await postJson(port, '/move', move), { message: 'Item moved successfully' });
        assert.deepEqual(await treeOf(port, 'moved'), { [`moved/${name}/`]: null, [`moved/${name}/in`]: name });
        const deleted = await send(port, `/delete_folder/moved/${escapePath(name)}/`, { method: 'DELETE' });
        assertSuccess(deleted, { message: 'Folder deleted successfully' });
        if (backend.lacks['emptied-folders'])
          assertFailure(await send(port, '/moved'), 404, 'There is no folder "moved/".');
        else assert.deepEqual(await namesIn(port, 'moved'), []);
      }
      assert.deepEqual(await namesIn(port, 'f'), byBytes(NAMES.map((name) => `${name}/`)));
    });

    it('takes names for the same only when every byte is: no trimming, no case folding, no normalisation', async () => {
      const alike = ['a', 'A', ' a', 'a ', 'a.', '\u00e9', 'e\u0301', '\ufb01', 'fi', 'a\u200b', '\u00a0a'];
      for (const name of alike) await upload(port, name, `that of ${name}`);
      assert.deepEqual(await treeOf(port), Object.fromEntries(alike.map((name) => [name, `that of ${name}`])));
    });

    it('decodes the path of a URL exactly once', async () => {
      await plant(port, { 'a/b': 'in a folder', 'a%2Fb': 'an escaped slash', 'a+b': 'a plus', 'a b': 'a space' });
      const cases = [
        ['/file/a%2Fb', 200, 'in a folder'],
        ['/file/a%252Fb', 200, 'an escaped slash'],
        ['/file/%61%2f%62', 200, 'in a folder'],
        ['/file/a+b', 200, 'a plus'],
        ['/file/a%2Bb', 200, 'a plus'],
        ['/file/a%20b', 200, 'a space'],
      ] as const;
      for (const [path, status, text] of cases) {
        const answer = await send(port, path);
        assert.deepEqual([answer.status, answer.body.toString()], [status, text], path);
      }
      assertFailure(await send(port, '/file/a%25252Fb'), 404, /"a%252Fb"/);
      assertFailure(await send(port, '/file/%2e%2e/a'), 400, /segment "\.\."/);
      assertFailure(await send(port, '/file/%252e%252e/a'), 404, /"%2e%2e\/a"/);
      assertFailure(await send(port, '/file/a/%2E/b'), 400, /segment "\."/);
      assertFailure(await send(port, '/file/a%2F%2Fb'), 400, /empty segment/);
    });

    it('drops one leading slash of a path, and no second one', async () => {
      await plant(port, { 'a/b': 'x' });
      assert.equal((await send(port, '/file//a/b')).body.toString(), 'x');
      assert.equal(jsonOf(await send(port, '/?prefix=%2Fa%2F'))['prefix'], 'a/');
      assertSuccess(await postJson(port, '/copy', { source: '/a/b', destination: '/c', is_folder: false }), {
        message: 'Item copied successfully',
      });
      assertSuccess(await postJson(port, '/rename//c', { newName: 'd' }), {
        message: 'File renamed successfully',
        newKey: 'd',
      });
      assertFailure(await send(port, '/file///a/b'), 400, /empty segment/);
      assertFailure(await send(port, '/?prefix=%2F%2Fa'), 400, /empty segment/);
      assert.deepEqual(await pathsBelow(port), ['a/', 'a/b', 'd']);
    });

    it('refuses a path that breaks a rule with 400 and the rule, in every endpoint, and changes nothing', async () => {
      const tree = { 'a/b': 'x' };
      await plant(port, { 'a/': null, ...tree });
      for (const [path, error] of WRONG_PATHS) {
        for (const [endpoint, call] of Object.entries(endpointsWith(port, path))) {
          const answer = await call();
          assert.equal(answer.status, 400, `${endpoint}: ${JSON.stringify(path)}: ${answer.body.toString()}`);
          assertFailure(answer, 400, error);
        }
        assert.equal((await send(port, `/file/${escapePath(path)}`, { method: 'HEAD' })).status, 400);
      }
      assert.deepEqual(await treeOf(port), { 'a/': null, ...tree });
    });

    it('refuses half a surrogate pair in JSON with 400, and changes nothing', async () => {
      await plant(port, { 'a/b': 'x' });
      for (const path of ['\ud800', 'a/\udfff', '\udc00\ud800', 'a\ud800b/c']) {
        for (const [endpoint, call] of Object.entries(endpointsWithJson(port, path))) {
          const answer = await call();
          assert.equal(answer.status, 400, `${endpoint}: ${answer.body.toString()}`);
          assertFailure(answer, 400, /surrogate/);
        }
      }
      assert.deepEqual(await treeOf(port), { 'a/': null, 'a/b': 'x' });
    });

    it('refuses an empty path where one is needed with 400', async () => {
      for (const path of ['/delete/', '/rename/', '/delete_folder/', '/rename_folder/']) {
        assertFailure(await postJson(port, path, { newName: 'x' }), 400, /empty|root/);
        assertFailure(await postJson(port, `${path}/`, { newName: 'x' }), 400, /empty|root/);
      }
      for (const path of ['/file/', '/file//', '/thumb/']) assertFailure(await send(port, path), 400, /empty/);
      for (const path of ['', '/']) {
        assertFailure(await postJson(port, '/create_folder', { path }), 400, /empty/);
      }
    });

    it('refuses a percent escape that is not UTF-8 with 400, wherever it stands', async () => {
      const escapes = ['%FF', '%C3', '%C3%28', '%ED%A0%80', '%F0%9F%98', '%C0%AF', '%', '%2', '%zz', 'a%'];
      const places = [
        ['GET', '/'],
        ['GET', '/a/'],
        ['GET', '/?prefix='],
        ['GET', '/file/'],
        ['HEAD', '/file/'],
        ['GET', '/thumb/'],
        ['DELETE', '/delete/'],
        ['POST', '/rename/'],
        ['DELETE', '/delete_folder/'],
        ['POST', '/rename_folder/'],
      ] as const;
      for (const escape of escapes) {
        for (const [method, place] of places) {
          const answer = await send(port, place + escape, { method });
          assert.equal(answer.status, 400, `${method} ${place}${escape}: ${answer.body.toString()}`);
          if (method !== 'HEAD') assertFailure(answer, 400, /not UTF-8/);
        }
      }
    });

    it('takes a path of 1,024 bytes everywhere, a folder counted with its slash', async () => {
      const longest = segmentsOf(1024);
      const slash = longest.lastIndexOf('/');
      await upload(port, longest, 'x');
      assert.equal((await send(port, `/file/${longest}`)).body.toString(), 'x');
      const renamed = await postJson(port, `/rename/${longest}`, { newName: 'z'.repeat(1023 - slash) });
      assert.equal(renamed.status, 200, renamed.body.toString());
      const other = `${longest.slice(0, slash + 1)}${'z'.repeat(1023 - slash)}`;
      const moved = await postJson(port, '/move', { source: other, destination: longest, is_folder: false });
      assertSuccess(moved, { message: 'Item moved successfully' });
      assert.deepEqual(await namesIn(port, longest.slice(0, slash)), [longest.slice(slash + 1)]);
      assert.equal((await send(port, `/delete/${longest}`, { method: 'DELETE' })).status, 200);

      assert.equal((await postJson(port, '/create_folder', { path: segmentsOf(1023) })).status, 200);
      assert.equal((await postJson(port, '/create_folder', { path: `${segmentsOf(1022)}z/` })).status, 200);
      assertFailure(await postJson(port, '/create_folder', { path: longest }), 400, /1025 bytes/);
    });
  });
}

/** Every endpoint, asked with `path` in each place that a path may have. */
function endpointsWith(port: number, path: string): Record<string, () => Promise<Answer>> {
  const escaped = escapePath(path);
  return {
    'list by path': () => send(port, `/${escaped}`),
    'list by prefix': () => send(port, `/?prefix=${encodeURIComponent(path)}`),
    'upload prefix': () =>
      postForm(port, [
        { name: 'prefix', value: path },
        { name: 'file', filename: 'f', value: 'x' },
      ]),
    'upload prefix behind the file': () =>
      postForm(port, [
        { name: 'file', filename: 'f', value: 'x' },
        { name: 'prefix', value: path },
      ]),
    file: () => send(port, `/file/${escaped}`),
    thumb: () => send(port, `/thumb/${escaped}`),
    delete: () => send(port, `/delete/${escaped}`, { method: 'DELETE' }),
    'delete by POST': () => send(port, `/delete/${escaped}`, { method: 'POST' }),
    rename: () => postJson(port, `/rename/${escaped}`, { newName: 'x' }),
    delete_folder: () => send(port, `/delete_folder/${escaped}`, { method: 'DELETE' }),
    'delete_folder by POST': () => send(port, `/delete_folder/${escaped}/`, { method: 'POST' }),
    rename_folder: () => postJson(port, `/rename_folder/${escaped}`, { newName: 'x' }),
    ...endpointsWithJson(port, path),
  };
}

function endpointsWithJson(port: number, path: string): Record<string, () => Promise<Answer>> {
  return {
    'copy source': () => postJson(port, '/copy', { source: path, destination: 'c', is_folder: false }),
    'copy destination': () => postJson(port, '/copy', { source: 'a/b', destination: path, is_folder: false }),
    'copy source folder': () => postJson(port, '/copy', { source: path, destination: 'c', is_folder: true }),
    'copy destination folder': () => postJson(port, '/copy', { source: 'a', destination: path, is_folder: true }),
    'move source': () => postJson(port, '/move', { source: path, destination: 'c', is_folder: false }),
    'move destination': () => postJson(port, '/move', { source: 'a/b', destination: path, is_folder: false }),
    'move source folder': () => postJson(port, '/move', { source: path, destination: 'c', is_folder: true }),
    'move destination folder': () => postJson(port, '/move', { source: 'a', destination: path, is_folder: true }),
    create_folder: () => postJson(port, '/create_folder', { path }),
  };
}

async function namesIn(port: number, folder: string): Promise<string[]> {
  const { entries } = jsonOf(await send(port, `/${escapePath(folder)}`)) as { entries: { path: string }[] };
  return entries.map(({ path }) => path.slice(folder.length + 1));
}

const byBytes = (names: readonly string[]) =>
  names.toSorted((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
