import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage, METHODS } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { textOf, type XmlElement } from '../../src/http/dav/xml.ts';
import { parseXml } from '../../src/http/dav/xml-parser.ts';
import type { Store } from '../../src/model/store.ts';
import { readOnly } from '../../src/stores/layers/read-only.ts';
import {
  EVERYONE,
  type GuardedService,
  grant,
  json,
  form as multipart,
  startGuardedService,
} from '../access/guarded-service.ts';
import { disk, memory } from '../contract/backend.ts';
import { file, upload } from '../contract/bytes.ts';
import { assertFailure, BOUNDARY, type Call, type HttpResponse, jsonOf, send } from './client.ts';
import { startService, type TestService } from './service.ts';

const ALL = grant('', PERMISSIONS);
const FILES = { 'notes/a.txt': 'text', 'notes/b/c.txt': 'deep', 'photos/cat.jpg': 'cat', 'top.txt': 'top' };

const LOCK_BODY =
  '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>Ann &amp; co</owner></lockinfo>';

/** Returns all elements with a name, at any depth. */
function elements(element: XmlElement, name: string): XmlElement[] {
  const children = element.children.filter((child) => typeof child !== 'string');
  return [...(element.name === name ? [element] : []), ...children.flatMap((child) => elements(child, name))];
}

const texts = ({ body }: HttpResponse, name: string) => elements(parseXml(body), name).map((each) => textOf(each));

