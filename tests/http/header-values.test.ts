import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { memory } from '../contract/backend.ts';
import { type Call, jsonOf, send, treeOf, upload } from './client.ts';
import { served, startService } from './service.ts';

type Headers = Readonly<Record<string, string>>;

/** A request with headers that make it valid, and the values of another header that it must not accept. */
type Row = readonly [method: string, path: string, valid: Headers, header: string, values: readonly string[]];

const TUS = { 'tus-resumable': '1.0.0' };
const TUS_PART = { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
const NEW_TUS = { ...TUS, 'upload-length': '5', 'upload-metadata': `path ${Buffer.from('new').toString('base64')}` };
const IETF_PART = { 'content-type': 'application/partial-upload', 'upload-complete': '?1', 'upload-offset': '0' };
const TO = { destination: '/-/dav/new' };
const COUNTS = ['x', '-1', '1.5', '1e3', '99999999999999999999', '1, 2'];
const TIMES = ['x', '1e3', '2026-11-29', '99999999999999', '1, 2'];

/** `{begun}`: the path of an upload by tus that has begun. `{draft}`: one by the protocol of the IETF. */
const REFUSED: readonly Row[] = [
  [
    'COPY',
    '/-/dav/f.txt',
    {},
    'destination',
    ['http://%', 'x', 'http://', 'http:x', 'http://x:99999/y', 'http://[::1/y'],
  ],
  ['MOVE', '/-/dav/f.txt', {}, 'destination', ['/-/dav/x?y', '/-/dav/x#y']],
  ['COPY', '/-/dav/f.txt', TO, 'overwrite', ['x', 'TF', 'true', 'T, F']],
  ['PROPFIND', '/-/dav/', {}, 'depth', ['2', 'x', '0, 1', '-1']],
  ['COPY', '/-/dav/folder/', TO, 'depth', ['1', 'x']],
  ['MOVE', '/-/dav/folder/', TO, 'depth', ['0', 'x']],
  ['DELETE', '/-/dav/f.txt', {}, 'depth', ['2', 'x', '0, infinity']],
  ['DELETE', '/-/dav/folder/', {}, 'depth', ['2', 'x']],
  ['PUT', '/-/dav/f.txt', {}, 'if', ['x', '()', '(x)']],
  ['UNLOCK', '/-/dav/f.txt', {}, 'lock-token', ['x', 'urn:uuid:00000000-0000-4000-8000-000000000000']],
  ['PUT', '/-/dav/f.txt', {}, 'x-oc-mtime', TIMES],
  ['PUT', '/-/dav/f.txt', { 'transfer-encoding': 'chunked' }, 'x-expected-entity-length', COUNTS],
  ['PUT', '/-/dav/f.txt', {}, 'upload-complete', ['x', '?0', '0', 'false', '?2', '?1, ?0']],
  ['PUT', '/-/dav/f.txt', {}, 'content-digest', ['x', 'sha-256=x', 'sha-256=:eA==:']],
  ['PUT', '/file/f.txt', {}, 'x-oc-mtime', TIMES],
  ['PUT', '/file/f.txt', {}, 'upload-complete', ['x', '0', 'false', '?2', '?1, ?0']],
  ['PUT', '/file/f.txt', { 'upload-complete': '?0' }, 'upload-length', COUNTS],
  ['PUT', '/file/f.txt', {}, 'repr-digest', ['x', 'sha-512=:eA==:']],
  ['POST', '/-/uploads?path=new', {}, 'upload-complete', ['x', '1', '?2']],
  ['POST', '/-/uploads?path=new', { 'upload-complete': '?0' }, 'upload-length', COUNTS],
  ['POST', '/-/uploads', NEW_TUS, 'upload-length', COUNTS],
  ['POST', '/-/uploads', { ...NEW_TUS, 'upload-length': '' }, 'upload-defer-length', ['x', '0', '1, 1']],
  ['POST', '/-/uploads', NEW_TUS, 'upload-metadata', ['path YQ=, path YQ=', 'path !!!']],
  ['POST', '/-/uploads', NEW_TUS, 'tus-resumable', ['x', '0.2.2']],
  ['PATCH', '{begun}', TUS_PART, 'upload-offset', COUNTS],
  ['PATCH', '{begun}', TUS_PART, 'upload-checksum', ['x', 'crc32 eA==', 'sha1']],
  ['PATCH', '{draft}', IETF_PART, 'upload-offset', COUNTS],
  ['PATCH', '{draft}', IETF_PART, 'upload-complete', ['x', '1']],
  ['PATCH', '{draft}', IETF_PART, 'upload-length', COUNTS],
  ['GET', '/-/changes', { accept: 'text/event-stream' }, 'last-event-id', ['x', '%', '0']],
];

/** Values of headers that a server must ignore if it can't use them, or that only change the form of a response. */
const IGNORED: Readonly<Record<string, readonly string[]>> = {
  accept: ['', ',', 'x', 'text/html;q=x', '*/*;q=9', 'a/b/c'],
  'accept-language': ['', ',', '*', 'xx-', 'de;q=x', 'x'.repeat(2000)],
  'accept-encoding': ['', 'x', 'gzip;q=x', 'identity;q=0'],
  forwarded: ['', 'x', 'for="', 'for=%;host=%'],
  'if-modified-since': ['x', '0', 'Fri, 31 Feb 2999 99:99:99 GMT'],
  'if-range': ['x', '"', '0'],
  origin: ['', 'null', 'x', 'http://%', 'http://[::1'],
  prefer: ['', '"', 'respond-async; wait=x', 'wait=x', '=', 'return=x'],
  range: ['x', 'bytes=x-', 'bytes=-', 'bytes=9-1', `bytes=${'9'.repeat(40)}-`],
  referer: ['', 'x', 'http://%'],
  timeout: ['', 'x', 'Second-', 'Second-x', 'Second--1'],
  'x-forwarded-for': ['', ',', 'x', '999.1.1.1', '[::1', '1.1.1.1:x'],
  'x-forwarded-host': ['', '%', 'a b', ','],
  'x-forwarded-proto': ['', 'x', 'javascript:'],
};

describe('A header with a value that is not valid', () => {
  const service = served(memory, { hasJobs: true }, async () => {
    await upload(service.port, 'f.txt', 'text');
    await upload(service.port, 'folder/f.txt', 'text');
  });

  const pathOf = async (headers: Headers, path: string) => {
    const { status, headers: created, body } = await send(service.port, path, { method: 'POST', headers });
    assert.equal(status, 201, body.toString());
    return new URL(String(created.location), 'http://host').pathname;
  };

  it('is a 4xx with the value, and changes nothing, if the request would otherwise be another one', async () => {
    const begun = await pathOf(NEW_TUS, '/-/uploads');
    const draft = await pathOf({ 'upload-complete': '?0' }, '/-/uploads?path=new');
    const tree = await treeOf(service.port);
    for (const [method, path, valid, header, values] of REFUSED) {
      for (const value of values) {
        const call = {
          method,
          headers: { ...valid, [header]: value },
          ...(/PUT|PATCH/.test(method) && { body: 'other' }),
        };
        const at = path.replace('{begun}', begun).replace('{draft}', draft);
        const { status, body } = await send(service.port, at, call);
        const text = body.toString();
        assert.ok(
          status >= 400 && status < 500 && text.includes(value.split(',')[0] ?? ''),
          `${method} ${path} with ${header}: ${value}: ${status} ${text}`,
        );
      }
    }
    assert.deepEqual(await treeOf(service.port), tree);
  });

  it('of a Destination on another server is a 502', async () => {
    for (const destination of ['http://other.example/-/dav/x', 'ftp://x/y', '//other.example/x', '/elsewhere']) {
      const { status } = await send(service.port, '/-/dav/f.txt', { method: 'COPY', headers: { destination } });
      assert.equal(status, 502, destination);
    }
  });

  it('of a Timeout that is too long is the maximum', async () => {
    const body = '<lockinfo xmlns="DAV:"><lockscope><shared/></lockscope><locktype><write/></locktype></lockinfo>';
    for (const timeout of ['Second-4294967296', 'Second-99999999999999999999', 'Infinite']) {
      const locked = await send(service.port, '/-/dav/f.txt', { method: 'LOCK', headers: { timeout }, body });
      assert.match(locked.body.toString(), /Second-3600</, timeout);
    }
  });

  it('is no error of the server, if it is ignored', async (t) => {
    const access = { mode: 'open', policy: () => OPEN_POLICY, authenticators: undefined } as const;
    const { port, stop } = await startService(memory, { hasJobs: true, access, limits: { trustProxy: ['127.0.0.1'] } });
    t.after(stop);
    await upload(port, 'f.txt', 'text');
    const json = { 'content-type': 'application/json' };
    const requests: readonly (readonly [path: string, call: Call])[] = [
      ['/', {}],
      ['/create_folder', { method: 'POST', headers: json, body: '{"path":"x"}' }],
      ['/-/dav/', { method: 'PROPFIND', headers: { depth: '1' } }],
      ['/-/dav/f.txt', { method: 'LOCK' }],
    ];
    for (const [header, values] of Object.entries(IGNORED)) {
      for (const value of values) {
        for (const [path, call] of requests) {
          const { status, body } = await send(port, path, { ...call, headers: { ...call.headers, [header]: value } });
          assert.ok(status < 500, `${path} with ${header}: ${value}: ${status} ${body.toString()}`);
        }
      }
    }
  });
});

describe('A query parameter that is sent twice', () => {
  it('is a 400 that names it, in every operation, unless it is a list', async (t) => {
    const { port, stop } = await startService(memory, { hasJobs: true });
    t.after(stop);
    const { paths } = jsonOf(await send(port, '/-/openapi.json')) as {
      paths: Record<
        string,
        Record<string, { parameters?: readonly { in: string; name: string; required?: boolean }[] }>
      >;
    };
    // Without it, an upload is one by tus, whose version comes first.
    const headers = { 'upload-complete': '?0' };
    const LISTS = ['get / name', 'get /{path} name'];
    const tried: string[] = [];
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { parameters = [] }] of Object.entries(operations)) {
        const query = parameters.filter((parameter) => parameter.in === 'query');
        for (const { name } of query) {
          const operation = `${method} ${path} ${name}`;
          if (LISTS.includes(operation) || method === 'head') continue;
          tried.push(operation);
          const more = query.filter((each) => each.required && each.name !== name).map((each) => `&${each.name}=320`);
          const target = `${path.replaceAll(/\{\w+\}/g, 'x')}?${name}=1&${name}=2${more.join('')}`;
          const response = await send(port, target, { method: method.toUpperCase(), headers });
          const message = `${operation}: ${response.status} ${response.body.toString()}`;
          assert.equal(response.status, 400, message);
          assert.match(response.body.toString(), new RegExp(`"${name}\\\\" more than once`), message);
        }
      }
    }
    assert.ok(tried.length > 30, String(tried.length));
  });
});
