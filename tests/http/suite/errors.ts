import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type ErrorKind, StoreError } from '../../../src/domain/error.ts';
import { parseFile, parseFolder } from '../../../src/domain/path.ts';
import type { Store } from '../../../src/domain/store.ts';
import { readOnly } from '../../../src/layers/read-only.ts';
import type { Backend } from '../../contract/backend.ts';
import {
  type Answer,
  answerOf,
  assertFailure,
  assertSuccess,
  BOUNDARY,
  begin,
  formOf,
  jsonOf,
  pathsBelow,
  plant,
  postForm,
  postJson,
  send,
  sendBytes,
  until,
  upload,
  within,
} from '../client.ts';
import { startService, type TestService } from '../service.ts';

/** What stands in JSON for a boolean where somebody was careless. */
export const NO_BOOLEANS: readonly unknown[] = ['true', 'false', '', 0, 1, null, [], [true], {}];

/** As `NO_BOOLEANS`, for a string. */
export const NO_STRINGS: readonly unknown[] = [0, 1, true, false, null, [], ['b'], {}];

/** The routes that take a JSON body, each with one that is right. */
const JSON_ROUTES: Readonly<Record<string, object>> = {
  '/rename/a': { newName: 'z' },
  '/rename_folder/f': { newName: 'z' },
  '/copy': { source: 'a', destination: 'z', is_folder: false },
  '/move': { source: 'a', destination: 'z', is_folder: false },
  '/create_folder': { path: 'z' },
};