describe('WebDAV', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(memory, { hasJobs: true });
  });
  after(() => service.stop());
  beforeEach(async () => {
    service.grant(ALL);
    await releaseAll();
    await service.plant(FILES);
  });

  it('accepts smaller bodies of anonymous clients', async () => {
    service.grant(ALL, grant('', ['read'], EVERYONE));
    const body = `<propfind xmlns="DAV:"><allprop/><!--${'x'.repeat(20_000)}--></propfind>`;
    const call: Call = { method: 'PROPFIND', headers: { depth: '0' }, body };
    assert.equal((await service.asAnn('/-/dav/', call)).status, 207);
    const refused = await service.asAnonymous('/-/dav/', call);
    assert.equal(refused.status, 413);
    assert.match(refused.body.toString(), /larger than 16384 bytes/);
  });

  const releaseAll = async () => {
    for (const folder of ['', 'notes/', 'notes/b/', 'photos/']) {
      const { locks = [] } = jsonOf(await service.asAnn(`/-/locks?folder=${folder}`)) as { locks?: { id: string }[] };
      for (const { id } of locks) await service.asAnn(`/-/locks/${id}`, { method: 'DELETE' });
    }
  };
  const dav = (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: string) =>
    service.asAnn(`/-/dav/${path}`, { method, headers, ...(body !== undefined && { body }) });
  const statusOf = async (...parameters: Parameters<typeof dav>) => (await dav(...parameters)).status;
  const lock = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await dav('LOCK', path, headers, LOCK_BODY);
    assert.ok([200, 201].includes(response.status), `${path}: ${response.status} ${response.body.toString()}`);
    return String(response.headers['lock-token']);
  };
  const to = (path: string, more: Readonly<Record<string, string>> = {}) => ({
    destination: `/-/dav/${path}`,
    ...more,
  });

  it('announces its classes and methods', async () => {
    const { status, headers } = await dav('OPTIONS', '');
    assert.equal(status, 200);
    assert.equal(headers['dav'], '1, 2, 3');
    assert.equal(headers['ms-author-via'], 'DAV');
    const allow = 'COPY, DELETE, GET, HEAD, LOCK, MKCOL, MOVE, OPTIONS, PROPFIND, PROPPATCH, PUT, UNLOCK';
    assert.equal(headers.allow, allow);
    for (const method of METHODS.filter((each) => each !== 'CONNECT' && !allow.split(', ').includes(each))) {
      const refused = await dav(method, 'top.txt');
      assert.equal(refused.status, 405, method);
      assert.equal(refused.headers.allow, allow);
    }
  });

  it('never accepts cookies, and offers Basic authentication', async () => {
    service.grant(grant('', PERMISSIONS, { kind: 'signed-in' }));
    for (const path of ['/-/dav/', '/-/dav/top.txt']) {
      const { status, headers } = await service.asAnonymous(path, { method: 'PROPFIND', headers: { depth: '0' } });
      assert.equal(status, 401);
      assert.match(String(headers['www-authenticate']), /Basic realm="Holdall"/);
      // The body is read only for users who have a permission.
      for (const method of ['PROPFIND', 'PROPPATCH', 'LOCK']) {
        const withBody = { method, headers: { depth: '0' }, body: 'no XML' };
        assert.equal((await service.asAnonymous(path, withBody)).status, 401, method);
      }
    }
  });

  it('returns 507 before a COPY with more properties than a user may have, at every depth', async () => {
    const characters = 200 * 1024;
    const change = `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">${'x'.repeat(characters - 50)}</x></prop></set></propertyupdate>`;
    const paths = Array.from({ length: 39 }, (_, index) => `photos/${index}`);
    await service.plant(Object.fromEntries(paths.map((path) => [path, 'x'])));
    for (const path of [...paths, 'photos/']) assert.equal(await statusOf('PROPPATCH', path, {}, change), 207);
    for (const path of ['a', 'b', 'c']) assert.equal(await statusOf('COPY', 'photos/', to(path)), 201);
    assert.equal(await statusOf('MKCOL', 'old'), 201);
    for (const depth of ['infinity', '0']) {
      // All of them have 32,000 KiB.
      assert.equal(await statusOf('COPY', 'photos/', to('d', { depth })), depth === '0' ? 201 : 507);
    }
    for (const path of ['e', 'f', 'g'])
      assert.equal(await statusOf('COPY', 'd/', to(path, { depth: '0' })), path === 'g' ? 507 : 201);
    assert.equal(await statusOf('COPY', 'd/', to('old', { depth: '0', overwrite: 'T' })), 507);
    assert.equal(await statusOf('PROPFIND', 'g', { depth: '0' }), 404);
    assert.equal(await statusOf('PROPFIND', 'old', { depth: '0' }), 207);
    for (const path of ['a', 'b', 'c', 'd', 'e', 'f', 'old', 'photos'])
      assert.equal(await statusOf('DELETE', path), 204);
  });

  it('asks for credentials in a folder that only leads to folders for everyone', async () => {
    service.grant(ALL, grant('notes/b/', ['read'], EVERYONE), grant('photos/', ['write'], EVERYONE));
    const statuses: Readonly<Record<string, number>> = {
      '': 401,
      notes: 401,
      'notes/b': 207,
      'notes/b/c.txt': 207,
      'photos/': 207,
    };
    for (const [path, status] of Object.entries(statuses)) {
      for (const depth of ['0', '1']) {
        const response = await service.asAnonymous(`/-/dav/${path}`, { method: 'PROPFIND', headers: { depth } });
        assert.equal(response.status, status, path);
      }
      assert.equal(await statusOf('PROPFIND', path, { depth: '1' }), 207);
    }
  });

  describe('checks the permissions of the HTTP API:', () => {
    const cases: readonly [
      method: string,
      path: string,
      headers: Record<string, string>,
      needs: string,
      body?: string,
    ][] = [
      ['PROPFIND', 'notes/a.txt', { depth: '0' }, 'read'],
      ['GET', 'notes/a.txt', {}, 'read'],
      ['HEAD', 'notes/a.txt', {}, 'read'],
      ['PUT', 'notes/new.txt', {}, 'write', 'x'],
      ['PUT', 'notes/a.txt', {}, 'write manage', 'x'],
      ['MKCOL', 'notes/new/', {}, 'write'],
      ['DELETE', 'notes/a.txt', {}, 'manage'],
      ['DELETE', 'notes/b/', {}, 'manage'],
      ['COPY', 'notes/a.txt', to('notes/copy.txt'), 'read write'],
      ['COPY', 'notes/a.txt', to('notes/b/c.txt'), 'read write manage'],
      ['MOVE', 'notes/a.txt', to('notes/moved.txt'), 'read write manage'],
      ['LOCK', 'notes/a.txt', {}, 'read manage', LOCK_BODY],
      ['LOCK', 'notes/new.txt', {}, 'read write', LOCK_BODY],
      [
        'PROPPATCH',
        'notes/a.txt',
        {},
        'read write',
        '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x"/></prop></set></propertyupdate>',
      ],
    ];
    for (const [method, path, headers, needs, body] of cases) {
      it(`${method} ${path} ${headers['destination'] ?? ''} needs ${needs}`, async () => {
        const needed = needs.split(' ');
        for (const missing of needed) {
          service.grant(
            grant(
              '',
              PERMISSIONS.filter((permission) => permission !== missing),
            ),
          );
          const response = await dav(method, path, headers, body);
          assert.equal(response.status, 403, `without ${missing}: ${response.body.toString()}`);
        }
        service.grant(
          grant(
            '',
            PERMISSIONS.filter((permission) => needed.includes(permission)),
          ),
        );
        const response = await dav(method, path, headers, body);
        assert.ok(response.status < 300, `with ${needs}: ${response.status} ${response.body.toString()}`);
      });
    }
  });

  it('shows only the folders that the user can see', async () => {
    service.grant(grant('', ['read']), grant('photos/', []));
    const listing = await dav('PROPFIND', '', { depth: '1' });
    assert.deepEqual(texts(listing, 'href'), ['/-/dav/', '/-/dav/notes/', '/-/dav/top.txt']);
    assert.equal(await statusOf('PROPFIND', 'photos/', { depth: '1' }), 403);
    service.grant(grant('notes/b/', ['read']));
    assert.deepEqual(texts(await dav('PROPFIND', '', { depth: '1' }), 'href'), ['/-/dav/', '/-/dav/notes/']);
  });

  it('finds the folder of a grant without a trailing slash', async () => {
    service.grant(grant('notes/b/', PERMISSIONS));
    for (const path of ['notes', 'notes/b']) {
      const found = await dav('PROPFIND', path, { depth: '0' });
      assert.deepEqual([found.status, texts(found, 'href')], [207, [`/-/dav/${path}/`]]);
      assert.equal(await statusOf('GET', path), 200);
      assert.equal(await statusOf('MKCOL', path), path === 'notes' ? 403 : 405);
    }
    assert.equal(await statusOf('LOCK', 'notes/b', {}, LOCK_BODY), 200);
    await releaseAll();
    assert.equal(await statusOf('COPY', 'notes/b', to('notes/b/d')), 403);
    assert.equal(await statusOf('DELETE', 'notes/b'), 204);
    for (const path of ['photos', 'top.txt', 'notes/a.txt', 'notes/none']) {
      assert.equal(await statusOf('PROPFIND', path, { depth: '0' }), 403, path);
    }
  });

  it('hides the properties and locks of folders that only lead to others', async () => {
    const color =
      '<propertyupdate xmlns="DAV:"><set><prop><color xmlns="urn:x">teal</color></prop></set></propertyupdate>';
    assert.equal(await statusOf('PROPPATCH', 'notes/', {}, color), 207);
    await lock('notes/', { depth: '0' });
    const everything = async (path: string, depth: string) => (await dav('PROPFIND', path, { depth })).body.toString();
    for (const [path, depth] of [
      ['notes/', '0'],
      ['notes/', '1'],
      ['', '1'],
    ] as const) {
      service.grant(ALL);
      assert.match(await everything(path, depth), /teal.*Ann &amp; co|Ann &amp; co.*teal/s);
      service.grant(grant('notes/b/', PERMISSIONS));
      assert.doesNotMatch(await everything(path, depth), /teal|Ann &amp; co|urn:uuid/);
    }
    assert.equal(await statusOf('COPY', 'notes/', to('notes/b/copy/', { depth: '0' })), 403);
  });

  it('keeps a folder that a user can delete but not create, when another one would replace it', async () => {
    service.grant(ALL, grant('notes/b/', ['read', 'manage']));
    assert.equal(await statusOf('COPY', 'photos/', to('notes/b/', { depth: '0' })), 403);
    assert.deepEqual((await service.contents())['notes/b/c.txt'], 'deep');
  });

  it('responds in chunks to clients that ask for many properties of many files, and refuses too many', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => `<x:p${index}/>`).join('');
    const body = (count: number) =>
      `<propfind xmlns="DAV:" xmlns:x="urn:${'x'.repeat(10)}"><prop>${names(count)}</prop></propfind>`;
    const files = Array.from({ length: 350 }, (_, index) => [`many/${index}.txt`, 'x'] as const);
    await service.plant(Object.fromEntries(files));
    const found = await dav('PROPFIND', 'many/', { depth: '1' }, body(200));
    assert.equal(found.body.toString().match(/<D:href>/g)?.length, 351);
    // A response of this size is streamed.
    assert.ok(found.body.length > 2 * 1024 * 1024);
    assert.equal(found.headers['content-length'], undefined);
    assert.match(found.body.toString('utf8', found.body.length - 20), /<\/D:multistatus>\n$/);
    assert.equal(await statusOf('PROPFIND', 'many/', { depth: '1' }, body(201)), 400);
    assert.equal(
      await statusOf(
        'PROPFIND',
        'many/',
        { depth: '1' },
        body(1).replace('</prop>', '<x:p0/>'.repeat(300) + '</prop>'),
      ),
      207,
    );
  });

  it('moves files between folders with different permissions', async () => {
    service.grant(grant('', ['read']), grant('notes/', PERMISSIONS), grant('photos/', ['read', 'write']));
    assert.equal(await statusOf('MOVE', 'notes/a.txt', to('photos/a.txt')), 201);
    assert.equal(await statusOf('MOVE', 'notes/b/c.txt', to('photos/cat.jpg')), 403);
    assert.equal(await statusOf('MOVE', 'photos/a.txt', to('notes/a.txt')), 403);
    assert.deepEqual(await service.contents(), {
      'notes/b/c.txt': 'deep',
      'photos/a.txt': 'text',
      'photos/cat.jpg': 'cat',
      'top.txt': 'top',
    });
  });

  it('refuses to list everything at once', async () => {
    for (const headers of [undefined, { depth: 'infinity' }]) {
      const response = await dav('PROPFIND', '', headers);
      assert.equal(response.status, 403);
      assert.equal(texts(response, 'propfind-finite-depth').length, 1);
    }
    assert.equal(await statusOf('PROPFIND', '', { depth: '2' }), 400);
  });

  it('returns the properties that the client asks for, and shorter responses if it prefers those', async () => {
    const body = '<propfind xmlns="DAV:"><prop><getcontentlength/><displayname/><x xmlns="urn:x"/></prop></propfind>';
    const whole = await dav('PROPFIND', 'photos', { depth: '1' }, body);
    assert.equal(whole.status, 207);
    assert.deepEqual(texts(whole, 'displayname'), ['photos', 'cat.jpg']);
    assert.deepEqual(texts(whole, 'getcontentlength'), ['', '3']);
    assert.equal(texts(whole, 'x').length, 2);
    const minimal = await dav('PROPFIND', 'photos/', { depth: '1', prefer: 'return=minimal, depth-noroot' }, body);
    assert.equal(minimal.headers['preference-applied'], 'return=minimal');
    assert.deepEqual(texts(minimal, 'href'), ['/-/dav/photos/cat.jpg']);
    assert.deepEqual(texts(minimal, 'x'), []);
    const names = await dav('PROPFIND', 'top.txt', { depth: '0' }, '<propfind xmlns="DAV:"><propname/></propfind>');
    assert.deepEqual(texts(names, 'getetag'), ['']);
    for (const wrong of [
      '<x/>',
      '<propfind xmlns="DAV:"/>',
      '<propfind xmlns="DAV:"><prop/><allprop/></propfind>',
      '<',
      'x'.repeat(300_000),
    ]) {
      const { status } = await dav('PROPFIND', '', { depth: '0' }, wrong);
      assert.equal(status, wrong.length > 1000 ? 413 : 400, wrong.slice(0, 50));
    }
  });

  it('sets all properties of a request or none, and moves them along', async () => {
    const set = (...properties: readonly string[]) =>
      `<propertyupdate xmlns="DAV:"><set><prop>${properties.join('')}</prop></set></propertyupdate>`;
    const get = async (path: string) =>
      texts(
        await dav(
          'PROPFIND',
          path,
          { depth: '0' },
          '<propfind xmlns="DAV:"><prop><x xmlns="urn:x"/></prop></propfind>',
        ),
        'x',
      );
    const x = '<x xmlns="urn:x">ä &amp; <b>b</b></x>';
    const failed = await dav('PROPPATCH', 'notes/a.txt', {}, set(x, '<getetag>1</getetag>'));
    assert.equal(failed.status, 207);
    assert.deepEqual(texts(failed, 'status'), ['HTTP/1.1 403 Forbidden', 'HTTP/1.1 424 Failed Dependency']);
    assert.deepEqual(await get('notes/a.txt'), ['']);
    assert.equal(await statusOf('PROPPATCH', 'notes/a.txt', { prefer: 'return=minimal' }, set(x)), 204);
    assert.deepEqual(await get('notes/a.txt'), ['ä & b']);
    assert.equal(await statusOf('MOVE', 'notes/', to('moved/')), 201);
    assert.deepEqual(await get('moved/a.txt'), ['ä & b']);
    assert.equal(
      (await service.asAnn('/copy', json({ source: 'moved/a.txt', destination: 'copy.txt', is_folder: false }))).status,
      200,
    );
    assert.deepEqual(await get('copy.txt'), ['ä & b']);
    assert.equal(await statusOf('DELETE', 'copy.txt'), 204);
    assert.equal(await statusOf('PUT', 'copy.txt', {}, 'new'), 201);
    assert.deepEqual(await get('copy.txt'), ['']);
  });

  it('accepts only destinations on this server', async () => {
    const host = `127.0.0.1:${service.port}`;
    for (const [destination, status] of [
      [`http://${host}/-/dav/x1`, 201],
      [`https://${host}/-/dav/x2`, 201],
      ['/-/dav/x%203', 201],
      // Bytes of UTF-8 that the client has not escaped.
      [Buffer.from('/-/dav/x%204 é').toString('latin1'), 201],
      ['/-/dav/x\xff', 400],
      [`http://other.example/-/dav/x`, 502],
      ['http://127.0.0.1.other.example/-/dav/x', 502],
      [`http://${host}.other.example/-/dav/x`, 400],
      [`http://user@${host}/-/dav/x`, 502],
      [`//other.example/-/dav/x`, 502],
      [`http://${host}/x`, 502],
      [`/-/davx/x`, 502],
      ['/-/dav/x?y', 400],
      ['http://%', 400],
      ['/-/dav/a/../../x', 400],
      ['/-/dav/%2e%2e/x', 400],
      ['/-/dav/%ff', 400],
      ['/-/dav/', 403],
      ['/-/dav/top.txt', 403],
      ['/-/dav/no/such/x', 409],
      ['', 400],
    ] as const) {
      const response = await dav('COPY', 'top.txt', { destination });
      assert.equal(response.status, status, `${destination}: ${response.body.toString()}`);
    }
    const contents = await service.contents();
    assert.deepEqual(
      Object.keys(contents).filter((path) => path.startsWith('x')),
      ['x 3', 'x 4 é', 'x1', 'x2'],
    );
  });

  it('refuses to replace a folder by a file in it, which would delete the file', async () => {
    for (const method of ['COPY', 'MOVE']) {
      for (const destination of ['notes', 'notes/', 'notes/b']) {
        assert.equal(await statusOf(method, 'notes/b/c.txt', to(destination)), 403, `${method} ${destination}`);
      }
    }
    assert.deepEqual(await service.contents(), FILES);
  });

  it('replaces a destination only if it may, also by the other kind', async () => {
    assert.equal(await statusOf('COPY', 'top.txt', to('notes/a.txt', { overwrite: 'F' })), 412);
    assert.equal(await statusOf('COPY', 'top.txt', to('notes/a.txt', { overwrite: 'X' })), 400);
    assert.equal(await statusOf('COPY', 'top.txt', to('notes/a.txt')), 204);
    assert.equal(await statusOf('COPY', 'notes/', to('photos/')), 204);
    assert.equal(await statusOf('MOVE', 'top.txt', to('photos/')), 204);
    assert.equal(await statusOf('COPY', 'notes/', to('photos')), 204);
    assert.equal(await statusOf('COPY', 'notes/', to('notes/b/')), 403);
    assert.equal(await statusOf('COPY', 'notes/b/', to('notes/')), 403);
    assert.equal(await statusOf('COPY', 'notes/', to('shallow/', { depth: '0' })), 201);
    assert.deepEqual(await service.contents(), {
      'notes/a.txt': 'top',
      'notes/b/c.txt': 'deep',
      'photos/a.txt': 'top',
      'photos/b/c.txt': 'deep',
    });
    assert.equal(await statusOf('PROPFIND', 'shallow/', { depth: '0' }), 207);
  });

  it('keeps a destination of the other kind if the source may not be moved', async () => {
    service.grant(grant('', PERMISSIONS), grant('notes/', ['read']));
    assert.equal(await statusOf('MOVE', 'notes/a.txt', to('photos/')), 403);
    assert.equal(await statusOf('MOVE', 'notes/b/', to('top.txt')), 403);
    service.grant(ALL);
    await lock('notes/a.txt');
    assert.equal(await statusOf('MOVE', 'notes/a.txt', to('photos/')), 423);
    assert.equal(await statusOf('MOVE', 'notes/', to('top.txt')), 423);
    assert.deepEqual(await service.contents(), FILES);
  });

  it('never writes a part of a file', async () => {
    const part = await dav('PUT', 'top.txt', { 'content-range': 'bytes 0-1/3' }, 'xx');
    assert.equal(part.status, 400);
    const finder = { 'transfer-encoding': 'chunked', 'x-expected-entity-length': '10' };
    assert.equal(await statusOf('PUT', 'top.txt', finder, 'short'), 400);
    assert.equal((await service.contents())['top.txt'], 'top');
    assert.equal(await statusOf('PUT', 'top.txt', { ...finder, 'x-expected-entity-length': '4' }, 'long'), 204);
    assert.equal((await service.contents())['top.txt'], 'long');
    assert.equal(await statusOf('PUT', 'top.txt', { 'if-none-match': '*' }, 'x'), 412);
    assert.equal(await statusOf('PUT', 'top.txt', { 'if-match': '"other"' }, 'x'), 412);
    assert.equal(await statusOf('PUT', 'no/such/folder.txt', {}, 'x'), 409);
    assert.equal(await statusOf('PUT', 'notes', {}, 'x'), 405);
    assert.equal(await statusOf('PUT', 'notes/', {}, 'x'), 405);
    assert.equal(await statusOf('PUT', 'top.txt/below', {}, 'x'), 409);
  });

  it('evaluates If before it changes anything', async () => {
    const { headers } = await dav('HEAD', 'top.txt');
    const etag = String(headers.etag);
    for (const [condition, status] of [
      [`([${etag}])`, 204],
      ['(["other"])', 412],
      ['(Not ["other"])', 204],
      [`(<urn:uuid:0b2f7d0e-52a5-4d3c-9a10-8c7f0b1de0a4>)`, 412],
      ['(<DAV:no-lock>)', 412],
      [`(<DAV:no-lock>) (Not <DAV:no-lock>)`, 204],
      [`</-/dav/notes/a.txt> (["other"])`, 412],
      ['(', 400],
    ] as const) {
      // Each write changes the ETag.
      const current = condition.replace(etag, String((await dav('HEAD', 'top.txt')).headers.etag));
      assert.equal(await statusOf('PUT', 'top.txt', { if: current }, 'x'), status, condition);
    }
  });

  describe('A lock', () => {
    it('binds every client that does not hold it, and ends with an UNLOCK', async () => {
      const token = await lock('notes/a.txt');
      const requests: readonly [string, Call][] = [
        ['/-/dav/notes/a.txt', { method: 'PUT', body: 'x' }],
        ['/-/dav/notes/a.txt', { method: 'DELETE' }],
        ['/-/dav/notes/', { method: 'DELETE' }],
        ['/-/dav/notes/a.txt', { method: 'MOVE', headers: to('x') }],
        ['/-/dav/notes/', { method: 'MOVE', headers: to('x/') }],
        ['/-/dav/top.txt', { method: 'COPY', headers: to('notes/a.txt') }],
        ['/-/dav/notes/a.txt', { method: 'LOCK', body: LOCK_BODY }],
        ['/-/dav/notes/', { method: 'LOCK', body: LOCK_BODY }],
        ['/file/notes/a.txt', { method: 'PUT', body: 'x' }],
        ['/file/notes/a.txt', { method: 'DELETE' }],
        ['/delete/notes/a.txt', { method: 'POST' }],
        ['/delete_folder/notes', { method: 'POST' }],
        ['/rename/notes/a.txt', json({ newName: 'x' })],
        ['/rename_folder/notes', json({ newName: 'x' })],
        ['/move', json({ source: 'notes/', destination: 'x/', is_folder: true })],
        ['/copy', json({ source: 'top.txt', destination: 'notes/a.txt', is_folder: false, overwrite: true })],
      ];
      for (const [path, call] of requests) {
        const response = await service.asAnn(path, call);
        const isDav = path.startsWith('/-/dav/');
        assert.equal(response.status, isDav ? 423 : 409, `${call.method} ${path}: ${response.body.toString()}`);
        if (isDav) {
          const condition = call.method === 'LOCK' ? 'no-conflicting-lock' : 'lock-token-submitted';
          assert.deepEqual(texts(response, condition), ['/-/dav/notes/a.txt'], `${call.method} ${path}`);
          continue;
        }
        assertFailure(response, 409, /is locked by "ann", until /);
        const { path: locked, user, expiresAt } = jsonOf(response)['lock'] as Record<string, string>;
        assert.deepEqual([locked, user], ['notes/a.txt', 'ann']);
        assert.ok(Date.parse(expiresAt ?? '') > Date.now());
      }
      assert.deepEqual(await service.contents(), FILES);
      assert.equal(await statusOf('PUT', 'notes/a.txt', { if: `(${token})` }, 'mine'), 204);
      assert.equal(await statusOf('PUT', 'notes/other.txt', {}, 'free'), 201);
      assert.equal(await statusOf('UNLOCK', 'top.txt', { 'lock-token': token }), 409);
      assert.equal(await statusOf('UNLOCK', 'notes/a.txt', { 'lock-token': token }), 204);
      assert.equal(await statusOf('PUT', 'notes/a.txt', {}, 'free'), 204);
    });

    it('binds an upload that began before it, and its process continues', async () => {
      const token = await lock('top.txt');
      const form = {
        method: 'PUT',
        headers: { 'content-length': String(5 * 1024 * 1024) },
        body: Buffer.alloc(5 * 1024 * 1024),
      };
      assertFailure(await service.asAnn('/file/top.txt', form), 409, /is locked/);
      assert.equal(await statusOf('UNLOCK', 'top.txt', { 'lock-token': token }), 204);
      assert.equal((await service.asAnn('/file/top.txt', form)).status, 200);
    });

    it('of a folder protects its names, and with infinite depth everything in it', async () => {
      const shallow = await lock('notes/', { depth: '0' });
      assert.equal(await statusOf('PUT', 'notes/new.txt', {}, 'x'), 423);
      assert.equal(await statusOf('DELETE', 'notes/a.txt'), 423);
      assert.equal(await statusOf('MKCOL', 'notes/new/'), 423);
      assert.equal(await statusOf('PUT', 'notes/a.txt', {}, 'x'), 204);
      assert.equal(await statusOf('PUT', 'notes/b/new.txt', {}, 'x'), 201);
      assert.equal(await statusOf('PUT', 'notes/new.txt', { if: `</-/dav/notes/> (${shallow})` }, 'x'), 201);
      const api = (path: string, method: string, body: object) => service.asAnn(path, { method, ...json(body) });
      const source = { source: 'top.txt', is_folder: false };
      assertFailure(
        await service.asAnn('/file/notes/x/y/z.txt', { method: 'PUT', body: 'x' }),
        409,
        /is locked by "ann"/,
      );
      assertFailure(await api('/create_folder', 'POST', { path: 'notes/x/y/' }), 409, /is locked/);
      assertFailure(await api('/copy', 'POST', { ...source, destination: 'notes/x/y.txt' }), 409, /is locked/);
      assert.equal((await service.asAnn('/file/notes/b/x/y.txt', { method: 'PUT', body: 'x' })).status, 201);
      assert.equal(await statusOf('UNLOCK', 'notes/', { 'lock-token': shallow }), 204);
      const deep = await lock('notes/');
      assert.equal(await statusOf('PUT', 'notes/a.txt', {}, 'x'), 423);
      assert.equal(await statusOf('PUT', 'notes/b/new.txt', {}, 'x'), 423);
      assert.equal(await statusOf('PUT', 'notes/b/new.txt', { if: `(${deep})` }, 'x'), 204);
      assert.equal(await statusOf('DELETE', 'notes/', { if: `(${deep})` }), 204);
      assert.equal(await statusOf('MKCOL', 'notes/'), 201);
    });

    it('of an unused path creates an empty file, or nothing', async () => {
      const token = await lock('notes/new.txt');
      assert.equal((await service.contents())['notes/new.txt'], '');
      assert.equal(await statusOf('PUT', 'notes/new.txt', { if: `(${token})` }, 'x'), 204);
      assert.equal(await statusOf('LOCK', 'no/such/folder.txt', {}, LOCK_BODY), 409);
      assert.equal(await statusOf('LOCK', 'no-such-folder/', {}, LOCK_BODY), 409);
      assert.equal(await statusOf('LOCK', 'top.txt', {}, '<lockinfo xmlns="DAV:"/>'), 422);
      assert.equal(await statusOf('LOCK', 'top.txt', {}, LOCK_BODY.replaceAll('exclusive', 'other')), 422);
      assert.equal(await statusOf('LOCK', 'top.txt'), 400);
    });

    it('is refreshed by its token, and lasts an hour at most', async () => {
      const response = await dav('LOCK', 'top.txt', { timeout: 'Infinite, Second-4100000000' }, LOCK_BODY);
      assert.deepEqual(texts(response, 'timeout'), ['Second-3600']);
      const token = String(response.headers['lock-token']);
      const refreshed = await dav('LOCK', 'top.txt', { timeout: 'Second-100', if: `(${token})` });
      assert.equal(refreshed.status, 200);
      assert.deepEqual(texts(refreshed, 'timeout'), ['Second-100']);
      assert.equal(await statusOf('LOCK', 'notes/a.txt', { if: `(${token})` }), 412);
      service.grant(grant('', ['read']));
      assert.equal(await statusOf('LOCK', 'top.txt', { if: `(${token})` }), 403);
    });

    it('names its user only to users who are signed in', async () => {
      await lock('top.txt');
      service.grant(ALL, grant('', PERMISSIONS, EVERYONE));
      const refused = await service.asAnonymous('/file/top.txt', { method: 'PUT', body: 'x' });
      assertFailure(refused, 409, /is locked, until/);
      assert.doesNotMatch(refused.body.toString(), /ann/);
      assertFailure(await service.asAnn('/file/top.txt', { method: 'PUT', body: 'x' }), 409, /is locked by "ann"/);
    });

    it('can be shared by 8 clients', async () => {
      const shared = LOCK_BODY.replaceAll('exclusive', 'shared');
      for (let count = 0; count < 8; count++) assert.equal(await statusOf('LOCK', 'top.txt', {}, shared), 200);
      assert.equal(await statusOf('LOCK', 'top.txt', {}, shared), 400);
      assert.equal(await statusOf('LOCK', 'notes/a.txt', {}, shared), 200);
    });

    it('works only for the user who created it', async () => {
      service.grant(grant('', PERMISSIONS, EVERYONE));
      const token = await lock('top.txt');
      const anonymous = (method: string, headers: Record<string, string>, body?: string) =>
        service.asAnonymous('/-/dav/top.txt', { method, headers, ...(body !== undefined && { body }) });
      assert.equal((await anonymous('PUT', { if: `(${token})` }, 'x')).status, 423);
      assert.equal((await anonymous('LOCK', { if: `(${token})` })).status, 412);
      service.grant(grant('', ['read', 'write'], EVERYONE), ALL);
      assert.equal((await anonymous('UNLOCK', { 'lock-token': token })).status, 401);
      assert.equal(await statusOf('PUT', 'top.txt', { if: `(${token})` }, 'x'), 204);
    });

    it('refuses an upload before its content arrives', async () => {
      const token = await lock('notes/a.txt');
      const assertRefused = (response: HttpResponse) => {
        assertFailure(response, 409, /is locked by "ann", until /);
        assert.equal(jsonOf(response).code, 'locked');
        assert.partialDeepStrictEqual(jsonOf(response)['lock'], { path: 'notes/a.txt', user: 'ann' });
      };
      /** Sends the begin of a body that never ends. */
      const sendBegin = async (path: string, { headers, body = '' }: Call, method: string) => {
        const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
        const all = { ...service.authHeaders, ...headers, 'content-length': '1000000' };
        const sent = httpRequest({ port: service.port, path, method, headers: all, agent: false }, resolve);
        sent.on('error', reject).write(body);
        const response = await promise;
        const found = { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
        sent.destroy();
        return found;
      };
      assertRefused(await sendBegin('/file/notes/a.txt', { body: 'x' }, 'PUT'));
      const whole = multipart([
        { name: 'prefix', value: 'notes' },
        { name: 'file', filename: 'a.txt', value: 'x' },
      ]);
      const withoutEnd = String(whole.body).slice(0, -BOUNDARY.length - 6);
      assertRefused(await sendBegin('/upload', { ...whole, body: withoutEnd }, 'POST'));
      const tus = { 'tus-resumable': '1.0.0' };
      const metadata = `path ${Buffer.from('notes/a.txt').toString('base64')}`;
      const beginning = { ...tus, 'upload-length': '3', 'upload-metadata': metadata };
      assertRefused(await service.asAnn('/-/uploads', { method: 'POST', headers: beginning }));
      const draft = { 'upload-draft-interop-version': '8', 'upload-complete': '?0' };
      assertRefused(await sendBegin('/-/uploads?path=notes/a.txt', { headers: draft }, 'POST'));
      assertRefused(await sendBegin('/file/notes/a.txt', { headers: draft }, 'PUT'));
      assert.deepEqual(jsonOf(await service.asAnn('/-/uploads'))['uploads'], []);

      // A lock that is set later refuses the next part, and the received bytes remain.
      assert.equal(await statusOf('UNLOCK', 'notes/a.txt', { 'lock-token': token }), 204);
      const begun = await service.asAnn('/-/uploads', { method: 'POST', headers: beginning });
      const url = String(begun.headers.location);
      const part = (offset: number) => ({
        ...tus,
        'content-type': 'application/offset+octet-stream',
        'upload-offset': `${offset}`,
      });
      const append = (offset: number, body: string) =>
        service.asAnn(url, { method: 'PATCH', headers: part(offset), body });
      assert.equal((await append(0, 'o')).status, 204);
      const next = await lock('notes/a.txt');
      assertRefused(await sendBegin(url, { headers: part(1) }, 'PATCH'));
      assert.equal((await service.asAnn(url, { method: 'HEAD', headers: tus })).headers['upload-offset'], '1');
      assert.equal(await statusOf('UNLOCK', 'notes/a.txt', { 'lock-token': next }), 204);
      assert.equal((await append(1, 'ne')).status, 204);
      assert.equal((await service.contents())['notes/a.txt'], 'one');
    });

    it('ends with its file, and stays behind when the file is moved', async () => {
      const token = await lock('top.txt');
      assert.equal(await statusOf('MOVE', 'top.txt', to('moved.txt', { if: `(${token})` })), 201);
      assert.equal(await statusOf('PUT', 'moved.txt', {}, 'x'), 204);
      assert.equal(await statusOf('PUT', 'top.txt', {}, 'x'), 201);
      const next = await lock('top.txt');
      assert.equal(await statusOf('DELETE', 'top.txt', { if: `(${next})` }), 204);
      assert.equal(await statusOf('PUT', 'top.txt', {}, 'x'), 201);
    });

    it('is listed and released by the HTTP API', async () => {
      await lock('notes/', { timeout: 'Second-60' });
      const listed = async (folder: string) =>
        (jsonOf(await service.asAnn(`/-/locks?folder=${folder}`)) as { locks: Record<string, unknown>[] }).locks;
      const [found, ...others] = await listed('notes/b/');
      const { id, createdAt, expiresAt, ...described } = found ?? assert.fail();
      assert.deepEqual(others, []);
      assert.deepEqual(described, {
        path: 'notes/',
        scope: 'exclusive',
        depth: 'infinity',
        user: 'ann',
        owner: 'Ann & co',
      });
      assert.equal(Date.parse(String(expiresAt)) - Date.parse(String(createdAt)), 60_000);
      service.grant(grant('', ['read', 'write'], EVERYONE), ALL);
      assertFailure(await service.asAnonymous(`/-/locks/${String(id)}`, { method: 'DELETE' }), 401, /Sign in/);
      service.grant(grant('', ['read']));
      assert.equal((await service.asAnn(`/-/locks/${String(id)}`, { method: 'DELETE' })).status, 200);
      assertFailure(await service.asAnn(`/-/locks/${String(id)}`, { method: 'DELETE' }), 404, /has ended/);
      assert.deepEqual(await listed('notes/'), []);
    });
  });
});

