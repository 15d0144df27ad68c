import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import {
  assertFailure,
  assertSuccess,
  escapePath,
  type HttpResponse,
  jsonOf,
  pathsBelow,
  plant,
  postForm,
  postJson,
  send,
  treeOf,
} from '../client.ts';
import { servedEmpty, startService, type TestService } from '../service.ts';
import { WRONG_PATHS } from '../wrong-paths.ts';

describe('paths in requests', () => {
  const service = servedEmpty(memory);
  let port: number;

  beforeEach(() => {
    ({ port } = service);
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
      const response = await send(port, path);
      assert.deepEqual([response.status, response.body.toString()], [status, text], path);
    }
    assertFailure(await send(port, '/file/a%25252Fb'), 404, /"a%252Fb"/);
    assertFailure(await send(port, '/file/%2e%2e/a'), 400, /segment "\.\."/);
    assertFailure(await send(port, '/file/%252e%252e/a'), 404, /"%2e%2e\/a"/);
    assertFailure(await send(port, '/file/a/%2E/b'), 400, /segment "\."/);
    assertFailure(await send(port, '/file/a%2F%2Fb'), 400, /empty segment/);
  });

  it('removes one leading slash of a path, not a second one', async () => {
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

  it('returns 400 with the rule for an invalid path, at every endpoint, and changes nothing', async () => {
    const tree = { 'a/b': 'x' };
    await plant(port, { 'a/': null, ...tree });
    for (const [path, error] of WRONG_PATHS) {
      for (const [endpoint, call] of Object.entries(endpointsWith(port, path))) {
        const response = await call();
        assert.equal(response.status, 400, `${endpoint}: ${JSON.stringify(path)}: ${response.body.toString()}`);
        assertFailure(response, 400, error);
      }
      assert.equal((await send(port, `/file/${escapePath(path)}`, { method: 'HEAD' })).status, 400);
    }
    assert.deepEqual(await treeOf(port), { 'a/': null, ...tree });
  });

  it('returns 400 for a lone surrogate in JSON, and changes nothing', async () => {
    await plant(port, { 'a/b': 'x' });
    for (const path of ['\ud800', 'a/\udfff', '\udc00\ud800', 'a\ud800b/c']) {
      for (const [endpoint, call] of Object.entries(endpointsWithJson(port, path))) {
        const response = await call();
        assert.equal(response.status, 400, `${endpoint}: ${response.body.toString()}`);
        assertFailure(response, 400, /surrogate/);
      }
    }
    assert.deepEqual(await treeOf(port), { 'a/': null, 'a/b': 'x' });
  });

  it('returns 400 for an empty path', async () => {
    for (const path of ['/delete/', '/rename/', '/delete_folder/', '/rename_folder/']) {
      assertFailure(await postJson(port, path, { newName: 'x' }), 400, /empty|root/);
      assertFailure(await postJson(port, `${path}/`, { newName: 'x' }), 400, /empty|root/);
    }
    for (const path of ['/file/', '/file//', '/thumb/']) assertFailure(await send(port, path), 400, /empty/);
    for (const path of ['', '/']) {
      assertFailure(await postJson(port, '/create_folder', { path }), 400, /empty/);
    }
  });

  it('returns 400 for percent escapes that are not UTF-8', async () => {
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
        const response = await send(port, place + escape, { method });
        assert.equal(response.status, 400, `${method} ${place}${escape}: ${response.body.toString()}`);
        if (method !== 'HEAD') assertFailure(response, 400, /not UTF-8/);
      }
    }
  });
});

describe('paths of listings', () => {
  let port: number;
  let service: TestService;

  before(async () => {
    service = await startService(memory);
    ({ port } = service);
  });
  after(() => service.stop());

  const get = (path: string) => send(port, path);
  before(() => plant(port, { 'there/x.txt': 'x' }));

  for (const [path, error] of [
    ['there//deep', /empty segment/],
    ['there//', /empty segment/],
    ['.', /segment "\."/],
    ['..', /segment "\.\."/],
    ['there/..', /segment "\.\."/],
    ['there/../there', /segment "\.\."/],
    ['%2e%2e/there', /segment "\.\."/],
    ['there%2f..%2fthere', /segment "\.\."/],
    ['a%00b', /control character/],
    ['a%0Ab', /control character/],
    ['%7F', /control character/],
    ['é'.repeat(512), /1,?024/],
    ['%ff', /UTF-8/],
    ['%c0%ae%c0%ae', /UTF-8/],
    ['%ed%a0%80', /UTF-8/],
  ] as const) {
    const escaped = path.replaceAll('é', '%C3%A9');
    const shown = path.slice(0, 30);
    it(`/${shown} returns 400 with the rule`, async () => assertFailure(await get(`/${escaped}`), 400, error));
    it(`?prefix=${shown} returns 400 with the rule`, async () =>
      assertFailure(await get(`/?prefix=${escaped}`), 400, error));
  }

  for (const path of ['/100%', '/%zz', '/there/%2']) {
    it(`${path} returns 400 for an invalid percent escape`, async () =>
      assertFailure(await get(path), 400, /percent escape/));
  }
});

/** Returns a request to every endpoint, with `path` in each place that can contain a path. */
function endpointsWith(port: number, path: string): Record<string, () => Promise<HttpResponse>> {
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

function endpointsWithJson(port: number, path: string): Record<string, () => Promise<HttpResponse>> {
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