/** Every route, and the methods that it has. */
const METHODS_OF: Readonly<Record<string, readonly string[]>> = {
  '/': ['GET', 'HEAD'],
  '/f': ['GET', 'HEAD'],
  '/f/g/': ['GET', 'HEAD'],
  '/upload': ['POST'],
  '/delete/a': ['DELETE', 'POST'],
  '/file/a': ['GET', 'HEAD'],
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

/** How the service says what is wrong, and what it tells of itself. */
export function errorsSuite(backend: Backend): void {
  describe(`Failures over HTTP: ${backend.name}`, () => {
    let service: TestService;
    let port: number;

    beforeEach(async () => {
      service = await startService(backend);
      ({ port } = service);
    });
    afterEach(() => service.stop());

    /** A service whose store is another one, which the test sees to the end of. */
    const startWith = async (wrap: (store: Store) => Store, test: { after(end: () => Promise<void>): void }) => {
      const wrapped = await startService(backend, { wrap });
      test.after(() => wrapped.stop());
      return wrapped;
    };

    describe('a JSON body', () => {
      const post = (path: string, body: string | undefined, type: string | undefined): Promise<Answer> =>
        send(port, path, { method: 'POST', body, headers: type === undefined ? {} : { 'content-type': type } });

      it('that is malformed is 400, and changes nothing', async () => {
        await plant(port, { a: '1', 'f/x': '2' });
        const bodies = ['{', '{"path":', 'nothing', "{'path': 'z'}", '{"path": "z",}', '{"path": "z"} {}', '\u0000'];
        for (const path of Object.keys(JSON_ROUTES)) {
          for (const body of bodies) {
            assertFailure(await post(path, body, 'application/json'), 400, 'The body is not valid JSON.');
          }
        }
        assert.deepEqual(await pathsBelow(port), ['a', 'f/', 'f/x']);
      });

      it('that is no object is 400', async () => {
        for (const path of Object.keys(JSON_ROUTES)) {
          for (const body of ['[]', '[{}]', 'null', 'true', '1', '"a"']) {
            const answer = await post(path, body, 'application/json');
            assertFailure(answer, 400, 'The body must be a JSON object.');
          }
        }
      });

      it('that is empty is 400, whether its type is said or not', async () => {
        for (const path of Object.keys(JSON_ROUTES)) {
          for (const body of ['', undefined]) {
            for (const type of ['application/json', undefined]) {
              assertFailure(await post(path, body, type), 400, /body (is empty|must be a JSON object)/);
            }
          }
        }
      });

      it('that is sent as another type, or as none, is 400 and says which it has to be, and changes nothing', async () => {
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
            const answer = await post(path, JSON.stringify(body), type);
            assertFailure(answer, 400, 'The body must be JSON, sent with Content-Type: application/json.');
          }
        }
        assert.deepEqual(await pathsBelow(port), ['a', 'f/', 'f/x']);
      });

      it('is taken with parameters of its type, and however that is written', async () => {
        for (const type of ['application/json; charset=utf-8', 'application/json;charset=UTF-8', 'Application/JSON']) {
          assert.equal((await post('/create_folder', '{"path": "z"}', type)).status, 200, type);
        }
      });

      it('of more than 64 KiB is 413, and changes nothing', async () => {
        await plant(port, { a: '1', 'f/x': '2' });
        for (const [path, body] of Object.entries(JSON_ROUTES)) {
          const answer = await post(
            path,
            JSON.stringify({ ...body, filling: 'x'.repeat(64 * 1024) }),
            'application/json',
          );
          assertFailure(answer, 413, /larger/);
        }
        assert.deepEqual(await pathsBelow(port), ['a', 'f/', 'f/x']);
      });

      it('of two paths of the longest kind, with every character escaped, is taken', async () => {
        const escaped = (path: string) => path.replaceAll('x', '\\u0078');
        const longest = `${'x'.repeat(200)}/`.repeat(5) + 'x'.repeat(19);
        await upload(port, longest, '1');
        const body = `{"source": "${escaped(longest)}", "destination": "${escaped(longest.slice(1))}", "is_folder": false}`;
        assertSuccess(await post('/copy', body, 'application/json'), { message: 'Item copied successfully' });
      });

      it('with keys that JavaScript gives a meaning is taken for what it says, or 400', async () => {
        for (const body of ['{"path": "z", "__proto__": {"path": "y"}}', '{"__proto__": {"path": "y"}}']) {
          assertFailure(await post('/create_folder', body, 'application/json'), 400, /key "__proto__"/);
        }
        const answer = await post(
          '/create_folder',
          '{"constructor": {"prototype": {"path": "y"}}}',
          'application/json',
        );
        assertFailure(answer, 400, /./);
        assert.deepEqual(await pathsBelow(port), []);
      });

      it('that is not UTF-8 is 400, and changes nothing: it would give files other names than were sent', async () => {
        await plant(port, { a: '1', 'f/x': '2' });
        for (const [path, body] of Object.entries(JSON_ROUTES)) {
          for (const bytes of ['ff', 'c3', 'c328', 'eda080', 'c0af']) {
            const [before, after] = JSON.stringify({ ...body, newName: 'z?', destination: 'z?', path: 'z?' }).split(
              '?',
            );
            const whole = [Buffer.from(`${before}`), Buffer.from(bytes, 'hex'), Buffer.from(`${after}`)];
            const headers = { 'content-type': 'application/json' };
            const answer = await send(port, path, { method: 'POST', body: Buffer.concat(whole), headers });
            assertFailure(answer, 400, /UTF-8/);
          }
        }
        assert.deepEqual(await pathsBelow(port), ['a', 'f/', 'f/x']);
      });

      it('that comes in chunks is taken', async () => {
        const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
        assert.equal(
          (await send(port, '/create_folder', { method: 'POST', body: '{"path": "z"}', headers })).status,
          200,
        );
        assert.deepEqual(await pathsBelow(port), ['z/']);
      });

      it('that is cut short is 400, and changes nothing', async () => {
        const head = 'POST /create_folder HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
        const cut = /in the middle of the request/;
        for (const [rest, message] of [
          ['Content-Length: 100\r\n\r\n{"path": "z"}', cut],
          ['Transfer-Encoding: chunked\r\n\r\nd\r\n{"path": "z"}\r\n', cut],
          ['Transfer-Encoding: chunked\r\n\r\nzz\r\n{"path": "z"}\r\n0\r\n\r\n', /not valid HTTP/],
        ] as const) {
          assertFailure(answerOf(await sendBytes(port, head + rest, { ends: true })), 400, message);
        }
        assert.deepEqual(await pathsBelow(port), []);
      });

      it('whose client leaves in its middle is no fault of the service, and not logged as one', async () => {
        const head = 'POST /create_folder HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
        await sendBytes(port, `${head}Content-Length: 100\r\n\r\n{"path":`, { ends: true });
        await until('the request is logged', () => linesOf(service, '/create_folder').length === 1);
        await within('the end', service.stop());
        assert.deepEqual(
          service.log.filter((line) => Number(line['level']) >= 50),
          [],
        );
        service = await startService(backend);
      });
    });

    describe('a method that a path does not have', () => {
      const paths = () => ({ ...METHODS_OF, ...(service.signsUrls && { '/-/signed/a': ['GET', 'HEAD'] }) });

      it('is 405 with Allow, for every path and every method that HTTP knows', async () => {
        for (const [path, allowed] of Object.entries(paths())) {
          for (const method of METHODS) {
            if (allowed.includes(method) || method === 'OPTIONS' || method === 'CONNECT') continue;
            const answer = await send(port, path, { method });
            assert.equal(answer.status, 405, `${method} ${path}: ${answer.body.toString()}`);
            assert.equal(answer.headers['allow'], allowed.join(', '), `${method} ${path}`);
            if (method === 'HEAD') continue;
            const error = `The method ${method} is not allowed here; allowed: ${allowed.join(', ')}.`;
            assertFailure(answer, 405, error);
          }
        }
      });

      it('is 405 whatever is sent along, and changes nothing', async () => {
        await plant(port, { a: '1' });
        for (const [type, body] of [
          ['application/json', '{'],
          ['application/json', 'x'.repeat(100_000)],
          ['multipart/form-data', 'x'],
          ['none', 'x'],
        ] as const) {
          for (const path of ['/', '/a', '/file/a', '/upload', '/copy', '/delete/a', '/delete_folder/a']) {
            const answer = await send(port, path, { method: 'PUT', body, headers: { 'content-type': type } });
            assertFailure(answer, 405, /PUT is not allowed/);
          }
        }
        assert.deepEqual(await pathsBelow(port), ['a']);
      });

      it('is answered for OPTIONS with what it has, and no body', async () => {
        for (const [path, allowed] of Object.entries(paths())) {
          const answer = await send(port, path, { method: 'OPTIONS' });
          assert.deepEqual([answer.status, answer.body.length], [204, 0], path);
          assert.equal(answer.headers['allow'], allowed.join(', '), path);
          assert.ok(answer.headers['x-request-id'], path);
        }
      });

      it('is not HEAD, wherever GET is: the same status and headers without the body', async () => {
        await plant(port, { a: '1', 'f/g/x': '2' });
        for (const path of [
          '/',
          '/f',
          '/f/g/',
          '/file/a',
          '/-/openapi.json',
          '/-/docs',
          '/-/health/live',
          '/missing',
        ]) {
          const get = await send(port, path);
          const head = await send(port, path, { method: 'HEAD' });
          assert.deepEqual([head.status, head.body.length], [get.status, 0], path);
          assert.equal(head.headers['content-type'], get.headers['content-type'], path);
        }
      });
    });

    it('a route that does not exist is 404, for every method', async () => {
      for (const path of ['/-/', '/-/missing', '/-/health', '/-/health/missing', '/-/upload', '/-/docs/missing']) {
        for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
          const answer = await send(port, `${path}?query=secret`, { method });
          assert.equal(answer.status, 404, `${method} ${path}: ${answer.body.toString()}`);
          assertFailure(answer, 404, new RegExp(`${method} ${path}`));
        }
      }
      assertFailure(await send(port, '/missing'), 404, 'There is no folder "missing/".');
    });

    describe('the request id', () => {
      it('is on every answer, of success and of failure, a new one each time', async () => {
        await plant(port, { a: 'text', 'f/x': '2' });
        const { headers } = await send(port, '/file/a');
        const answers = [
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
        const ids = answers.map((answer) => String(answer.headers['x-request-id']));
        for (const id of ids) assert.match(id, /^[\w-]{36}$/);
        assert.equal(new Set(ids).size, answers.length);
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200, 200, 206, 416, 304, 412, 400, 404, 405, 204, 404, 200, 200, 200, 400, 400, 200, 400, 200],
        );
      });

      it('is a new one, where the request brought one and came from no trusted proxy', async () => {
        const hostile = [
          'a',
          '',
          ' ',
          'a b',
          'a,b',
          '"a"',
          "a'b",
          '<script>',
          'a;b',
          'a\tb',
          'é',
          '{}',
          'x'.repeat(129),
        ];
        for (const id of hostile) {
          const answer = await send(port, '/missing', { headers: { 'x-request-id': id } });
          assert.match(String(answer.headers['x-request-id']), /^[\w-]{36}$/, JSON.stringify(id));
        }
        const twice =
          'GET / HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\nX-Request-Id: b\r\nConnection: close\r\n\r\n';
        assert.match(String(answerOf(await sendBytes(port, twice)).headers['x-request-id']), /^[\w-]{36}$/);
      });
    });

    describe('what the store throws', () => {
      const STATUSES: Readonly<Record<ErrorKind, number>> = {
        'not-found': 404,
        'already-exists': 409,
        'wrong-kind': 409,
        'invalid-path': 400,
        'invalid-request': 400,
        'condition-failed': 412,
        'range-unsatisfiable': 416,
        'too-large': 413,
        denied: 403,
        unsupported: 501,
        unavailable: 503,
      };

      it('on purpose is answered with the status of its kind and its own words', async (test) => {
        let kind: ErrorKind = 'denied';
        const wrap = failing(() => new StoreError(kind, `It is ${kind}.`, { cause: new Error('secret cause') }));
        const faulty = await startWith(wrap, test);
        for (const [each, status] of Object.entries(STATUSES) as [ErrorKind, number][]) {
          kind = each;
          for (const answer of await askEverything(faulty.port)) assertFailure(answer, status, `It is ${kind}.`);
        }
      });

      it('as unavailable is 503 with Retry-After: as many seconds as the store says, or one', async (test) => {
        let retryAfter: number | undefined;
        const wrap = failing(
          () =>
            new StoreError('unavailable', 'The store is out of reach.', retryAfter === undefined ? {} : { retryAfter }),
        );
        const faulty = await startWith(wrap, test);
        for (const [seconds, header] of [
          [undefined, '1'],
          [7, '7'],
          [3600, '3600'],
        ] as const) {
          retryAfter = seconds;
          for (const answer of await askEverything(faulty.port)) {
            assertFailure(answer, 503, 'The store is out of reach.');
            assert.equal(answer.headers['retry-after'], header);
          }
        }
      });

      it('by mistake is 500: the answer says nothing but the request id, and the log says all under it', async (test) => {
        const secrets = [
          new Error('secret /srv/files'),
          Object.assign(new Error('secret'), { code: 'EIO', path: '/srv/secret' }),
          Object.assign(new TypeError('secret'), { statusCode: 404, headers: { secret: 'x' } }),
          'secret text',
          undefined,
          { message: 'secret object' },
        ];
        let secret: unknown;
        const faulty = await startWith(
          failing(() => secret),
          test,
        );
        for (const each of secrets) {
          secret = each;
          for (const answer of await askEverything(faulty.port)) {
            const id = String(answer.headers['x-request-id']);
            const error = `Something failed inside the service. Its log says more, under the request id ${id}.`;
            assertFailure(answer, 500, error);
            assert.doesNotMatch(JSON.stringify(answer.headers) + answer.body.toString(), /secret|srv/);
            const logged = faulty.log.filter((line) => line['requestId'] === id && line['level'] === 50);
            assert.equal(logged.length, 1, JSON.stringify(faulty.log.filter((line) => line['requestId'] === id)));
            if (each !== undefined) assert.match(JSON.stringify(logged), /secret/);
          }
        }
      });

      it('does not keep the service from answering the next request', async (test) => {
        let isBroken = true;
        const faulty = await startWith((store) => {
          const broken = failing(() => new Error('secret'))(store);
          return { ...store, list: (...args) => (isBroken ? broken : store).list(...args) };
        }, test);
        assert.equal((await send(faulty.port, '/')).status, 500);
        isBroken = false;
        assert.equal((await send(faulty.port, '/')).status, 200);
      });
    });

    it('a service that is read-only answers all that would change something with 403, and changes nothing', async (test) => {
      const inner = Promise.withResolvers<Store>();
      const locked = await startWith((store) => {
        inner.resolve(store);
        return readOnly(store);
      }, test);
      const store = await inner.promise;
      await store.write(parseFile('a'), { body: Readable.from([Buffer.from('1')]), type: 'text/plain' });
      await store.createFolder(parseFolder('f'));
      for (const answer of await askForChanges(locked.port)) {
        assertFailure(answer, 403, 'This service is read-only.');
      }
      assert.equal((await send(locked.port, '/file/a')).body.toString(), '1');
      assert.deepEqual(await pathsBelow(locked.port), ['a', 'f/']);
    });

    describe('what is no HTTP', () => {
      const HEAD = 'GET / HTTP/1.1\r\nHost: localhost\r\n';
      const cases: Readonly<Record<string, readonly [status: number, bytes: string | Buffer]>> = {
        'a greeting': [400, 'hello\r\n\r\n'],
        'an empty request line': [400, ' \r\n\r\n'],
        'a TLS handshake': [400, Buffer.from('160301020001000001fc0303', 'hex')],
        'a method of nobody': [400, 'MAKE / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
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
        'an expectation that nobody knows': [417, `${HEAD}Expect: wonders\r\nConnection: close\r\n\r\n`],
      };
      for (const [what, [status, bytes]] of Object.entries(cases)) {
        it(`such as ${what} is ${status}, with the envelope and a request id, and the end of the connection`, async () => {
          const received = await sendBytes(port, bytes);
          assert.match(received, /^HTTP\/1\.1 \d+ .*\r\n(.*\r\n)*content-type: application\/json/i, received);
          const answer = answerOf(received);
          assertFailure(answer, status, /./);
          assert.equal(answer.headers['x-content-type-options'], 'nosniff');
          assert.equal(answer.headers['cross-origin-resource-policy'], 'same-origin');
        });
      }

      it('behind whole requests takes no answer from them: each is told what became of it', async () => {
        const form = formOf([{ name: 'file', filename: 'a', value: '1' }]);
        const head = `POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=${BOUNDARY}\r\n`;
        const request = `${head}Content-Length: ${form.length}\r\n\r\n${form.toString()}`;
        for (const end of ['hello\r\n\r\n', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n']) {
          const received = await sendBytes(port, request + request + end);
          const [first, second, ...others] = received.split(/(?=HTTP\/1\.1 )/).map(answerOf);
          for (const answer of [first, second]) {
            assert.ok(answer);
            assertSuccess(answer, { message: 'File uploaded successfully', path: 'a' });
          }
          assert.deepEqual(
            others.map(({ status }) => status),
            [end.startsWith('hello') ? 400 : 501],
          );
        }
      });

      it('does no harm by a client that is gone before its answers are', async () => {
        await upload(port, 'a', Buffer.alloc(5_000_000));
        for (const [index, end] of ['hello\r\n\r\n', 'CONNECT localhost:80 HTTP/1.1\r\n\r\n'].entries()) {
          const socket = connect(port, '127.0.0.1');
          socket.write(`GET /file/a HTTP/1.1\r\nHost: localhost\r\n\r\n${end}`);
          await within('the beginning of the answer', once(socket, 'data'));
          socket.resetAndDestroy();
          await until('the request has ended', () => linesOf(service, '/file/a').length > index);
          assert.equal((await send(port, '/')).status, 200);
        }
      });

      it('does not disturb who speaks HTTP', async () => {
        const received = await Promise.all(Object.values(cases).map(([, bytes]) => sendBytes(port, bytes)));
        assert.equal(received.length, Object.keys(cases).length);
        assert.equal((await send(port, '/')).status, 200);
      });
    });

    it('takes a wish to change the protocol for a plain request', async () => {
      const headers = { connection: 'Upgrade', upgrade: 'websocket' };
      assert.equal((await within('an answer', send(port, '/', { headers }))).status, 200);
    });

    describe('/-/health', () => {
      it('says that the process runs, and that the store can be used', async () => {
        assertSuccess(await send(port, '/-/health/live'), { message: 'The service is running.' });
        const answer = await send(port, '/-/health/ready');
        // What a backend tells of its quota stands there besides.
        const { quota: _, ...ready } = jsonOf(answer);
        assert.deepEqual([answer.status, ready], [200, { success: true, message: 'The service is ready.' }]);
      });

      it('says with 503 and Retry-After that the store is out of reach, while the process runs', async (test) => {
        const wrap = (store: Store): Store => ({
          ...store,
          check: async () => {
            throw new StoreError('unavailable', 'The bucket does not answer.', { retryAfter: 9 });
          },
        });
        const faulty = await startWith(wrap, test);
        const answer = await send(faulty.port, '/-/health/ready');
        assertFailure(answer, 503, 'The bucket does not answer.');
        assert.equal(answer.headers['retry-after'], '9');
        assert.equal((await send(faulty.port, '/-/health/live')).status, 200);
      });
    });

    describe('the description of the interface', () => {
      const ENDPOINTS: Readonly<Record<string, readonly string[]>> = {
        '/': ['get'],
        '/{path}': ['get'],
        '/upload': ['post'],
        '/delete/{path}': ['delete', 'post'],
        '/file/{path}': ['get', 'head'],
        '/thumb/{path}': ['get'],
        '/rename/{path}': ['post'],
        '/delete_folder/{path}': ['delete', 'post'],
        '/rename_folder/{path}': ['post'],
        '/copy': ['post'],
        '/move': ['post'],
        '/create_folder': ['post'],
        '/-/health/live': ['get'],
        '/-/health/ready': ['get'],
        '/-/session': ['delete', 'get', 'post'],
        '/-/session/end': ['post'],
        '/-/sign-in': ['get'],
      };
      type Operation = {
        summary?: string;
        parameters?: { name: string; in: string }[];
        requestBody?: { content: Record<string, { schema: { required?: string[]; properties: object } }> };
        responses: Record<string, { content?: object }>;
      };
      const describedPaths = async () => {
        const json = jsonOf(await send(port, '/-/openapi.json'));
        return json as { openapi: string; info: { title: string }; paths: Record<string, Record<string, Operation>> };
      };

      it('is OpenAPI 3.1.0, with every endpoint and its methods, and no other', async () => {
        const { openapi, info, paths } = await describedPaths();
        assert.equal(openapi, '3.1.0');
        assert.equal(info.title, 'Holdall');
        const methods = Object.entries(paths).map(([path, operations]) => [path, Object.keys(operations).toSorted()]);
        const expected = { ...ENDPOINTS, ...(service.signsUrls && { '/-/signed/{path}': ['get', 'head'] }) };
        assert.deepEqual(Object.fromEntries(methods), expected);
      });

      it('has a summary, the statuses of success and of failure, and the path parameter for every operation', async () => {
        for (const [path, operations] of Object.entries((await describedPaths()).paths)) {
          for (const [method, { summary, parameters = [], responses }] of Object.entries(operations)) {
            const place = `${method} ${path}`;
            assert.ok(summary, place);
            assert.ok(responses['200'] ?? responses['302'], place);
            if (path !== '/-/health/live') assert.ok(responses['5XX'], place);
            const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
            assert.deepEqual(inPath, path.includes('{path}') ? ['path'] : [], place);
          }
        }
      });

      it('names the fields of every body, and which are required', async () => {
        const { paths } = await describedPaths();
        const json = 'application/json';
        for (const [path, type, required, properties] of [
          ['/upload', 'multipart/form-data', ['file'], ['file', 'prefix', 'modified']],
          ['/rename/{path}', json, ['newName'], ['newName', 'overwrite']],
          ['/rename_folder/{path}', json, ['newName'], ['newName', 'overwrite']],
          ['/copy', json, ['source', 'destination', 'is_folder'], ['source', 'destination', 'is_folder', 'overwrite']],
          ['/move', json, ['source', 'destination', 'is_folder'], ['source', 'destination', 'is_folder', 'overwrite']],
          ['/create_folder', json, ['path'], ['path']],
          ['/-/session', json, ['name', 'password'], ['name', 'password']],
        ] as const) {
          const schema = paths[path]?.['post']?.requestBody?.content[type]?.schema;
          assert.deepEqual([schema?.required, Object.keys(schema?.properties ?? {})], [required, properties], path);
        }
      });

      it('names the types that answers come in, beside JSON', async () => {
        const { paths } = await describedPaths();
        const json = 'application/json';
        const lines = [json, 'application/x-ndjson'];
        const page = [json, 'text/html'];
        for (const [path, method, status, types] of [
          ['/', 'get', '200', page],
          ['/', 'get', '4XX', page],
          ['/file/{path}', 'get', '200', ['*/*']],
          ['/file/{path}', 'get', '206', ['*/*']],
          ['/file/{path}', 'get', '4XX', page],
          ['/thumb/{path}', 'get', '200', ['image/jpeg']],
          ['/copy', 'post', '200', lines],
          ['/move', 'post', '200', lines],
          ['/delete_folder/{path}', 'delete', '200', lines],
          ['/rename_folder/{path}', 'post', '200', lines],
          ['/-/health/live', 'get', '4XX', [json]],
          ['/-/health/ready', 'get', '4XX', [json]],
        ] as const) {
          const response = paths[path]?.[method]?.responses[status];
          assert.deepEqual(Object.keys(response?.content ?? {}), types, `${method} ${path} ${status}`);
        }
      });

      it('is a page too, whose scripts and styles are all there', async () => {
        const page = await send(port, '/-/docs');
        assert.equal(page.status, 200);
        assert.match(String(page.headers['content-type']), /^text\/html/);
        const html = page.body.toString();
        const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
        assert.ok(links.some((link) => link.endsWith('.js')));
        for (const link of links) {
          const { origin, pathname } = new URL(link, `http://127.0.0.1:${port}/-/docs`);
          assert.equal(origin, `http://127.0.0.1:${port}`, 'nothing comes from elsewhere');
          assert.equal((await send(port, pathname)).status, 200, link);
        }
      });
    });

    describe('the log', () => {
      it('has one line for each request, with requestId, method, route, path, status, bytes and milliseconds', async () => {
        await plant(port, { 'f/a': 'x'.repeat(5000) });
        const before = service.log.length;
        const cases = [
          ['GET', '/file/f/a?download=1', '/file/*', '/file/f/a', 200],
          ['HEAD', '/file/f/a', '/file/*', '/file/f/a', 200],
          ['GET', '/file/missing?x=y', '/file/*', '/file/missing', 404],
          ['GET', '/?limit=1', '/', '/', 200],
          ['GET', '/f', '/*', '/f', 200],
          ['PUT', '/f', '/*', '/f', 405],
          ['OPTIONS', '/copy', '/copy', '/copy', 204],
          ['POST', '/copy', '/copy', '/copy', 400],
          ['DELETE', '/delete/missing', '/delete/*', '/delete/missing', 404],
          ['GET', '/-/health/live', '/-/health/live', '/-/health/live', 200],
        ] as const;
        const expected = [];
        for (const [method, url, route, path, status] of cases) {
          const answer = await send(port, url, { method });
          expected.push({ requestId: answer.headers['x-request-id'], method, route, path, status });
        }
        await until('all are logged', () => requestLines(service, before).length >= cases.length);
        const lines = requestLines(service, before);
        assert.deepEqual(
          lines.map(({ requestId, method, route, path, status }) => ({ requestId, method, route, path, status })),
          expected,
        );
        for (const { bytes, milliseconds } of lines) {
          assert.ok(Number(bytes) > 0);
          assert.ok(Number(milliseconds) >= 0);
        }
        assert.ok(Number(lines[0]?.['bytes']) > 5000);
        assert.ok(Number(lines[1]?.['bytes']) < 5000);
      });

      it('has one line for a request that no route is asked for', async () => {
        for (const path of ['/-/missing', '/file/%FF', '/%zz']) {
          const before = service.log.length;
          const answer = await send(port, path);
          await until(`${path} is logged`, () => requestLines(service, before).length > 0);
          const [line] = requestLines(service, before);
          assert.deepEqual(
            [line?.['requestId'], line?.['method'], line?.['path'], line?.['status']],
            [answer.headers['x-request-id'], 'GET', path, answer.status],
          );
        }
      });

      it('never has a signature, nor anything else of a query', async () => {
        for (const path of ['/file/a', '/-/signed/a', '/', '/-/missing', '/file/%FF', '/thumb/a']) {
          await send(port, `${path}?expires=1&signature=VERYSECRET`);
          await send(port, `${path}?prefix=VERYSECRET`, { method: 'PUT' });
        }
        await until('they are logged', () => linesOf(service, '/thumb/a').length === 2);
        assert.doesNotMatch(JSON.stringify(service.log), /VERYSECRET|signature/);
      });

      it('has the status 499 for a request whose client left before it was answered', async (test) => {
        const arrived = Promise.withResolvers<void>();
        const blocked = Promise.withResolvers<void>();
        const slow = await startWith((store) => {
          const list: Store['list'] = async (...args) => {
            arrived.resolve();
            await blocked.promise;
            return store.list(...args);
          };
          return { ...store, list };
        }, test);
        const exchange = begin(slow.port, '/left');
        await within('the request', arrived.promise);
        exchange.leave();
        try {
          await until('it is logged', () => linesOf(slow, '/left').length === 1);
          assert.equal(linesOf(slow, '/left')[0]?.['status'], 499);
        } finally {
          blocked.resolve();
        }
      });
    });
  });
}

