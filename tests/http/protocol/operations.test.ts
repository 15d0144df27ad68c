import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { assertFailure, assertSuccess, BOUNDARY, formOf, plant, postJson, send, sendBytes, treeOf } from '../client.ts';
import { servedEmpty } from '../service.ts';
import { WRONG_NAMES, WRONG_PATHS_IN_JSON } from '../wrong-paths.ts';

/** Request bodies that programs send with a DELETE, or a POST instead of it. Holdall ignores them. */
const IGNORED_BODIES: readonly (readonly [
  what: string,
  { headers?: Record<string, string>; body?: string | Buffer },
])[] = [
  ['no body', {}],
  ['a JSON content type and no body', { headers: { 'content-type': 'application/json' } }],
  ['a JSON content type and a body of no bytes', { headers: { 'content-type': 'application/json' }, body: '' }],
  ['a JSON object', { headers: { 'content-type': 'application/json' }, body: '{"overwrite": 1}' }],
  ['a JSON content type and invalid JSON', { headers: { 'content-type': 'application/json' }, body: 'none' }],
  ['a text', { headers: { 'content-type': 'text/plain' }, body: 'none' }],
  ['a body of no type', { body: 'none' }],
  ['an invalid content type', { headers: { 'content-type': 'none' }, body: 'none' }],
  [
    'a form',
    {
      headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
      body: formOf([{ name: 'file', filename: 'x', value: 'y' }]),
    },
  ],
  ['a body in chunks', { headers: { 'transfer-encoding': 'chunked', 'content-type': 'application/json' }, body: '{}' }],
  ['a body over the limit of JSON', { headers: { 'content-type': 'application/json' }, body: 'x'.repeat(100_000) }],
];

const DELETED = { message: 'File deleted successfully' };
const FOLDER_DELETED = { message: 'Folder deleted successfully' };