describe('A lock of an unused path', () => {
  let service: GuardedService;
  /** Called before the next file is written. */
  let beforeWrite: ((store: Store) => Promise<void>) | undefined;
  const wrap = (store: Store): Store => ({
    ...store,
    async write(...args) {
      const run = beforeWrite;
      beforeWrite = undefined;
      await run?.(store);
      return store.write(...args);
    },
  });
  before(async () => {
    service = await startGuardedService(memory, { hasJobs: true, wrap });
  });
  after(() => service.stop());
  beforeEach(async () => {
    service.grant(ALL);
    await service.plant({});
  });

  const sendLock = (path: string, depth = '0') =>
    service.asAnn(`/-/dav/${path}`, { method: 'LOCK', headers: { depth }, body: LOCK_BODY });
  const statusOfLock = async (...parameters: Parameters<typeof sendLock>) => (await sendLock(...parameters)).status;
  const unlock = async (path: string, { headers }: HttpResponse) => {
    const token = { 'lock-token': String(headers['lock-token']) };
    assert.equal((await service.asAnn(`/-/dav/${path}`, { method: 'UNLOCK', headers: token })).status, 204);
  };

  it('leaves no file without a lock if another client locks the folder at the same time', async () => {
    let other: number | undefined;
    beforeWrite = async () => {
      other = await statusOfLock('', 'infinity');
    };
    const response = await sendLock('new.txt');
    assert.deepEqual([response.status, other], [201, 423]);
    assert.deepEqual(texts(response, 'timeout'), ['Second-600']);
    assert.deepEqual(await service.contents(), { 'new.txt': '' });
    await unlock('new.txt', response);
  });

  it('leaves no lock if the file can not be created', async () => {
    beforeWrite = async () => {
      throw new Error('The disk is full.');
    };
    assert.equal(await statusOfLock('new.txt'), 500);
    assert.deepEqual(await service.contents(), {});
    const next = await sendLock('new.txt');
    assert.equal(next.status, 201);
    await unlock('new.txt', next);
  });

  it('locks the file that another client has created in the meantime, with the permission for existing files', async () => {
    const create = async (store: Store) => {
      await store.write(file('new.txt'), upload('other'));
    };
    beforeWrite = create;
    const response = await sendLock('new.txt');
    assert.equal(response.status, 200);
    assert.deepEqual(await service.contents(), { 'new.txt': 'other' });
    await unlock('new.txt', response);
    await service.plant({});
    service.grant(grant('', ['read', 'write']));
    beforeWrite = create;
    assert.equal(await statusOfLock('new.txt'), 403);
    service.grant(ALL);
    const next = await sendLock('new.txt');
    assert.equal(next.status, 200);
    await unlock('new.txt', next);
  });
});

