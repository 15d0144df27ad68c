import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { newKeptId } from '../../../src/model/kept-ids.ts';
import { until } from '../../../testing/until.ts';
import { type Backend, emptied, type Trait } from '../../contract/backend.ts';
import { parseArchive } from '../../zip/parse-archive.ts';
import {
  assertFailure,
  assertSuccess,
  BOUNDARY,
  begin,
  beginUpload,
  type Call,
  escapePath,
  followLocation,
  formOf,
  type HttpResponse,
  jsonOf,
  listed,
  namesIn,
  plant,
  postJson,
  send,
  treeOf,
  upload,
} from '../client.ts';
import { served } from '../service.ts';
import { ORDERS, partsFor } from './upload.ts';

type Headers = Readonly<Record<string, string>>;

/** A request that stores a file. */
interface Way {
  readonly name: string;
  readonly url: (path: string) => string;
  readonly call: (path: string, content: Buffer | string) => Call & { readonly body: Buffer | string };
}

const putWith = (name: string, headers: Headers): Way => ({
  name,
  url: (path) => `/file/${escapePath(path)}`,
  call: (_path, body) => ({ method: 'PUT', headers, body }),
});

/** The requests differ in what the store knows before the content: the path, the size, or nothing. */
const WAYS: readonly Way[] = [
  putWith('PUT', {}),
  putWith('PUT in chunks', { 'transfer-encoding': 'chunked' }),
  ...ORDERS.map(
    (order): Way => ({
      name: `a form with the ${order}`,
      url: () => '/upload',
      call: (path, content) => ({
        method: 'POST',
        headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
        body: formOf(partsFor(order, path, content)),
      }),
    }),
  ),
];

const KIB = 1024;
const DIGITS = '0123456789';
const PAST = 'Thu, 01 Jan 1998 00:00:00 GMT';

/** The size from which a download is redirected. */
const LARGE_BYTES = 6 * KIB * KIB;

interface Urls {
  /** Whether large files have download URLs. */
  readonly hasDownloadUrls?: boolean;
  /** Whether the service signs them. */
  readonly signsUrls?: boolean;
}

/**
 * Tests what the HTTP API shows of a store, and the contract of stores does not: bodies, conditions, redirects, and each
 * operation once. The tests share a service.
 */
