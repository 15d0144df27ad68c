import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { isError } from '../../../testing/holdall.ts';
import { until } from '../../../testing/until.ts';
import { memory } from '../../contract/backend.ts';
import {
  assertFailure,
  assertSuccess,
  type HttpResponse,
  pathsBelow,
  plant,
  postJson,
  responseOf,
  send,
  sendBytes,
  treeOf,
  upload,
  within,
} from '../client.ts';
import { linesOf } from '../request-log.ts';
import { servedEmpty, startService } from '../service.ts';

/** JSON values that are not booleans, some of which careless clients send as booleans. */
const NO_BOOLEANS: readonly unknown[] = ['true', 'false', '', 0, 1, null, [], [true], {}];

/** JSON values that are not strings. */
const NO_STRINGS: readonly unknown[] = [0, 1, true, false, null, [], ['b'], {}];

/** The routes with a JSON body, each with a valid body. */
const JSON_ROUTES: Readonly<Record<string, object>> = {
  '/rename/a': { newName: 'z' },
  '/rename_folder/f': { newName: 'z' },
  '/copy': { source: 'a', destination: 'z', is_folder: false },
  '/move': { source: 'a', destination: 'z', is_folder: false },
  '/create_folder': { path: 'z' },
};

describe('JSON bodies', () => {
  const service = servedEmpty(memory);
  let port: number;
  before(() => ({ port } = service));

  const post = (path: string, body: string | undefined, type: string | undefined): Promise<HttpResponse> =>
    send(port, path, { method: 'POST', body, headers: type === undefined ? {} : { 'content-type': type } });

  it('returns 400 for malformed JSON, and changes nothing', async () => {
    await plant(port, { a: '1', 'f/x': '2' });
    const bodies = ['{', '{"path":', 'nothing', "{'path': 'z'}", '{"path": "z",}', '{"path": "z"} {}', '\u0000'];
    for (const path of Object.keys(JSON_ROUTES)) {
      for (const body of bodies) {
        assertFailure(await post(path, body, 'application/json'), 400, 'The body is not valid JSON.');
      }
    }
    assert.deepEqual(await pathsBelow(port), ['a', 'f/', 'f/x']);
  });

  it('returns 400 for JSON that is not an object', async () => {
    for (const path of Object.keys(JSON_ROUTES)) {
      for (const body of ['[]', '[{}]', 'null', 'true', '1', '"a"']) {
        const response = await post(path, body, 'application/json');
        assertFailure(response, 400, 'The body must be a JSON object.');
      }
    }
  });

  it('returns 400 for empty bodies, with and without a Content-Type', async () => {
    for (const path of Object.keys(JSON_ROUTES)) {
      for (const body of ['', undefined]) {
        for (const type of ['application/json', undefined]) {
          assertFailure(await post(path, body, type), 400, /body (is empty|must be a JSON object)/);
        }
      }
    }
  });

  it('returns 400 with the required Content-Type for other or missing types, and changes nothing', async () => {
    await plant(port, { a: '1', 'f/x': '2' });
    const types = [
      'text/plain',
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'application/xml',
      'json',
      '*/*',
      undefined,
    ];
    for (const [path, body] of Object.entries(JSON_ROUTES)) {
      for (const type of types) {
        const response = await post(path, JSON.stringify(body), type);
        assertFailure(response, 400, 'The body must be JSON. Send it with Content-Type: application/json.');
      }
    }
    assert.deepEqual(await pathsBelow(port), ['a', 'f/', 'f/x']);
  });

  it('is accepted with media type parameters, in any letter case', async () => {
    for (const type of ['application/json; charset=utf-8', 'application/json;charset=UTF-8', 'Application/JSON']) {
      assert.equal((await post('/create_folder', '{"path": "z"}', type)).status, 200, type);
    }
  });

  it('returns 413 over 64 KiB, and changes nothing', async () => {
    await plant(port, { a: '1', 'f/x': '2' });
    for (const [path, body] of Object.entries(JSON_ROUTES)) {
      const response = await post(
        path,
        JSON.stringify({ ...body, filling: 'x'.repeat(64 * 1024) }),
        'application/json',
      );
      assertFailure(response, 413, /larger/);
    }
    assert.deepEqual(await pathsBelow(port), ['a', 'f/', 'f/x']);
  });

  it('accepts two paths of maximum length with every character escaped', async () => {
    const escaped = (path: string) => path.replaceAll('x', '\\u0078');
    const longest = `${'x'.repeat(200)}/`.repeat(5) + 'x'.repeat(19);
    await upload(port, longest, '1');
    const body = `{"source": "${escaped(longest)}", "destination": "${escaped(longest.slice(1))}", "is_folder": false}`;
    assertSuccess(await post('/copy', body, 'application/json'), { message: 'Item copied successfully' });
  });

  it('returns 400 for keys with a meaning in JavaScript', async () => {
    for (const body of ['{"path": "z", "__proto__": {"path": "y"}}', '{"__proto__": {"path": "y"}}']) {
      assertFailure(await post('/create_folder', body, 'application/json'), 400, /key "__proto__"/);
    }
    const response = await post('/create_folder', '{"constructor": {"prototype": {"path": "y"}}}', 'application/json');
    assertFailure(response, 400, /./);
    assert.deepEqual(await pathsBelow(port), []);
  });

  it('returns 400 for bytes that are not UTF-8, and changes nothing', async () => {
    await plant(port, { a: '1', 'f/x': '2' });
    for (const [path, body] of Object.entries(JSON_ROUTES)) {
      for (const bytes of ['ff', 'c3', 'c328', 'eda080', 'c0af']) {
        const [start, end] = JSON.stringify({ ...body, newName: 'z?', destination: 'z?', path: 'z?' }).split('?');
        const whole = [Buffer.from(`${start}`), Buffer.from(bytes, 'hex'), Buffer.from(`${end}`)];
        const headers = { 'content-type': 'application/json' };
        const response = await send(port, path, { method: 'POST', body: Buffer.concat(whole), headers });
        assertFailure(response, 400, /UTF-8/);
      }
    }
    assert.deepEqual(await pathsBelow(port), ['a', 'f/', 'f/x']);
  });

  it('accepts chunked bodies', async () => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    assert.equal((await send(port, '/create_folder', { method: 'POST', body: '{"path": "z"}', headers })).status, 200);
    assert.deepEqual(await pathsBelow(port), ['z/']);
  });

  it('returns 400 for truncated bodies, and changes nothing', async () => {
    const head = 'POST /create_folder HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    const cut = /in the middle of the request/;
    for (const [rest, message] of [
      ['Content-Length: 100\r\n\r\n{"path": "z"}', cut],
      ['Transfer-Encoding: chunked\r\n\r\nd\r\n{"path": "z"}\r\n', cut],
      ['Transfer-Encoding: chunked\r\n\r\nzz\r\n{"path": "z"}\r\n0\r\n\r\n', /not valid HTTP/],
    ] as const) {
      assertFailure(responseOf(await sendBytes(port, head + rest, { ends: true })), 400, message);
    }
    assert.deepEqual(await pathsBelow(port), []);
  });

  it('logs no error when the client disconnects during the body', async () => {
    const head = 'POST /create_folder HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    const stopped = await startService(memory);
    await sendBytes(stopped.port, `${head}Content-Length: 100\r\n\r\n{"path":`, { ends: true });
    await until('the request is logged', () => linesOf(stopped, '/create_folder').length === 1);
    await within('the end', stopped.stop());
    assert.deepEqual(stopped.log.filter(isError), []);
  });
});