describe('WebDAV settings', () => {
  const start = (settings: object, backend = memory): Promise<TestService> =>
    startService(backend, {
      hasJobs: true,
      davSettings: { DAV: true, DAV_CLUTTER: 'store', DAV_REDIRECTS: false, ...settings },
    });
  const put = (port: number, path: string) => send(port, `/-/dav/${path}`, { method: 'PUT', body: 'x' });
  const CLUTTER = ['.DS_Store', '._a.txt', 'Thumbs.db', 'desktop.ini'];

  it('serve nothing with DAV=false', async () => {
    const service = await start({ DAV: false });
    try {
      for (const method of ['OPTIONS', 'PROPFIND', 'GET', 'PUT']) {
        assert.equal((await send(service.port, '/-/dav/', { method })).status, 404, method);
      }
    } finally {
      await service.stop();
    }
  });

  it('hide the files of operating systems from all except WebDAV clients, or refuse them', async () => {
    const hiding = await start({ DAV_CLUTTER: 'hide' });
    const refusing = await start({ DAV_CLUTTER: 'refuse' });
    try {
      for (const name of [...CLUTTER, 'a.txt']) assert.equal((await put(hiding.port, name)).status, 201, name);
      const listed = jsonOf(await send(hiding.port, '/')) as { entries: { name: string }[] };
      assert.deepEqual(
        listed.entries.map(({ name }) => name),
        ['a.txt'],
      );
      const seen = await send(hiding.port, '/-/dav/', { method: 'PROPFIND', headers: { depth: '1' } });
      assert.equal(texts(seen, 'href').length, 6);
      for (const name of CLUTTER) {
        assert.equal((await put(refusing.port, name)).status, 403, name);
        assert.equal((await send(refusing.port, `/-/dav/${name}`, { method: 'MKCOL' })).status, 403, name);
        assert.equal(
          (await send(refusing.port, `/-/dav/${name}`, { method: 'LOCK', body: LOCK_BODY })).status,
          403,
          name,
        );
      }
      assert.equal((await put(refusing.port, 'a.txt')).status, 201);
      const headers = { destination: '/-/dav/._b' };
      assert.equal((await send(refusing.port, '/-/dav/a.txt', { method: 'MOVE', headers })).status, 403);
    } finally {
      await hiding.stop();
      await refusing.stop();
    }
  });

  it('send large files directly, or redirect to a URL that works once clients may follow it', async () => {
    const bytes = Buffer.alloc(6 * 1024 * 1024, 'x');
    for (const isRedirecting of [false, true]) {
      const service = await start({ DAV_REDIRECTS: isRedirecting }, disk);
      try {
        const stored = await send(service.port, '/-/dav/big', { method: 'PUT', body: bytes });
        assert.equal(stored.status, 201);
        const { status, headers, body } = await send(service.port, '/-/dav/big');
        assert.equal(status, isRedirecting ? 302 : 200);
        if (isRedirecting) {
          const url = new URL(String(headers.location), `http://127.0.0.1:${service.port}/-/dav/big`);
          assert.deepEqual((await send(service.port, url.pathname + url.search)).body, bytes);
        } else assert.deepEqual(body, bytes);
        const head = await send(service.port, '/-/dav/big', { method: 'HEAD' });
        assert.deepEqual([head.status, head.headers['content-length']], [200, String(bytes.length)]);
        const part = await send(service.port, '/-/dav/big', { headers: { range: 'bytes=1-3' } });
        assert.equal(part.status, isRedirecting ? 302 : 206);
      } finally {
        await service.stop();
      }
    }
  });

  describe('modification times', () => {
    const TIME = 'Fri, 18 Jul 2014 05:01:32 GMT';
    const MICROSOFT = 'urn:schemas-microsoft-com:';
    const properties = (inner: string, action = 'set') =>
      `<propertyupdate xmlns="DAV:" xmlns:Z="${MICROSOFT}"><${action}><prop>${inner}</prop></${action}></propertyupdate>`;
    const NUMBER = Date.parse(TIME) / 1000;
    const FORMS = [
      `<Z:Win32LastModifiedTime>${TIME}</Z:Win32LastModifiedTime>`,
      `<getlastmodified>${TIME}</getlastmodified>`,
    ];
    const startGuarded = async (t: TestContext, options: Parameters<typeof startGuardedService>) => {
      const guarded = await startGuardedService(...options);
      t.after(() => guarded.stop());
      guarded.grant(ALL);
      const url = (name: string) => `/-/dav/${name}`;
      const patch = (name: string, body: string, headers = {}) =>
        guarded.asAnn(url(name), { method: 'PROPPATCH', headers, body });
      const times = async (name: string, depth: string) =>
        texts(await guarded.asAnn(url(name), { method: 'PROPFIND', headers: { depth } }), 'getlastmodified');
      const store = (name: string, body: string) => guarded.asAnn(url(name), { method: 'PUT', body });
      return { ...guarded, patch, times, put: store };
    };

    for (const backend of [memory, disk]) {
      it(`are set by Windows, Cyberduck and rclone, and don't prevent undo: ${backend.name}`, async (t) => {
        const service = await startGuarded(t, [backend, { hasJobs: true }]);
        for (const [index, form] of [...FORMS, `<lastmodified>${NUMBER}</lastmodified>`].entries()) {
          const name = `f${index}`;
          assert.equal((await service.put(name, 'text')).status, 201);
          const patched = await service.patch(name, properties(`${form}<x xmlns="urn:x">kept</x>`));
          assert.deepEqual(texts(patched, 'status'), ['HTTP/1.1 200 OK'], form);
          assert.deepEqual(await service.times(name, '0'), [TIME]);
          assert.ok((await service.times('', '1')).includes(TIME));
          const found = await service.asAnn(`/file/${name}`);
          assert.equal(found.headers['last-modified'], TIME);
          // The same time again changes nothing.
          assert.equal((await service.patch(name, properties(form))).status, 207);
          assert.equal((await service.asAnn(`/file/${name}`)).headers.etag, found.headers.etag);
          const { changes } = jsonOf(await service.asAnn(`/-/changes?file=${name}&since=oldest`)) as {
            changes: { type: string; id: string; etag: string }[];
          };
          assert.deepEqual(
            changes.map(({ type }) => type),
            ['file.created', 'file.touched'],
          );
          assert.equal(changes[1]?.etag, found.headers.etag);
          assertFailure(
            await service.asAnn('/-/undo', json({ change: changes[1]?.id })),
            409,
            /only the modification time/,
          );
          assert.equal((await service.asAnn('/-/undo', json({ change: changes[0]?.id }))).status, 200);
          assert.equal((await service.asAnn(`/file/${name}`)).status, 404);
        }
      });
    }

    it('need the manage permission, a valid time and no lock of another user', async (t) => {
      const service = await startGuarded(t, [memory, { hasJobs: true }]);
      await service.put('a', 'text');
      const [original] = await service.times('a', '0');
      const [windows = '', dav = ''] = FORMS;
      service.grant(grant('', ['read', 'write']));
      assert.deepEqual(texts(await service.patch('a', properties(windows)), 'status'), ['HTTP/1.1 200 OK']);
      assert.deepEqual(texts(await service.patch('a', properties(dav)), 'status'), ['HTTP/1.1 403 Forbidden']);
      service.grant(ALL);
      for (const body of [properties(dav, 'remove'), properties('<getlastmodified>soon</getlastmodified>')]) {
        assert.deepEqual(texts(await service.patch('a', body), 'status'), ['HTTP/1.1 403 Forbidden']);
      }
      assert.deepEqual(texts(await service.patch('', properties(dav)), 'status'), ['HTTP/1.1 403 Forbidden']);
      const mixed = await service.patch('a', properties(`${dav}<getetag>1</getetag>`));
      assert.deepEqual(texts(mixed, 'status'), ['HTTP/1.1 403 Forbidden', 'HTTP/1.1 424 Failed Dependency']);
      const locked = await service.asAnn('/-/dav/a', { method: 'LOCK', body: LOCK_BODY });
      assert.equal((await service.patch('a', properties(windows))).status, 423);
      assert.deepEqual(await service.times('a', '0'), [original]);
      const held = { if: `(${String(locked.headers['lock-token'])})` };
      assert.equal((await service.patch('a', properties(windows), held)).status, 207);
      assert.deepEqual(await service.times('a', '0'), [TIME]);
    });

    it('are accepted from Windows and refused otherwise in a store that can not change them', async (t) => {
      const wrap = ({ setModified: _setModified, ...store }: Store): Store => store;
      const service = await startGuarded(t, [memory, { hasJobs: true, wrap }]);
      await service.put('a', 'text');
      const [original] = await service.times('a', '0');
      const [windows = '', dav = ''] = FORMS;
      assert.deepEqual(texts(await service.patch('a', properties(windows)), 'status'), ['HTTP/1.1 200 OK']);
      assert.deepEqual(texts(await service.patch('a', properties(dav)), 'status'), ['HTTP/1.1 403 Forbidden']);
      assert.deepEqual(await service.times('a', '0'), [original]);
    });
  });

  it('has supported locks exactly where a client can lock', async () => {
    const pages = new Map<string, ReturnType<Store['list']>>();
    // Like the disk, returns the same page while nothing changes.
    const repeating = (store: Store): Store => ({
      ...store,
      list: (folder, options) => pages.getOrInsertComputed(folder, () => store.list(folder, options)),
    });
    const guarded = await startGuardedService(memory, { hasJobs: true, wrap: repeating });
    try {
      await guarded.plant({ 'notes/a.txt': 'text', 'shared/b.txt': 'text', 'shared/open/c.txt': 'text' });
      guarded.grant(ALL, grant('', ['read'], EVERYONE), grant('shared/open/', PERMISSIONS, EVERYONE));
      for (const [folder, counts] of [
        ['notes', [0, 0]],
        ['shared', [0, 0, 2]],
      ] as const) {
        for (const [ask, expected] of [
          [guarded.asAnn, counts.map(() => 2)],
          [guarded.asAnonymous, counts],
          [guarded.asAnn, counts.map(() => 2)],
        ] as const) {
          const { body } = await ask(`/-/dav/${folder}/`, { method: 'PROPFIND', headers: { depth: '1' } });
          const found = elements(parseXml(body), 'response');
          assert.deepEqual(
            found.map((each) => elements(each, 'lockentry').length),
            expected,
          );
          for (const each of found) {
            const href = textOf(elements(each, 'href')[0] ?? each);
            const call: Call = { method: 'LOCK', headers: { depth: '0' }, body: LOCK_BODY };
            const locked = await ask(href, call);
            assert.equal(locked.status === 200, elements(each, 'lockentry').length > 0, href);
            const token = { 'lock-token': String(locked.headers['lock-token']) };
            if (locked.status === 200) await ask(href, { method: 'UNLOCK', headers: token });
          }
        }
      }
    } finally {
      await guarded.stop();
    }
  });

  it('change nothing in a read-only service', async () => {
    const service = await startService(memory, { hasJobs: true, readOnly: true, wrap: readOnly });
    try {
      const proppatch = '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x"/></prop></set></propertyupdate>';
      for (const [method, body] of [
        ['PUT', 'x'],
        ['MKCOL', undefined],
        ['LOCK', LOCK_BODY],
        ['PROPPATCH', proppatch],
      ] as const) {
        const call = { method, ...(body !== undefined && { body }) };
        assert.equal((await send(service.port, '/-/dav/new', call)).status, 403, method);
      }
      const listed = await send(service.port, '/-/dav/', { method: 'PROPFIND', headers: { depth: '1' } });
      assert.equal(listed.status, 207);
      assert.doesNotMatch(listed.body.toString(), /lockentry/);
    } finally {
      await service.stop();
    }
  });
});