export function wireSuite(backend: Backend, { hasDownloadUrls = true, signsUrls = false }: Urls = {}): void {
  describe(`The HTTP API: ${backend.name}`, () => {
    const service = served(backend, { hasJobs: true });

    const get = (path: string, headers: Headers = {}, method = 'GET') =>
      send(service.port, `/file/${escapePath(path)}`, { method, headers });
    const textOf = async (path: string) => (await get(path)).body.toString();
    const store = ({ url, call }: Way, path: string, content: Buffer | string, headers: Headers = {}) => {
      const request = call(path, content);
      return send(service.port, url(path), { ...request, headers: { ...request.headers, ...headers } });
    };
    /** Defines a test for backends with these traits. */
    const where = (traits: readonly Trait[], title: string, run: () => Promise<void>) => {
      if (!traits.some((trait) => backend.lacks[trait])) it(title, run);
    };

    where(
      ['management', 'replacements'],
      'lists, copies, moves, renames and removes files and folders, and changes nothing else',
      async () => {
        const tree = (folder: string) => treeOf(service.port, folder);
        await plant(service.port, UNTOUCHED);
        assert.deepEqual(await namesIn(service.port, 'ops/a'), ['1', 'b/']);
        const post = async (path: string, body: Record<string, unknown>) => {
          const response = await postJson(service.port, path, body);
          assert.equal(response.status, 200, response.body.toString());
        };
        const remove = async (path: string) => {
          const response = await send(service.port, path, { method: 'DELETE' });
          assert.equal(response.status, 200, response.body.toString());
        };

        await post('/create_folder', { path: 'ops/c/d' });
        assert.deepEqual(await tree('ops/'), { ...UNTOUCHED, 'ops/c/d/': null });
        await post('/copy', { source: 'ops/a', destination: 'ops/c/d', is_folder: true, overwrite: true });
        await post('/copy', { source: 'ops/ab', destination: 'ops/c/e', is_folder: false });
        await post('/move', { source: 'ops/c/e', destination: 'ops/c/f/e', is_folder: false });
        await post('/rename/ops/c/f/e', { newName: 'g' });
        await post('/rename_folder/ops/c/d', { newName: 'h' });
        const file = { 'ops/c/f/': null, 'ops/c/f/g': 'neighbour' };
        const folder = { 'ops/c/h/': null, 'ops/c/h/1': 'one', 'ops/c/h/b/': null, 'ops/c/h/b/2': 'two' };
        assert.deepEqual(await tree('ops/'), { ...UNTOUCHED, ...file, ...folder });
        await post('/move', { source: 'ops/c/h', destination: 'ops/i', is_folder: true });
        const moved = { 'ops/i/': null, 'ops/i/1': 'one', 'ops/i/b/': null, 'ops/i/b/2': 'two' };
        assert.deepEqual(await tree('ops/'), { ...UNTOUCHED, ...file, ...moved });
        await remove('/delete/ops/c/f/g');
        await remove('/delete_folder/ops/i');
        assert.deepEqual(await tree('ops/'), emptied(backend, { ...UNTOUCHED, 'ops/c/f/': null }, 'ops/c/f/'));
      },
    );

    it('stores the bytes of each request, and returns its path and ETag', async () => {
      const contents = { large: randomBytes(1_000_000), one: Buffer.of(0), empty: Buffer.alloc(0) };
      const check = async (way: Way, [name, content]: [string, Buffer]) => {
        const path = `bytes/ü #%25?/${way.name}/${name}`;
        const response = await store(way, path, content);
        assert.ok([200, 201].includes(response.status), `${way.name}: ${response.body.toString()}`);
        assert.equal(jsonOf(response)['path'], path);
        const { body, headers } = await get(path);
        assert.ok(body.equals(content), path);
        assert.equal(headers.etag, response.headers.etag, path);
        const { size, etag } = await listed(service.port, path);
        assert.deepEqual([size, etag], [content.length, response.headers.etag], path);
      };
      for (const way of WAYS) await Promise.all(Object.entries(contents).map((content) => check(way, content)));
    });

    where(['replacements'], 'keeps the type and the modification time of an upload', async () => {
      const seconds = 1_405_659_692;
      const date = new Date(seconds * 1000).toUTCString();
      for (const way of WAYS) {
        const path = `times/${way.name}`;
        const typed: Headers = way.url('') === '/upload' ? {} : { 'content-type': 'text/x-notes' };
        const { headers: confirmed } = await store(way, path, 'text', { ...typed, 'x-oc-mtime': String(seconds) });
        const isKept = !backend.lacks['kept-times'];
        assert.equal(confirmed['x-oc-mtime'], isKept ? 'accepted' : undefined, way.name);
        const { headers } = await get(path);
        if (isKept) assert.equal(headers['last-modified'], date, way.name);
        if (typed['content-type'] && !backend.lacks['stored-types']) {
          assert.match(String(headers['content-type']), /^text\/x-notes/);
        }
      }
    });

    it('changes nothing before the last byte, and nothing if the client disconnects', async () => {
      for (const way of WAYS) {
        const folder = `unfinished/${way.name}/`;
        await upload(service.port, `${folder}kept`, 'old');
        const ended = () => service.log.filter(({ msg }) => msg === 'request').length;
        for (const name of ['kept', 'new']) {
          const path = `${folder}${name}`;
          const { method = '', headers = {}, body } = way.call(path, Buffer.alloc(200_000, 'new'));
          const whole = Buffer.from(body);
          const length: Headers = headers['transfer-encoding'] ? {} : { 'content-length': String(whole.length) };
          const target = { method, path: way.url(path) };
          const sending = beginUpload(service.port, { ...headers, ...length }, target);
          await sending.write(whole.subarray(0, -3));
          assert.deepEqual(await treeOf(service.port, folder), { [`${folder}kept`]: 'old' }, path);
          const endedBefore = ended();
          sending.disconnect();
          await until('the service has noticed the disconnect', () => ended() > endedBefore);
        }
        assert.deepEqual(await treeOf(service.port, folder), { [`${folder}kept`]: 'old' }, way.name);
      }
    });

    where(['replacements'], 'evaluates the conditions of writes and deletes', async () => {
      for (const way of WAYS) {
        const path = `conditions/${way.name}`;
        const isNew = { 'if-none-match': '*' };
        const first = await store(way, path, 'first', isNew);
        assert.ok([200, 201].includes(first.status), `${way.name}: ${first.body.toString()}`);
        const second = await store(way, path, 'second', { 'if-match': `"x", ${first.headers.etag}` });
        assert.equal(second.status, 200, `${way.name}: ${second.body.toString()}`);
        const { etag = '' } = second.headers;
        const failing: readonly Headers[] = [
          isNew,
          { 'if-match': String(first.headers.etag) },
          { 'if-match': `W/${etag}` },
          { 'if-none-match': `"x", W/${etag}` },
          ...(backend.lacks['modification-times'] ? [] : [{ 'if-unmodified-since': PAST }]),
        ];
        for (const headers of failing) assertFailure(await store(way, path, 'third', headers), 412, /conditions\//);
        assertFailure(await store(way, `${path} none`, 'third', { 'if-match': '*' }), 412, /does not exist/);
        assert.equal(await textOf(path), 'second');
        const remove = (condition: string) => get(path, { 'if-match': condition }, 'DELETE');
        assertFailure(await remove(String(first.headers.etag)), 412, /conditions\//);
        assert.equal((await remove(etag)).status, 200);
        assertFailure(await get(path), 404, /conditions\//);
      }
    });

    it('evaluates the ranges and conditions of reads', async () => {
      await upload(service.port, 'read/digits.txt', DIGITS);
      const whole = await get('read/digits.txt');
      assert.equal(whole.status, 200);
      assert.equal(whole.body.toString(), DIGITS);
      const { etag = '', 'last-modified': modified, 'content-type': type } = whole.headers;
      assert.deepEqual(
        [type, whole.headers['content-length'], whole.headers['accept-ranges']],
        ['text/plain; charset=utf-8', '10', 'bytes'],
      );
      assert.equal(modified === undefined, backend.lacks['modification-times'] !== undefined);
      const timed: readonly (readonly [number, Headers])[] = [
        [412, { 'if-unmodified-since': PAST }],
        [200, { 'if-modified-since': PAST }],
        [200, { 'if-range': PAST, range: 'bytes=0-1' }],
      ];
      for (const [status, headers, range] of [
        [206, { range: 'bytes=3-5' }, '3-5'],
        [206, { range: 'bytes=5-99' }, '5-9'],
        [206, { range: 'bytes=-3' }, '7-9'],
        [206, { range: 'bytes=0-1', 'if-range': etag, 'if-match': etag }, '0-1'],
        [200, { range: 'bytes=0-1', 'if-range': '"x"' }],
        [416, { range: 'bytes=10-' }, '*'],
        [304, { 'if-none-match': etag }],
        [304, { 'if-none-match': etag, range: 'bytes=99-' }],
        [200, { 'if-none-match': '"x"' }],
        [412, { 'if-match': '"x"' }],
        ...(backend.lacks['modification-times'] ? [] : timed),
      ] as readonly (readonly [number, Headers, string?])[]) {
        const response = await get('read/digits.txt', headers);
        const what = JSON.stringify(headers);
        assert.equal(response.status, status, what);
        assert.equal(response.headers['content-range'], range && `bytes ${range}/10`, what);
        if (status === 206) {
          const [start, end] = String(range).split('-').map(Number);
          assert.equal(response.body.toString(), DIGITS.slice(start, Number(end) + 1), what);
        }
      }
      const head = await get('read/digits.txt', {}, 'HEAD');
      assert.deepEqual([head.status, head.body.length, head.headers.etag], [200, 0, etag]);
      assert.equal(head.headers['content-length'], '10');
      for (const path of ['read/none', 'read', 'read/digits.txt/x', 'Read/digits.txt']) {
        assertFailure(await get(path), 404, `The file ${JSON.stringify(path)} does not exist.`);
      }
    });

    where(['replacements'], 'sends the old content of a file that is replaced during the download', async () => {
      const old = randomBytes(LARGE_BYTES - 1);
      await upload(service.port, 'replaced', old);
      const { response } = begin(service.port, '/file/replaced');
      const started = await response;
      await upload(service.port, 'replaced', 'new');
      assert.ok(Buffer.concat(await started.toArray()).equals(old));
      assert.equal(await textOf('replaced'), 'new');
    });

    it('has the files of a folder in an archive, and in each range of it', async () => {
      const large = randomBytes(700_000);
      await upload(service.port, 'zip/f/large', large);
      await plant(service.port, { 'zip/f/a.txt': 'first', 'zip/f/empty/': null, 'zip/f/zero': '', 'zip/f/ü': 'last' });
      const archive = (headers: Headers = {}) => send(service.port, '/-/zip/zip/f/', { headers });
      const whole = await archive();
      assert.equal(whole.status, 200);
      const entries = Object.fromEntries(parseArchive(whole.body).map(({ name, content }) => [name, content]));
      assert.ok(entries['f/large']?.equals(large));
      const small = ['f/a.txt', 'f/empty/', 'f/zero', 'f/ü'];
      assert.deepEqual(
        small.map((name) => String(entries[name])),
        ['first', '', '', 'last'],
      );
      const { length } = whole.body;
      const etag = String(whole.headers.etag);
      for (const start of [1, length >> 1, length - 1]) {
        const rest = await archive({ range: `bytes=${start}-`, 'if-range': etag });
        assert.equal(rest.status, 206, String(start));
        assert.ok(rest.body.equals(whole.body.subarray(start)), String(start));
      }
      await plant(service.port, { 'zip/f/more': 'x' });
      assert.equal((await archive({ range: 'bytes=100-', 'if-range': etag })).status, 200);
    });

    if (hasDownloadUrls)
      describe('redirects a download of 6 MB', () => {
        const name = '50% é"#?.html';
        const path = `large folder/${name}`;
        const bytes = randomBytes(LARGE_BYTES);
        before(() => upload(service.port, path, bytes));

        const redirectOf = async (method = 'GET', query = '', headers: Headers = {}) => {
          const url = `/file/${escapePath(path)}${query}`;
          const response = await send(service.port, url, { method, headers });
          assert.deepEqual([response.status, response.body.length], [302, 0], response.body.toString());
          assert.equal(response.headers['cache-control'], 'no-store');
          return new URL(String(response.headers.location), `http://127.0.0.1:${service.port}${url}`);
        };
        const follow = ({ port, pathname, search, host }: URL, method = 'GET', headers: Headers = {}) =>
          send(Number(port), pathname + search, { method, headers: { ...headers, host } });

        it('to the same bytes and ranges, by GET and HEAD', async () => {
          const url = await redirectOf();
          assert.ok((await follow(url)).body.equals(bytes));
          const again = async () => (backend.lacks['lasting-urls'] ? redirectOf() : url);
          const part = await follow(await again(), 'GET', { range: 'bytes=6291450-' });
          assert.deepEqual([part.status, part.headers['content-range']], [206, 'bytes 6291450-6291455/6291456']);
          assert.ok(part.body.equals(bytes.subarray(6_291_450)));
          const head = await follow(await redirectOf('HEAD'), 'HEAD');
          assert.deepEqual([head.status, head.headers['content-length'], head.body.length], [200, '6291456', 0]);
        });

        it('whatever its range and conditions are', async () => {
          const conditions: readonly Headers[] = [
            { range: 'bytes=0-9' },
            { range: 'bytes=99999999-' },
            { 'if-none-match': '*' },
            { 'if-match': '"x"' },
          ];
          for (const headers of conditions) await redirectOf('GET', '', headers);
        });

        where(
          ['urls-of-downloads'],
          'as an attachment with its name if it is active content, or if the client asks',
          async () => {
            await upload(service.port, 'large folder/plain.txt', bytes);
            const dispositionOf = async (url: URL) => {
              const { status, headers } = await follow(url, 'GET', { range: 'bytes=0-0' });
              assert.equal(status, 206);
              return headers['content-disposition'];
            };
            // Before and after the service knows the file from a listing.
            for (const listing of [undefined, '/large%20folder/']) {
              if (listing !== undefined) await send(service.port, listing);
              for (const query of ['', '?download=1']) {
                assert.equal(nameIn(await dispositionOf(await redirectOf('GET', query))), name);
              }
            }
            const { headers } = await send(service.port, '/file/large%20folder/plain.txt');
            const url = new URL(String(headers.location), `http://127.0.0.1:${service.port}/file/large%20folder/`);
            assert.doesNotMatch((await dispositionOf(url)) ?? 'inline', /attachment/);
          },
        );
      });

    where(['management', 'replacements'], 'deletes to the trash, and restores', async () => {
      assert.ok(service.store.moveToTrash, 'The store has a trash.');
      await plant(service.port, { 'trash/ä b%.txt': 'text', 'trash/f/x': '1', 'trash/g/y': '2' });
      const remove = async (path: string) => {
        const { status, body } = await send(service.port, path, { method: 'DELETE' });
        assert.equal(status, 200, body.toString());
      };
      await remove(`/delete/${escapePath('trash/ä b%.txt')}`);
      await remove('/delete_folder/trash/f');
      const overwrite = { source: 'trash/g', destination: 'trash/h', is_folder: true, overwrite: true };
      await plant(service.port, { 'trash/h/z': 'replaced' });
      assert.equal((await postJson(service.port, '/move', overwrite)).status, 200);
      const { entries } = jsonOf(await send(service.port, '/-/trash?folder=trash')) as {
        entries: readonly { readonly id: string; readonly path: string }[];
      };
      assert.deepEqual(
        entries.map(({ path }) => path),
        ['trash/h/', 'trash/f/', 'trash/ä b%.txt'],
      );
      for (const [index, to] of ['trash/restored', undefined, undefined].entries()) {
        const { id = '', path = '' } = entries[index] ?? {};
        const response = await postJson(service.port, `/-/trash/${id}/restore`, { to });
        assertSuccess(response, {
          message: 'Item restored successfully',
          path: to === undefined ? path : `${to}/`,
        });
      }
      assert.deepEqual(await treeOf(service.port, 'trash/'), {
        'trash/f/': null,
        'trash/f/x': '1',
        'trash/h/': null,
        'trash/h/y': '2',
        'trash/restored/': null,
        'trash/restored/z': 'replaced',
        'trash/ä b%.txt': 'text',
      });
      if (!service.store.purgeTrashed) return;
      await remove('/delete_folder/trash/f');
      const purged = await send(service.port, '/-/trash?folder=trash', { method: 'DELETE' });
      assertSuccess(purged, { message: 'Trash emptied successfully', removed: 1 });
    });

    where(['replacements'], 'keeps versions, sends their ranges, and restores them', async () => {
      assert.ok(service.store.listVersions, 'The store keeps versions.');
      for (const text of ['one', DIGITS, 'three']) await upload(service.port, 'versions/a.txt', text);
      const versionsOf = async () =>
        (jsonOf(await send(service.port, '/-/versions/versions/a.txt')) as { versions: readonly { id: string }[] })
          .versions;
      const [second, first, ...others] = await versionsOf();
      assert.ok(second && first && others.length === 0);
      const url = `/file/versions/a.txt?version=${second.id}`;
      const { body, headers } = await send(service.port, url);
      assert.equal(body.toString(), DIGITS);
      const part = await send(service.port, url, { headers: { range: 'bytes=2-4' } });
      assert.deepEqual([part.status, part.body.toString()], [206, '234']);
      const unchanged = await send(service.port, url, { headers: { 'if-none-match': String(headers.etag) } });
      assert.equal(unchanged.status, 304);
      const restored = await postJson(service.port, '/-/versions/versions/a.txt', { version: first.id });
      assertSuccess(restored, { message: 'Version restored successfully', path: 'versions/a.txt' });
      assert.equal(await textOf('versions/a.txt'), 'one');
      assert.equal((await versionsOf()).length, 3);
      const removed = await send(service.port, '/-/versions/versions/a.txt', { method: 'DELETE' });
      if (service.store.purgeVersions) assert.deepEqual([removed.status, await versionsOf()], [200, []]);
      else assertFailure(removed, 501, /can't delete versions/);
    });

    if (signsUrls)
      it('redirects to a signed URL for a large version', async () => {
        await upload(service.port, 'versions/a.bin', Buffer.alloc(LARGE_BYTES, 'large'));
        await upload(service.port, 'versions/a.bin', 'small');
        const found = jsonOf(await send(service.port, '/-/versions/versions/a.bin')) as { versions: { id: string }[] };
        const path = `/file/versions/a.bin?version=${found.versions[0]?.id}`;
        for (const method of ['GET', 'HEAD']) {
          const { status, headers } = await send(service.port, path, { method });
          assert.equal(status, 302);
          const { location = '' } = headers;
          const part = await followLocation(service.port, path, location, { range: 'bytes=5-9' });
          assert.deepEqual([part.status, part.body.toString()], [206, 'large']);
          for (const forged of [`version=${newKeptId()}&`, '']) {
            const response = await followLocation(service.port, path, location.replace(/version=[^&]+&/, forged));
            assertFailure(response, 403, /signature/);
          }
        }
      });

    where(['management'], 'stores a resumable upload of two parts', async () => {
      const bytes = randomBytes(300_000);
      const tus = { 'tus-resumable': '1.0.0' };
      const metadata = `path ${Buffer.from('resumable/ü.bin').toString('base64')}`;
      const created = await send(service.port, '/-/uploads', {
        method: 'POST',
        headers: { ...tus, 'upload-length': String(bytes.length), 'upload-metadata': metadata },
      });
      assert.equal(created.status, 201, created.body.toString());
      let last: HttpResponse | undefined;
      for (const [offset, part] of [
        [0, bytes.subarray(0, 100_000)],
        [100_000, bytes.subarray(100_000)],
      ] as const) {
        last = await send(service.port, String(created.headers.location), {
          method: 'PATCH',
          headers: { ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) },
          body: part,
        });
        assert.equal(last.status, 204, last.body.toString());
      }
      const { body, headers } = await get('resumable/ü.bin');
      assert.ok(body.equals(bytes));
      assert.equal(headers.etag, last?.headers.etag);
    });
  });
}

/** Files and folders of the journey that no operation changes. */
const UNTOUCHED = {
  'ops/a/': null,
  'ops/a/1': 'one',
  'ops/a/b/': null,
  'ops/a/b/2': 'two',
  'ops/ab': 'neighbour',
  'ops/c/': null,
  'ops/c/kept': '',
};

/**
 * Parses the file name in an attachment's header (RFC 6266, section 4.1; RFC 8187, section 3.2.1). Fails if there is
 * none.
 */
function nameIn(header: string | undefined): string {
  const match =
    /^attachment; filename="((?:[^"\\]|\\["\\])*)"; filename\*=UTF-8''((?:[\w!#$&+.^`|~-]|%[\dA-F]{2})+)$/.exec(
      header ?? '',
    );
  if (!match) assert.fail(`No attachment: ${header}`);
  assert.match(String(match[1]), /^[\x20-\x7e]*$/);
  return decodeURIComponent(String(match[2]));
}
