import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { before, describe, it } from 'node:test';
import { until } from '../../../testing/until.ts';
import { disk, memory } from '../../contract/backend.ts';
import {
  assertFailure,
  assertSuccess,
  BOUNDARY,
  formOf,
  pathsBelow,
  plant,
  postForm,
  postJson,
  responseOf,
  send,
  sendBytes,
  upload,
  within,
} from '../client.ts';
import { linesOf } from '../request-log.ts';
import { served } from '../service.ts';

const COMMON_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'];

/** The methods of every route. */
const METHODS_OF: Readonly<Record<string, readonly string[]>> = {
  '/': ['GET', 'HEAD'],
  '/f': ['GET', 'HEAD'],
  '/f/g/': ['GET', 'HEAD'],
  '/upload': ['POST'],
  '/delete/a': ['DELETE', 'POST'],
  '/file/a': ['DELETE', 'GET', 'HEAD', 'PUT'],
  '/thumb/a': ['GET', 'HEAD'],
  '/rename/a': ['POST'],
  '/delete_folder/f': ['DELETE', 'POST'],
  '/rename_folder/f': ['POST'],
  '/copy': ['POST'],
  '/move': ['POST'],
  '/create_folder': ['POST'],
  '/-/openapi.json': ['GET', 'HEAD'],
  '/-/docs': ['GET', 'HEAD'],
  '/-/health/live': ['GET', 'HEAD'],
  '/-/health/ready': ['GET', 'HEAD'],
};

// Only the disk has signed URLs of the service, and so the route `/-/signed/`.
for (const backend of [memory, disk]) {
  describe(`methods: ${backend.name}`, () => {
    const service = served(backend);
    let port: number;
    before(() => ({ port } = service));

    const paths = () => ({ ...METHODS_OF, ...(service.signsUrls && { '/-/signed/a': ['GET', 'HEAD'] }) });

    it('returns 405 with Allow for every other method of every path', async () => {
      for (const [path, allowed] of Object.entries(paths())) {
        // All methods are declared in the same way, so only one path gets each of them.
        for (const method of path === '/upload' ? METHODS : COMMON_METHODS) {
          if (allowed.includes(method) || method === 'OPTIONS' || method === 'CONNECT') continue;
          const response = await send(port, path, { method });
          assert.equal(response.status, 405, `${method} ${path}: ${response.body.toString()}`);
          assert.equal(response.headers['allow'], allowed.join(', '), `${method} ${path}`);
          if (method === 'HEAD') continue;
          const error = `The method ${method} is not allowed here; allowed: ${allowed.join(', ')}.`;
          assertFailure(response, 405, error);
        }
      }
    });

    it('returns 405 for any body, and changes nothing', async () => {
      await plant(port, { a: '1' });
      for (const [type, body] of [
        ['application/json', '{'],
        ['application/json', 'x'.repeat(100_000)],
        ['multipart/form-data', 'x'],
        ['none', 'x'],
      ] as const) {
        for (const path of ['/', '/a', '/thumb/a', '/upload', '/copy', '/delete/a', '/delete_folder/a']) {
          const response = await send(port, path, { method: 'PUT', body, headers: { 'content-type': type } });
          assertFailure(response, 405, /PUT is not allowed/);
        }
      }
      assert.deepEqual(await pathsBelow(port), ['a']);
    });

    it('answers OPTIONS with Allow and no body', async () => {
      for (const [path, allowed] of Object.entries(paths())) {
        const response = await send(port, path, { method: 'OPTIONS' });
        assert.deepEqual([response.status, response.body.length], [204, 0], path);
        assert.equal(response.headers['allow'], allowed.join(', '), path);
        assert.ok(response.headers['x-request-id'], path);
      }
    });

    it('answers HEAD like GET, without the body', async () => {
      await plant(port, { a: '1', 'f/g/x': '2' });
      for (const path of ['/', '/f', '/f/g/', '/file/a', '/-/openapi.json', '/-/docs', '/-/health/live', '/missing']) {
        const get = await send(port, path);
        const head = await send(port, path, { method: 'HEAD' });
        assert.deepEqual([head.status, head.body.length], [get.status, 0], path);
        assert.equal(head.headers['content-type'], get.headers['content-type'], path);
      }
    });
  });
}

describe('unknown routes', () => {
  const service = served(memory);
  let port: number;
  before(() => ({ port } = service));

  it('returns 404 for every method', async () => {
    for (const path of ['/-/', '/-/missing', '/-/health', '/-/health/missing', '/-/upload', '/-/docs/missing']) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
        const response = await send(port, `${path}?query=secret`, { method });
        assert.equal(response.status, 404, `${method} ${path}: ${response.body.toString()}`);
        assertFailure(response, 404, new RegExp(`${method} ${path}`));
      }
    }
    assertFailure(await send(port, '/missing'), 404, 'The folder "missing/" does not exist.');
  });
});

