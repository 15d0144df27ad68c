import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Owner } from '../../testing/holdall.ts';
import { NAMES } from '../contract/names.ts';
import { beginUpload, type Call, escapePath, type HttpResponse, send } from '../http/client.ts';
import { untilNoTemporaryFiles, untilStaged } from '../process/temporary-files.ts';
import { BEARER, type DavService, startDav } from './dav-service.ts';
import { parseMultistatus } from './multistatus.ts';

const LOCK_BODY = `<?xml version="1.0" encoding="utf-8"?>
<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>
<D:owner><D:href>http://www.apple.com/webdav_fs/</D:href></D:owner></D:lockinfo>`;

const MICROSOFT = 'urn:schemas-microsoft-com:';

/** A user agent that sends requests to the service. */
type Client = (method: string, path: string, call?: Pick<Call, 'headers' | 'body'>) => Promise<HttpResponse>;

describe('The request sequences of WebDAV clients', () => {
  let service: DavService;
  const ends: (() => Promise<void>)[] = [];
  const owner: Owner = { after: (end) => void ends.push(end) };
  before(async () => {
    service = await startDav(owner, { basePath: '/our/files' });
  });
  after(async () => {
    for (const end of ends) await end();
  });

  const clientOf =
    (agent: string): Client =>
    (method, path, { headers, body } = {}) =>
      send(service.port, service.path + escapePath(path), {
        method,
        headers: { ...BEARER, 'user-agent': agent, ...headers },
        ...(body !== undefined && { body }),
      });

  const lock = async (
    client: Client,
    path: string,
  ): Promise<{ readonly if: string; readonly 'lock-token': string }> => {
    const headers = { 'content-type': 'text/xml; charset="utf-8"', depth: '0', timeout: 'Second-600' };
    const response = await client('LOCK', path, { headers, body: LOCK_BODY });
    assert.ok(response.status === 200 || response.status === 201, response.body.toString());
    const token = String(response.headers['lock-token']);
    assert.match(token, /^<[^>]+>$/);
    return { if: `(${token})`, 'lock-token': token };
  };

  const unlock = async (client: Client, path: string, token: string) =>
    assertStatus(await client('UNLOCK', path, { headers: { 'lock-token': token } }), 204);

  const textAt = async (path: string) => {
    const response = await clientOf('test')('GET', path);
    assertStatus(response, 200);
    return response.body.toString();
  };

  it('Finder creates an empty file, locks it, and sends the content in chunks', async () => {
    const finder = clientOf('WebDAVFS/3.0.0 (03008000) Darwin/24.6.0 (arm64)');
    assertStatus(await finder('MKCOL', 'finder'), 201);
    const writes = async (path: string, content: string) => {
      assertStatus(await finder('PROPFIND', path, { headers: { depth: '0' } }), 404);
      assertStatus(await finder('PUT', path, { body: '' }), 201);
      const locked = await lock(finder, path);
      const sending = beginUpload(
        service.port,
        {
          ...BEARER,
          'content-type': 'application/octet-stream',
          'transfer-encoding': 'chunked',
          'x-expected-entity-length': String(content.length),
          if: locked.if,
        },
        { method: 'PUT', path: service.path + escapePath(path) },
      );
      await sending.write(Buffer.from(content.slice(0, 5)));
      await sending.write(Buffer.from(content.slice(5)));
      assertStatus(await sending.finish(), 204);
      await unlock(finder, path, locked['lock-token']);
      assert.equal(await textAt(path), content);
    };
    await writes('finder/Urlaub 1.txt', 'content from the Mac');
    await writes('finder/._Urlaub 1.txt', '\0\u0005\u0016\u0007\0\u0002\0\0Mac OS X        ');
    const times = `<d:propertyupdate xmlns:d="DAV:"><d:set><d:prop><x:when xmlns:x="http://apple.com/x">1</x:when></d:prop></d:set></d:propertyupdate>`;
    const [patched] = parseMultistatus(await finder('PROPPATCH', 'finder/Urlaub 1.txt', { body: times }), service.path);
    assert.deepEqual(patched?.properties, { '{http://apple.com/x}when': '' });
    assertStatus(await finder('MOVE', 'finder/Urlaub 1.txt', { headers: destination('finder/Ferien.txt', 'F') }), 201);
    assert.equal(await textAt('finder/Ferien.txt'), 'content from the Mac');
  });

  it('keeps the old file if the content is shorter than Finder announced', async () => {
    const finder = clientOf('WebDAVFS/3.0.0 (03008000) Darwin/24.6.0 (arm64)');
    assertStatus(await finder('PUT', 'announced.txt', { body: 'old content' }), 201);
    const headers = { 'transfer-encoding': 'chunked', 'x-expected-entity-length': '11' };
    assertStatus(await finder('PUT', 'announced.txt', { headers, body: 'new' }), 400);
    assert.equal(await textAt('announced.txt'), 'old content');
  });

  it('Windows creates a file, locks it, writes it, and sets its times and attributes', async () => {
    const windows = clientOf('Microsoft-WebDAV-MiniRedir/10.0.26100');
    const options = await windows('OPTIONS', '', { headers: { translate: 'f' } });
    assertStatus(options, 200);
    assert.equal(options.headers['ms-author-via'], 'DAV');
    assert.match(String(options.headers['dav']), /^1, ?2/);
    const path = 'Bericht „2026“.docx';
    assertStatus(await windows('PROPFIND', path, { headers: { depth: '0', translate: 'f' }, body: '' }), 404);
    assertStatus(await windows('PUT', path, { headers: { translate: 'f' }, body: '' }), 201);
    const locked = await lock(windows, path);
    const body = Buffer.alloc(70_000, 'w');
    assertStatus(await windows('PUT', path, { headers: { if: locked.if, translate: 'f' }, body }), 204);
    const values = {
      Win32CreationTime: 'Fri, 27 Nov 2026 10:00:00 GMT',
      Win32LastAccessTime: 'Fri, 27 Nov 2026 11:00:00 GMT',
      Win32LastModifiedTime: 'Fri, 27 Nov 2026 12:00:00 GMT',
      Win32FileAttributes: '00000020',
    };
    const set = Object.entries(values).map(([name, value]) => `<Z:${name}>${value}</Z:${name}>`);
    const update = `<?xml version="1.0" encoding="utf-8" ?><D:propertyupdate xmlns:D="DAV:" xmlns:Z="${MICROSOFT}"><D:set><D:prop>${set.join('')}</D:prop></D:set></D:propertyupdate>`;
    const [patched] = parseMultistatus(
      await windows('PROPPATCH', path, { headers: { if: locked.if }, body: update }),
      service.path,
    );
    assert.deepEqual(
      Object.keys(patched?.properties ?? {}).toSorted(),
      Object.keys(values)
        .map((name) => `{${MICROSOFT}}${name}`)
        .toSorted(),
    );
    await unlock(windows, path, locked['lock-token']);
    const names = Object.keys(values).map((name) => `<Z:${name}/>`);
    const query = `<D:propfind xmlns:D="DAV:" xmlns:Z="${MICROSOFT}"><D:prop>${names.join('')}<D:getcontentlength/><D:getlastmodified/></D:prop></D:propfind>`;
    const [found] = parseMultistatus(
      await windows('PROPFIND', path, { headers: { depth: '0' }, body: query }),
      service.path,
    );
    assert.equal(found?.properties['{DAV:}getcontentlength'], '70000');
    // The time of last access is only accepted.
    assert.equal(found.properties['{DAV:}getlastmodified'], values.Win32LastModifiedTime);
    assert.equal(found.properties[`{${MICROSOFT}}Win32CreationTime`], values.Win32CreationTime);
    assert.equal(found.properties[`{${MICROSOFT}}Win32FileAttributes`], values.Win32FileAttributes);
  });

  it('KeePass writes a temporary file and moves it over the database', async () => {
    const keepass = clientOf('KeePass');
    assertStatus(await keepass('PUT', 'passwords.kdbx', { body: 'first' }), 201);
    for (const content of ['second', 'third']) {
      assertStatus(await keepass('PUT', 'passwords.kdbx.tmp', { body: content }), 201);
      assertStatus(
        await keepass('MOVE', 'passwords.kdbx.tmp', { headers: destination('passwords.kdbx', undefined) }),
        204,
      );
      assert.equal(await textAt('passwords.kdbx'), content);
      assertStatus(await keepass('GET', 'passwords.kdbx.tmp'), 404);
    }
  });

  it('Joplin sends a condition that is no ETag with every method except GET and HEAD', async () => {
    const agent = clientOf('Mozilla/5.0');
    let number = 12_345;
    const joplin: Client = (method, path, { headers, body } = {}) => {
      number += 7919;
      const ignored: Record<string, string> =
        method === 'GET' || method === 'HEAD' ? {} : { 'if-none-match': `JoplinIgnore-${number}` };
      return agent(method, path, { headers: { ...ignored, ...headers }, ...(body !== undefined && { body }) });
    };
    const query = `<?xml version="1.0" encoding="UTF-8"?><d:propfind xmlns:d="DAV:"><d:prop><d:getlastmodified/><d:resourcetype/></d:prop></d:propfind>`;
    const list = (path: string, depth: '0' | '1') => joplin('PROPFIND', path, { headers: { depth }, body: query });
    const text = { 'content-type': 'text/plain' };
    for (const folder of ['joplin/', 'joplin/.resource/', 'joplin/locks/', 'joplin/temp/']) {
      assertStatus(await joplin('MKCOL', folder), 201);
      assertStatus(await joplin('MKCOL', folder), 405);
    }
    assertStatus(await list('joplin/info.json', '0'), 404);
    for (const [content, status] of [
      ['{"version":3}', 201],
      ['{"version":3,"e2ee":false}', 204],
    ] as const) {
      assertStatus(await joplin('PUT', 'joplin/info.json', { body: content, headers: text }), status);
      const read = await joplin('GET', 'joplin/info.json');
      assert.deepEqual([read.status, read.body.toString()], [200, content]);
    }
    assertStatus(await joplin('PUT', 'joplin/locks/2_1_ab.json', { body: '{}', headers: text }), 201);
    assertStatus(await joplin('PUT', 'joplin/temp/0.md', { body: 'note', headers: text }), 201);
    for (const status of [201, 204]) {
      assertStatus(await joplin('MOVE', 'joplin/temp/0.md', { headers: destination('joplin/note.md', 'T') }), status);
      assertStatus(await joplin('PUT', 'joplin/temp/0.md', { body: 'newer', headers: text }), 201);
    }
    assertStatus(await joplin('DELETE', 'joplin/locks/2_1_ab.json'), 204);
    assertStatus(await joplin('DELETE', 'joplin/temp/'), 204);
    const paths = parseMultistatus(await list('joplin/', '1'), service.path).map(({ path }) => path);
    assert.deepEqual(paths.toSorted(), [
      'joplin/',
      'joplin/.resource/',
      'joplin/info.json',
      'joplin/locks/',
      'joplin/note.md',
    ]);
    assert.equal(await textAt('joplin/note.md'), 'newer');
  });

  it('changes nothing if a condition of RFC 9110 does not hold, with every method that changes something', async () => {
    const client = clientOf('test');
    assertStatus(await client('MKCOL', 'guarded'), 201);
    const written = await client('PUT', 'guarded/a', { body: 'a' });
    const etag = String(written.headers.etag);
    const set = `<d:propertyupdate xmlns:d="DAV:"><d:set><d:prop><x:p xmlns:x="urn:x">1</x:p></d:prop></d:set></d:propertyupdate>`;
    const requests: readonly (readonly [string, string, Pick<Call, 'headers' | 'body'>])[] = [
      ['PUT', 'guarded/a', { body: 'b' }],
      ['DELETE', 'guarded/a', {}],
      ['MOVE', 'guarded/a', { headers: destination('guarded/b', 'T') }],
      ['COPY', 'guarded/a', { headers: destination('guarded/b', 'T') }],
      ['PROPPATCH', 'guarded/a', { body: set }],
      ['LOCK', 'guarded/a', { body: LOCK_BODY }],
    ];
    const failing: readonly Record<string, string>[] = [
      { 'if-match': '"x", "y"' },
      { 'if-match': `W/${etag}` },
      { 'if-match': 'x' },
      { 'if-none-match': '*' },
      { 'if-none-match': `"x", W/${etag}` },
      { 'if-match': etag, 'if-none-match': etag },
      { 'if-unmodified-since': 'Sun, 06 Nov 1994 08:49:37 GMT' },
    ];
    for (const [method, path, call] of requests) {
      for (const headers of failing) {
        assertStatus(await client(method, path, { ...call, headers: { ...call.headers, ...headers } }), 412);
      }
    }
    const onFolders: typeof requests = [
      ['DELETE', 'guarded/', { headers: { 'if-match': etag } }],
      ['DELETE', 'guarded/', { headers: { 'if-none-match': '*' } }],
      ['MOVE', 'guarded/', { headers: { ...destination('moved-guarded/', 'T'), 'if-match': '"x"' } }],
      ['MKCOL', 'guarded/new/', { headers: { 'if-match': '*' } }],
      ['LOCK', 'guarded/new', { body: LOCK_BODY, headers: { 'if-match': '*' } }],
      ['PUT', 'guarded/new', { body: 'b', headers: { 'if-match': '*' } }],
    ];
    for (const [method, path, call] of onFolders) assertStatus(await client(method, path, call), 412);
    const listed = await client('PROPFIND', 'guarded/', { headers: { depth: '1' } });
    assert.deepEqual(
      parseMultistatus(listed, service.path).map(({ path }) => path),
      ['guarded/', 'guarded/a'],
    );
    assert.equal(await textAt('guarded/a'), 'a');
    assertStatus(await client('PUT', 'guarded/a', { body: 'b', headers: { 'if-match': `"x", ${etag}` } }), 204);
    assertStatus(await client('DELETE', 'guarded/a', { headers: { 'if-match': '*' } }), 204);
    assertStatus(await client('DELETE', 'guarded/', { headers: { 'if-match': '*' } }), 204);
  });

  it('keeps names with any character, as files and as folders', async () => {
    const client = clientOf('test');
    assertStatus(await client('MKCOL', 'names'), 201);
    assertStatus(await client('MKCOL', 'moved'), 201);
    for (const name of NAMES) {
      assertStatus(await client('PUT', `names/${name}`, { body: name }), 201);
      assertStatus(await client('COPY', `names/${name}`, { headers: destination(`moved/${name}`, 'F') }), 201);
      assertStatus(await client('DELETE', `moved/${name}`), 204);
      assertStatus(await client('MKCOL', `moved/${name}`), 201);
    }
    const listed = async (folder: string) => {
      const response = await client('PROPFIND', folder, { headers: { depth: '1' } });
      const [own, ...entries] = parseMultistatus(response, service.path);
      assert.equal(own?.path, `${folder}/`);
      return entries;
    };
    const files = await listed('names');
    assert.deepEqual(files.map(({ path }) => path).toSorted(), NAMES.map((name) => `names/${name}`).toSorted());
    for (const { path, href, properties } of files) {
      assert.equal(properties['{DAV:}displayname'], path.slice('names/'.length));
      const response = await send(service.port, href, { headers: BEARER });
      assert.equal(response.body.toString(), path.slice('names/'.length));
    }
    const folders = (await listed('moved')).map(({ path }) => path);
    assert.deepEqual(folders.toSorted(), NAMES.map((name) => `moved/${name}/`).toSorted());
  });

  it('writes, copies and moves empty files', async () => {
    const client = clientOf('test');
    assertStatus(await client('PUT', 'empty', { body: '' }), 201);
    assertStatus(await client('COPY', 'empty', { headers: destination('empty copy', 'F') }), 201);
    assertStatus(await client('MOVE', 'empty', { headers: destination('empty moved', 'F') }), 201);
    for (const path of ['empty copy', 'empty moved']) {
      const response = await client('GET', path);
      assert.deepEqual([response.status, response.headers['content-length'], response.body.length], [200, '0', 0]);
      const [found] = parseMultistatus(await client('PROPFIND', path, { headers: { depth: '0' } }), service.path);
      assert.equal(found?.properties['{DAV:}getcontentlength'], '0');
    }
  });

  it('keeps the old file after an interrupted PUT', async () => {
    const client = clientOf('test');
    assertStatus(await client('PUT', 'kept.bin', { body: 'old content' }), 201);
    const half = Buffer.alloc(600_000, 'half');
    const framings: Record<string, string>[] = [
      { 'content-length': '1200000' },
      { 'transfer-encoding': 'chunked' },
      { 'transfer-encoding': 'chunked', 'x-expected-entity-length': '1200000' },
    ];
    for (const framing of framings) {
      const headers = { ...BEARER, 'content-type': 'application/octet-stream', ...framing };
      const sending = beginUpload(service.port, headers, { method: 'PUT', path: `${service.path}kept.bin` });
      await sending.write(half);
      await untilStaged(service.root, half.length);
      sending.disconnect();
      await untilNoTemporaryFiles(service.root);
      assert.equal(await textAt('kept.bin'), 'old content');
    }
  });
});

function assertStatus({ status, body }: HttpResponse, expected: number): void {
  assert.equal(status, expected, body.toString());
}

/** Returns the headers of a copy or move to a path. */
function destination(path: string, overwrite: 'T' | 'F' | undefined): Record<string, string> {
  return { destination: `/our/files/-/dav/${escapePath(path)}`, ...(overwrite && { overwrite }) };
}
