import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Entry } from '../../../src/domain/store.ts';
import type { Backend } from '../../contract/backend.ts';
import { file } from '../../contract/bytes.ts';
import { NAMES } from '../../contract/names.ts';
import { type Answer, assertFailure, escapePath, jsonOf, plant, send, upload } from '../client.ts';
import { startService, type TestService } from '../service.ts';

/** `GET /` and `GET /{path}`, on any store. */
export function listingSuite(backend: Backend): void {
  describe(`Listing: ${backend.name}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService(backend);
    });
    after(() => service.stop());

    const get = (path: string, headers?: Record<string, string>) => send(service.port, path, { headers });
    const plantAll = (tree: Record<string, string | null>) => plant(service.port, tree);

    describe('of the root', () => {
      it('an empty root is an empty list, with nothing of the service itself in it', async () => {
        const fresh = await startService(backend);
        try {
          const empty = { success: true, prefix: '', entries: [] };
          for (const path of ['/', '/?prefix=', '/?prefix=/', '/?prefix=%2F', '/?limit=1']) {
            assert.deepEqual(listingOf(await send(fresh.port, path)), empty);
          }
          await upload(fresh.port, 'one.txt', 'x');
          assert.deepEqual(pathsOf(await send(fresh.port, '/')), ['one.txt']);
        } finally {
          await fresh.stop();
        }
      });
    });

    describe('has the shape of the interface', () => {
      it('a file has name, path, size, time, type and etag; a folder name and path', async () => {
        const started = Date.now();
        await plantAll({ 'shape/a folder/deep/x.txt': 'x' });
        const { headers } = await upload(service.port, 'shape/cat.jpg', 'not really');
        const answer = listingOf(await get('/shape'));
        const [folder, cat] = answer.entries;
        assert.deepEqual(Object.keys(answer), ['success', 'prefix', 'entries']);
        assert.deepEqual([answer.success, answer.prefix, answer.entries.length], [true, 'shape/', 2]);
        assert.deepEqual(folder, { type: 'folder', name: 'a folder', path: 'shape/a folder/' });
        assert.ok(cat?.type === 'file');
        const { modified, ...rest } = cat;
        assert.deepEqual(rest, {
          type: 'file',
          name: 'cat.jpg',
          path: 'shape/cat.jpg',
          size: 10,
          contentType: 'image/jpeg',
          etag: headers.etag,
        });
        if (backend.lacks['modification-times']) return assert.equal(modified, null);
        assert.match(String(modified), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        // Some stores count whole seconds, and clocks of file systems lag a little.
        const time = Date.parse(String(modified));
        assert.ok(time >= started - 2000 && time <= Date.now() + 2000, String(modified));
      });

      it('only children are listed, and nothing of a folder whose name begins alike', async () => {
        await plantAll({ 'alike/a/x': '', 'alike/a/b/c/y': '', 'alike/ab/z': '', 'alike/a.txt': '' });
        assert.deepEqual(pathsOf(await get('/alike/a')), ['alike/a/b/', 'alike/a/x']);
        assert.deepEqual(pathsOf(await get('/alike')), ['alike/a.txt', 'alike/a/', 'alike/ab/']);
      });

      it('a folder that was created shows at once, in its parent and as an empty list, without a marker', async () => {
        await plantAll({ 'created/deep/': null });
        assert.deepEqual(pathsOf(await get('/created')), ['created/deep/']);
        assert.deepEqual(listingOf(await get('/created/deep')), {
          success: true,
          prefix: 'created/deep/',
          entries: [],
        });
      });

      for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html;q=0.5']) {
        it(`Accept: ${accept ?? '(none)'} gets JSON`, async () => {
          const answer = await get('/', accept === undefined ? {} : { accept });
          assert.equal(answer.status, 200);
          assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
          assert.equal(jsonOf(answer)['success'], true);
        });
      }

      it('HEAD gives the headers of GET', async () => {
        const [head, whole] = [await send(service.port, '/', { method: 'HEAD' }), await get('/')];
        assert.equal(head.status, 200);
        assert.equal(head.body.length, 0);
        assert.equal(head.headers['content-type'], whole.headers['content-type']);
        assert.equal(head.headers['content-length'], String(whole.body.length));
      });
    });

    describe('takes the folder as the path or as ?prefix=', () => {
      before(() => plantAll({ 'named/b c/x.txt': 'x', 'other/y.txt': 'y' }));

      for (const path of [
        '/named/b%20c',
        '/named/b%20c/',
        '/named%2Fb%20c',
        '/?prefix=named/b%20c',
        '/?prefix=named%2Fb+c%2F',
        '/?prefix=/named/b%20c',
        '/?prefix=/named/b%20c/',
        '/named/b%20c?prefix=named/b%20c',
        '/named/b%20c/?prefix=/named/b%20c',
        '/named/b%20c?prefix=named/b%20c/',
        '//named/b%20c',
      ]) {
        it(`${path} is the folder named/b c/`, async () => {
          const { prefix, entries } = listingOf(await get(path));
          assert.equal(prefix, 'named/b c/');
          assert.deepEqual(
            entries.map((entry) => entry.path),
            ['named/b c/x.txt'],
          );
        });
      }

      for (const path of ['/named?prefix=other', '/named/?prefix=named/b%20c/', '/other?prefix=missing']) {
        it(`${path} names two folders: 400 with both`, async () => {
          const [first, second] = path.slice(1).split('?prefix=');
          const answer = await get(path);
          assertFailure(answer, 400, new RegExp(`"${first?.replace('/', '')}/".*"${decodeURIComponent(second ?? '')}`));
        });
      }

      it('?prefix= more than once is a 400', async () =>
        assertFailure(await get('/?prefix=named&prefix=other'), 400, /prefix/));

      // Each begins a path of the interface; the first three hide all that is below them.
      for (const name of [
        'file',
        'thumb',
        '-',
        'upload',
        'delete',
        'rename',
        'delete_folder',
        'rename_folder',
        'copy',
        'move',
        'create_folder',
      ]) {
        it(`?prefix= reaches the folder ${name}/ and what is below it`, async () => {
          await plantAll({ [`${name}/in/x.txt`]: name });
          assert.deepEqual(pathsOf(await get(`/?prefix=${name}`)), [`${name}/in/`]);
          assert.deepEqual(pathsOf(await get(`/?prefix=${name}/in/`)), [`${name}/in/x.txt`]);
          assert.ok(pathsOf(await get('/')).includes(`${name}/`));
        });
      }

      it('every name of a folder can be listed, as the path and as ?prefix=', async () => {
        for (const name of NAMES) {
          const path = `folders/${name}/x.txt`;
          await upload(service.port, path, 'x');
          const folder = `folders/${name}`;
          for (const url of [`/${escapePath(folder)}`, `/?prefix=${encodeURIComponent(folder)}`]) {
            const answer = listingOf(await get(url));
            assert.equal(answer.prefix, `${folder}/`);
            assert.deepEqual(
              answer.entries.map((entry) => [entry.name, entry.path]),
              [['x.txt', path]],
            );
          }
        }
        assert.deepEqual(
          listingOf(await get('/folders')).entries.map(({ name }) => name),
          NAMES.map((name) => `${name}/`)
            .toSorted(byBytes)
            .map((name) => name.slice(0, -1)),
        );
      });
    });

    describe('is ordered by the bytes of UTF-8, and paged', () => {
      const names = [...NAMES, 'a', 'a-b', 'a.txt', 'ab', 'b!/', 'b', 'b+b/', 'b.b/', 'b0', 'B', 'zz/', 'z'];
      const sorted = names.map((name) => `paged/${name}`).toSorted(byBytes);
      before(() =>
        plantAll(Object.fromEntries(names.map((name) => [`paged/${name}`, name.endsWith('/') ? null : 'x']))),
      );

      it('folders are compared with their slash, characters by code point', async () => {
        assert.deepEqual(pathsOf(await get('/paged')), sorted);
      });

      for (const limit of [1, 3, sorted.length - 1]) {
        it(`pages of ${limit} give every entry once, in the same order`, async () => {
          const { paths, pages } = await follow((query) => get(`/paged?${query}`), limit);
          assert.deepEqual(paths, sorted);
          assert.ok(pages >= sorted.length / limit);
          const byPrefix = await follow((query) => get(`/?prefix=paged&${query}`), limit);
          assert.deepEqual(byPrefix.paths, sorted);
        });
      }

      it('a page that holds the rest has no cursor', async () => {
        for (const limit of [sorted.length, sorted.length + 1, 1000]) {
          const answer = listingOf(await get(`/paged?limit=${limit}`));
          assert.equal(answer.entries.length, sorted.length);
          assert.equal('cursor' in answer, false);
        }
      });

      it('files that come and go between two pages shift nothing', async () => {
        await plantAll({ 'shifting/b': '', 'shifting/d': '', 'shifting/f': '' });
        const { cursor } = listingOf(await get('/shifting?limit=2'));
        await send(service.port, '/delete/shifting/b', { method: 'DELETE' });
        await upload(service.port, 'shifting/a', '');
        await upload(service.port, 'shifting/e', '');
        const rest = await get(`/shifting?limit=2&cursor=${encodeURIComponent(String(cursor))}`);
        assert.deepEqual(pathsOf(rest), ['shifting/e', 'shifting/f']);
      });

      it('the limit is 1000 where none is asked for', async () => {
        const asked: (number | undefined)[] = [];
        const entryOf = (number: number): Entry => {
          const path = file(`${number + 1000}`);
          return { kind: 'file', path, size: 0, etag: 'x', modified: null, type: 'text/plain' };
        };
        const large = await startService(backend, {
          wrap: (store) => ({
            ...store,
            async list(_folder, { limit } = {}) {
              asked.push(limit);
              return { entries: Array.from({ length: limit ?? 5000 }, (_, number) => entryOf(number)), cursor: 'more' };
            },
          }),
        });
        try {
          assert.equal(listingOf(await send(large.port, '/')).entries.length, 1000);
          assert.equal(listingOf(await send(large.port, '/?limit=1000')).entries.length, 1000);
          assert.equal(listingOf(await send(large.port, '/?limit=1')).cursor, 'more');
          assert.deepEqual(asked, [1000, 1000, 1]);
        } finally {
          await large.stop();
        }
      });

      for (const limit of ['0', '-1', '1001', '1e9', 'all', '1.5', '', '%20', '10x', '1&limit=2']) {
        it(`limit=${limit} is a 400`, async () => assertFailure(await get(`/paged?limit=${limit}`), 400, /limit/));
      }

      for (const path of ['/', '/paged']) {
        for (const cursor of ['', '%20', 'xxx', 'no cursor', '%00', Buffer.from('elsewhere/x').toString('base64url')]) {
          it(`cursor=${cursor}, which no listing of ${path} gave, is a 400`, async () =>
            assertFailure(await get(`${path}?cursor=${encodeURIComponent(cursor)}`), 400, /cursor/));
        }
      }
    });

    describe('refuses', () => {
      before(() => plantAll({ 'there/x.txt': 'x' }));

      for (const path of [
        '/missing',
        '/missing/',
        '/there/missing/deep',
        '/ther',
        '/there/x.txt',
        '/there/x.txt/',
        '/there/x.txt/y',
      ]) {
        it(`${path} is no folder: 404, as the path and as ?prefix=`, async () => {
          assertFailure(await get(path), 404, new RegExp(`There is no folder "${path.slice(1).replace(/\/$/, '')}/"`));
          assertFailure(await get(`/?prefix=${path.slice(1)}`), 404, /There is no folder/);
        });
      }

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
        it(`/${shown} is a 400 that names the rule`, async () => assertFailure(await get(`/${escaped}`), 400, error));
        it(`?prefix=${shown} is a 400 that names the rule`, async () =>
          assertFailure(await get(`/?prefix=${escaped}`), 400, error));
      }

      for (const path of ['/100%', '/%zz', '/there/%2']) {
        it(`${path} has a % that begins no escape: 400`, async () =>
          assertFailure(await get(path), 400, /percent escape/));
      }
    });
  });
}