describe('A MOVE to a path that another client uses meanwhile', () => {
  let service: TestService;
  /** Another client's content, written before the store moves a file. */
  let meanwhile: string | undefined;
  before(async () => {
    const openMemory = async () => {
      const opened = await memory.open();
      const { store } = opened;
      const move: Store['move'] = async (from, to, options) => {
        if (meanwhile !== undefined) await store.write(file(to), upload(meanwhile));
        meanwhile = undefined;
        return store.move?.(from, to, options);
      };
      await store.write(file('source'), upload('source'));
      return { ...opened, store: { ...store, move } };
    };
    service = await startService({ ...memory, open: openMemory }, { hasJobs: true });
  });
  after(() => service.stop());

  const move = (from: string, to: string, overwrite: 'T' | 'F') =>
    send(service.port, `/-/dav/${from}`, { method: 'MOVE', headers: { destination: `/-/dav/${to}`, overwrite } });

  it('fails with Overwrite: F, and replaces the file with Overwrite: T', async () => {
    meanwhile = 'of another client';
    assert.equal((await move('source', 'target', 'F')).status, 412);
    assert.equal((await send(service.port, '/-/dav/target')).body.toString(), 'of another client');
    meanwhile = 'of another client';
    assert.equal((await move('source', 'other', 'T')).status, 204);
    assert.equal((await send(service.port, '/-/dav/other')).body.toString(), 'source');
    assert.equal((await send(service.port, '/-/dav/source')).status, 404);
  });
});