describe('fields of JSON bodies', () => {
  const service = servedEmpty(memory);
  let port: number;
  before(() => ({ port } = service));

  it('/rename: returns 400 for missing or mistyped fields, without coercion', async () => {
    await plant(port, { a: '1', b: '2' });
    assertFailure(await postJson(port, '/rename/a', {}), 400, 'The body lacks "newName".');
    assertFailure(await postJson(port, '/rename/a', { overwrite: true }), 400, 'The body lacks "newName".');
    for (const newName of NO_STRINGS) {
      assertFailure(await postJson(port, '/rename/a', { newName }), 400, /"newName".*must be string/);
    }
    for (const overwrite of NO_BOOLEANS) {
      const response = await postJson(port, '/rename/a', { newName: 'b', overwrite });
      assertFailure(response, 400, /"overwrite".*must be boolean/);
    }
    assert.deepEqual(await treeOf(port), { a: '1', b: '2' });
  });

  it('/create_folder: returns 400 for a missing or mistyped path, without coercion', async () => {
    assertFailure(await postJson(port, '/create_folder', {}), 400, 'The body lacks "path".');
    for (const path of NO_STRINGS) {
      assertFailure(await postJson(port, '/create_folder', { path }), 400, /"path".*must be string/);
    }
    assert.deepEqual(await treeOf(port), {});
  });

  it('/rename_folder: returns 400 for missing or mistyped fields, without coercion', async () => {
    const tree = { 'a/': null, 'a/x': '1', 'b/': null, 'b/y': '2' };
    await plant(port, tree);
    assertFailure(await postJson(port, '/rename_folder/a', {}), 400, 'The body lacks "newName".');
    for (const newName of NO_STRINGS) {
      assertFailure(await postJson(port, '/rename_folder/a', { newName }), 400, /"newName".*must be string/);
    }
    for (const overwrite of NO_BOOLEANS) {
      const response = await postJson(port, '/rename_folder/a', { newName: 'b', overwrite });
      assertFailure(response, 400, /"overwrite".*must be boolean/);
    }
    assert.deepEqual(await treeOf(port), tree);
  });

  for (const path of ['/copy', '/move']) {
    it(`${path}: returns 400 for missing or mistyped fields, without coercion`, async () => {
      const present = { a: '1', b: '2', 'f/': null, 'f/x': '3', 'g/': null };
      await plant(port, present);
      const body = { source: 'a', destination: 'z', is_folder: false };
      for (const field of Object.keys(body)) {
        const rest = Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));
        assertFailure(await postJson(port, path, rest), 400, `The body lacks "${field}".`);
      }
      for (const field of ['source', 'destination']) {
        for (const wrong of NO_STRINGS) {
          const response = await postJson(port, path, { ...body, [field]: wrong });
          assertFailure(response, 400, new RegExp(`"${field}".*must be string`));
        }
      }
      for (const field of ['is_folder', 'overwrite']) {
        for (const wrong of NO_BOOLEANS) {
          for (const [source, destination] of [
            ['a', 'b'],
            ['f', 'g'],
          ]) {
            const response = await postJson(port, path, { ...body, source, destination, [field]: wrong });
            assertFailure(response, 400, new RegExp(`"${field}".*must be boolean`));
          }
        }
      }
      assert.deepEqual(await treeOf(port), present);
    });
  }
});