type Listed =
  | { readonly type: 'folder'; readonly name: string; readonly path: string }
  | {
      readonly type: 'file';
      readonly name: string;
      readonly path: string;
      readonly size: number;
      readonly modified: string | null;
      readonly contentType: string;
      readonly etag: string;
    };

interface ListingAnswer {
  readonly success: boolean;
  readonly prefix: string;
  readonly entries: readonly Listed[];
  readonly cursor?: string;
}

function listingOf(answer: Answer): ListingAnswer {
  assert.equal(answer.status, 200, answer.body.toString());
  return jsonOf(answer) as unknown as ListingAnswer;
}

const pathsOf = (answer: Answer) => listingOf(answer).entries.map((entry) => entry.path);

const byBytes = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));

/** Every path on the pages from the first to the last. */
async function follow(
  get: (query: string) => Promise<Answer>,
  limit: number,
): Promise<{ paths: string[]; pages: number }> {
  const paths: string[] = [];
  let query = `limit=${limit}`;
  for (let pages = 1; ; pages++) {
    const { entries, cursor } = listingOf(await get(query));
    assert.ok(entries.length <= limit);
    paths.push(...entries.map((entry) => entry.path));
    if (cursor === undefined) return { paths, pages };
    query = `limit=${limit}&cursor=${encodeURIComponent(cursor)}`;
  }
}