describe('the request id', () => {
  const service = served(memory);
  let port: number;
  before(() => ({ port } = service));

  it('is new on every response', async () => {
    await plant(port, { a: 'text', 'f/x': '2' });
    const { headers } = await send(port, '/file/a');
    const responses = [
      await send(port, '/'),
      await send(port, '/file/a'),
      await send(port, '/file/a', { method: 'HEAD' }),
      await send(port, '/file/a', { headers: { range: 'bytes=0-0' } }),
      await send(port, '/file/a', { headers: { range: 'bytes=9-' } }),
      await send(port, '/file/a', { headers: { 'if-none-match': String(headers.etag) } }),
      await send(port, '/file/a', { headers: { 'if-match': '"none"' } }),
      await send(port, '/thumb/a'),
      await send(port, '/missing'),
      await send(port, '/missing', { method: 'PUT' }),
      await send(port, '/copy', { method: 'OPTIONS' }),
      await send(port, '/-/missing'),
      await send(port, '/-/docs'),
      await send(port, '/-/openapi.json'),
      await send(port, '/-/health/live'),
      await send(port, '/file/%FF'),
      await postForm(port, []),
      await postForm(port, [{ name: 'file', filename: 'b', value: 'x' }]),
      await postJson(port, '/copy', {}),
      await postJson(port, '/delete_folder/f', {}, { accept: 'application/x-ndjson' }),
    ];
    const ids = responses.map((response) => String(response.headers['x-request-id']));
    for (const id of ids) assert.match(id, /^[\w-]{36}$/);
    assert.equal(new Set(ids).size, responses.length);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 200, 206, 416, 304, 412, 400, 404, 405, 204, 404, 200, 200, 200, 400, 400, 200, 400, 200],
    );
  });

  it('is new if the request has one but does not come from a trusted proxy', async () => {
    const hostile = ['a', '', ' ', 'a b', 'a,b', '"a"', "a'b", '<script>', 'a;b', 'a\tb', 'é', '{}', 'x'.repeat(129)];
    for (const id of hostile) {
      const response = await send(port, '/missing', { headers: { 'x-request-id': id } });
      assert.match(String(response.headers['x-request-id']), /^[\w-]{36}$/, JSON.stringify(id));
    }
    const twice =
      'GET / HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\nX-Request-Id: b\r\nConnection: close\r\n\r\n';
    assert.match(String(responseOf(await sendBytes(port, twice)).headers['x-request-id']), /^[\w-]{36}$/);
  });
});

describe('malformed HTTP', () => {
  const service = served(memory);
  let port: number;
  before(() => ({ port } = service));

  const HEAD = 'GET / HTTP/1.1\r\nHost: localhost\r\n';
  const cases: Readonly<Record<string, readonly [status: number, bytes: string | Buffer]>> = {
    'a greeting': [400, 'hello\r\n\r\n'],
    'an empty request line': [400, ' \r\n\r\n'],
    'a TLS handshake': [400, Buffer.from('160301020001000001fc0303', 'hex')],
    'an unknown method': [400, 'MAKE / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    'a target with a space': [400, 'GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    'a target with a control character': [400, 'GET /a\u0001b HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    'another protocol': [400, 'GET / FTP/1.1\r\nHost: localhost\r\n\r\n'],
    'a header without a name': [400, `${HEAD}: x\r\n\r\n`],
    'a header with a space in its name': [400, `${HEAD}A b: x\r\n\r\n`],
    'a header with a NUL': [400, `${HEAD}A: x\u0000y\r\n\r\n`],
    'a length that is no number': [400, `${HEAD}Content-Length: x\r\n\r\n`],
    'two lengths': [400, `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`],
    'a length and chunks': [400, `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    'a request without Host': [400, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    'a head of more than 16 KiB': [431, `${HEAD}A: ${'x'.repeat(17_000)}\r\n\r\n`],
    'a URL of more than 16 KiB': [431, `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    'a wish for a tunnel': [501, 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    'an unknown expectation': [417, `${HEAD}Expect: wonders\r\nConnection: close\r\n\r\n`],
  };
  for (const [what, [status, bytes]] of Object.entries(cases)) {
    it(`${what} returns ${status} with the envelope and a request id, and closes the connection`, async () => {
      const received = await sendBytes(port, bytes);
      assert.match(received, /^HTTP\/1\.1 \d+ .*\r\n(.*\r\n)*content-type: application\/json/i, received);
      const response = responseOf(received);
      assertFailure(response, status, /./);
      assert.equal(response.headers['x-content-type-options'], 'nosniff');
      assert.equal(response.headers['cross-origin-resource-policy'], 'same-origin');
    });
  }

  it('answers the valid requests before malformed bytes', async () => {
    const form = formOf([{ name: 'file', filename: 'a', value: '1' }]);
    const head = `POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=${BOUNDARY}\r\n`;
    const request = `${head}Content-Length: ${form.length}\r\n\r\n${form.toString()}`;
    for (const end of ['hello\r\n\r\n', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n']) {
      const received = await sendBytes(port, request + request + end);
      const [first, second, ...others] = received.split(/(?=HTTP\/1\.1 )/).map(responseOf);
      for (const response of [first, second]) {
        assert.ok(response);
        assertSuccess(response, { message: 'File uploaded successfully', path: 'a' });
      }
      assert.deepEqual(
        others.map(({ status }) => status),
        [end.startsWith('hello') ? 400 : 501],
      );
    }
  });

  it('continues after a client disconnects before its responses', async () => {
    await upload(port, 'a', Buffer.alloc(5_000_000));
    for (const [index, end] of ['hello\r\n\r\n', 'CONNECT localhost:80 HTTP/1.1\r\n\r\n'].entries()) {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET /file/a HTTP/1.1\r\nHost: localhost\r\n\r\n${end}`);
      await within('the start of the response', once(socket, 'data'));
      socket.resetAndDestroy();
      await until('the request has ended', () => linesOf(service, '/file/a').length > index);
      assert.equal((await send(port, '/')).status, 200);
    }
  });

  it('ignores a protocol upgrade', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'websocket' };
    assert.equal((await within('the response', send(port, '/', { headers }))).status, 200);
  });

  it('does not affect valid requests', async () => {
    const received = await Promise.all(Object.values(cases).map(([, bytes]) => sendBytes(port, bytes)));
    assert.equal(received.length, Object.keys(cases).length);
    assert.equal((await send(port, '/')).status, 200);
  });
});