/** A store of which every member throws what `error` gives. */
export function failing(error: () => unknown): (store: Store) => Store {
  return (store) => {
    const members = Object.keys(store).map((name) => [
      name,
      async (...args: unknown[]) => {
        for (const argument of args) if (hasBody(argument)) argument.body.destroy();
        throw error();
      },
    ]);
    // It looks at a path alone and never fails.
    const { isPrivileged } = store;
    return { ...Object.fromEntries(members), ...(isPrivileged && { isPrivileged }) };
  };
}

const hasBody = (value: unknown): value is { body: { destroy(): void } } =>
  typeof value === 'object' && value !== null && 'body' in value;

/** One request to every endpoint that asks the store. */
async function askEverything(port: number): Promise<Answer[]> {
  return [
    await send(port, '/'),
    await send(port, '/?prefix=f'),
    await send(port, '/file/a'),
    await send(port, '/thumb/a'),
    ...(await askForChanges(port)),
  ];
}

/** One request to every endpoint that changes something. */
async function askForChanges(port: number): Promise<Answer[]> {
  const file = { name: 'file', filename: 'a', value: 'x' };
  const prefix = { name: 'prefix', value: 'f' };
  return [
    await send(port, '/delete/a', { method: 'DELETE' }),
    await send(port, '/delete_folder/f', { method: 'DELETE' }),
    await postJson(port, '/rename/a', { newName: 'b' }),
    await postJson(port, '/rename_folder/f', { newName: 'g' }),
    await postJson(port, '/copy', { source: 'a', destination: 'b', is_folder: false }),
    await postJson(port, '/copy', { source: 'f', destination: 'g', is_folder: true }),
    await postJson(port, '/move', { source: 'a', destination: 'b', is_folder: false }),
    await postJson(port, '/move', { source: 'f', destination: 'g', is_folder: true }),
    await postJson(port, '/create_folder', { path: 'f' }),
    await postForm(port, [prefix, file]),
    await postForm(port, [file, prefix]),
  ];
}

const requestLines = (service: TestService, from = 0) =>
  service.log.slice(from).filter((line) => line['msg'] === 'request');

const linesOf = (service: TestService, path: string) => requestLines(service).filter((line) => line['path'] === path);