describe('/delete', () => {
  const service = servedEmpty(memory);
  let port: number;

  beforeEach(() => {
    ({ port } = service);
  });

  for (const method of ['DELETE', 'POST']) {
    it(`ignores the body of ${method}`, async () => {
      for (const [what, call] of IGNORED_BODIES) {
        await plant(port, { a: what });
        const response = await send(port, '/delete/a', { method, ...call });
        assert.equal(response.status, 200, `${what}: ${response.body.toString()}`);
        assertSuccess(response, DELETED);
        assert.deepEqual(await treeOf(port), {}, what);
      }
    });

    it(`reads the next request after an unread body of ${method}`, async () => {
      await plant(port, { a: '1', b: '2' });
      const smuggled = 'DELETE /delete/b HTTP/1.1\r\nHost: localhost\r\n\r\n';
      const responses = await sendBytes(
        port,
        `${method} /delete/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}` +
          'GET /file/b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      );
      assert.deepEqual(responses.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200']);
      assert.deepEqual(await treeOf(port), { b: '2' });
    });
  }
});

describe('/rename', () => {
  const service = servedEmpty(memory);
  let port: number;

  beforeEach(() => {
    ({ port } = service);
  });

  it('returns 400 with the rule for an invalid name, and changes nothing', async () => {
    await plant(port, { 'f/a': '1' });
    for (const [newName, error] of WRONG_NAMES) {
      for (const overwrite of [false, true]) {
        assertFailure(await postJson(port, '/rename/f/a', { newName, overwrite }), 400, error);
      }
    }
    assert.deepEqual(await treeOf(port), { 'f/': null, 'f/a': '1' });
  });

  it('returns 400 for the current name, with and without overwrite', async () => {
    await plant(port, { 'f/a': '1' });
    for (const overwrite of [false, true]) {
      const response = await postJson(port, '/rename/f/a', { newName: 'a', overwrite });
      assertFailure(response, 400, 'The new name "a" is the current name. Choose another name.');
    }
    assert.deepEqual(await treeOf(port, 'f'), { 'f/a': '1' });
  });
});

describe('/create_folder', () => {
  const service = servedEmpty(memory);
  let port: number;

  beforeEach(() => {
    ({ port } = service);
  });

  it('returns 400 with the rule for an invalid path, and creates no parent', async () => {
    for (const [path, error] of WRONG_PATHS_IN_JSON) {
      for (const text of [path, `p/${path}`, `${path}/`]) {
        assertFailure(await postJson(port, '/create_folder', { path: text }), 400, text === path ? error : /./);
      }
    }
    for (const path of ['', '/']) assertFailure(await postJson(port, '/create_folder', { path }), 400, /empty/);
    for (const path of ['//', 'a//']) {
      assertFailure(await postJson(port, '/create_folder', { path }), 400, /empty segment/);
    }
    assert.deepEqual(await treeOf(port), {});
  });
});

describe('/delete_folder', () => {
  const service = servedEmpty(memory);
  let port: number;

  beforeEach(() => {
    ({ port } = service);
  });

  for (const method of ['DELETE', 'POST']) {
    it(`ignores the body of ${method}`, async () => {
      for (const [what, call] of IGNORED_BODIES) {
        await plant(port, { 'a/x': what });
        const response = await send(port, '/delete_folder/a/', { method, ...call });
        assert.equal(response.status, 200, `${what}: ${response.body.toString()}`);
        assertSuccess(response, FOLDER_DELETED);
        assert.deepEqual(await treeOf(port), {}, what);
      }
    });

    it(`returns 400 for the root by ${method}`, async () => {
      await plant(port, { a: '1' });
      for (const path of ['/delete_folder/', '/delete_folder//', '/delete_folder/%2F']) {
        assertFailure(await send(port, path, { method }), 400, "The root can't be deleted.");
      }
      assert.deepEqual(await treeOf(port), { a: '1' });
    });
  }
});

describe('/rename_folder', () => {
  const service = servedEmpty(memory);
  let port: number;

  beforeEach(() => {
    ({ port } = service);
  });

  it('returns 400 with the rule for an invalid name, and changes nothing', async () => {
    await plant(port, { 'f/a/x': '1' });
    for (const [newName, error] of WRONG_NAMES) {
      for (const overwrite of [false, true]) {
        assertFailure(await postJson(port, '/rename_folder/f/a', { newName, overwrite }), 400, error);
      }
    }
    assert.deepEqual(await treeOf(port, 'f'), { 'f/a/': null, 'f/a/x': '1' });
  });

  it('returns 400 for the current name, with and without overwrite', async () => {
    await plant(port, { 'f/a/x': '1' });
    for (const overwrite of [false, true]) {
      const response = await postJson(port, '/rename_folder/f/a/', { newName: 'a', overwrite });
      assertFailure(response, 400, 'The new name "a" is the current name. Choose another name.');
    }
    assert.deepEqual(await treeOf(port, 'f'), { 'f/a/': null, 'f/a/x': '1' });
  });

  it('returns 400 for the root', async () => {
    await plant(port, { 'a/x': '1' });
    for (const path of ['/rename_folder/', '/rename_folder//', '/rename_folder/%2F']) {
      for (const newName of ['a', 'z']) {
        assertFailure(await postJson(port, path, { newName, overwrite: true }), 400, /root/);
      }
    }
    assert.deepEqual(await treeOf(port), { 'a/': null, 'a/x': '1' });
  });
});

for (const path of ['/copy', '/move']) {
  describe(path, () => {
    const service = servedEmpty(memory);
    let port: number;

    beforeEach(() => {
      ({ port } = service);
    });

    const file = (source: unknown, destination: unknown, rest: object = {}) =>
      postJson(port, path, { source, destination, is_folder: false, ...rest });
    const folder = (source: unknown, destination: unknown, rest: object = {}) =>
      postJson(port, path, { source, destination, is_folder: true, ...rest });

    it('returns 400 when the destination is the source file, with and without overwrite', async () => {
      await plant(port, { 'f/a': '1' });
      for (const [source, destination] of [
        ['f/a', 'f/a'],
        ['/f/a', 'f/a'],
        ['f/a', '/f/a'],
      ]) {
        for (const overwrite of [false, true]) {
          const response = await file(source, destination, { overwrite });
          assertFailure(
            response,
            400,
            'The source and the destination are the same, "f/a". Choose another destination.',
          );
        }
      }
      assert.deepEqual(await treeOf(port), { 'f/': null, 'f/a': '1' });
    });

    it('returns 400 for a file path that is empty or ends with "/"', async () => {
      await plant(port, { a: '1', 'f/': null });
      for (const wrong of ['', '/', 'f/', '/f/', 'a/']) {
        assertFailure(await file(wrong, 'z'), 400, /empty/);
        assertFailure(await file('a', wrong, { overwrite: true }), 400, /empty/);
      }
      assert.deepEqual(await treeOf(port), { a: '1', 'f/': null });
    });

    it('returns 400 when the destination is the source folder or below it, with and without overwrite', async () => {
      const present = { 'a/': null, 'a/b/': null, 'a/b/x': '1' };
      await plant(port, present);
      for (const destination of ['a', 'a/', '/a', 'a/b', 'a/c', 'a/b/c', 'a/a']) {
        for (const overwrite of [false, true]) {
          assertFailure(await folder('a', destination, { overwrite }), 400, /are the same|is inside the source/);
        }
      }
      assert.deepEqual(await treeOf(port), present);
    });

    it('returns 400 for the root as the source or the destination', async () => {
      const present = { 'a/': null, 'a/x': '1' };
      await plant(port, present);
      for (const root of ['', '/']) {
        for (const overwrite of [false, true]) {
          assertFailure(await folder(root, 'z', { overwrite }), 400, /root/);
          assertFailure(await folder('a', root, { overwrite }), 400, /root/);
          assertFailure(await folder(root, root, { overwrite }), 400, /root/);
        }
      }
      assert.deepEqual(await treeOf(port), present);
    });
  });
}
