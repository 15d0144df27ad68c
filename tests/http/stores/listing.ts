import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import { assertFailure, escapePath, type HttpResponse, jsonOf, plant, send, upload } from '../client.ts';
import { served } from '../service.ts';

/** `GET /` and `GET /{path}`. */
export function listingSuite(): void {
  describe('Listing', () => {
    const service = served(memory);
    const get = (path: string, headers?: Record<string, string>) => send(service.port, path, { headers });
    const plantAll = (tree: Record<string, string | null>) => plant(service.port, tree);

    describe('of the root folder', () => {
      it('returns an empty list for an empty root', async () => {
        await service.empty();
        const empty = { success: true, prefix: '', entries: [] };
        for (const path of ['/', '/?prefix=', '/?prefix=/', '/?prefix=%2F', '/?limit=1']) {
          assert.deepEqual(listingOf(await get(path)), empty);
        }
        await upload(service.port, 'one.txt', 'x');
        assert.deepEqual(pathsOf(await get('/')), ['one.txt']);
      });
    });

    describe('has the documented fields', () => {
      it('returns name, path, size, time, type and etag of files, and name and path of folders', async () => {
        const started = Date.now();
        await plantAll({ 'shape/a folder/deep/x.txt': 'x' });
        const { headers } = await upload(service.port, 'shape/cat.jpg', 'not really');
        const response = listingOf(await get('/shape'));
        const [folder, cat] = response.entries;
        assert.deepEqual(Object.keys(response), ['success', 'prefix', 'entries']);
        assert.deepEqual([response.success, response.prefix, response.entries.length], [true, 'shape/', 2]);
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
        assert.match(String(modified), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        // Some stores count whole seconds, and file system clocks lag slightly.
        const time = Date.parse(String(modified));
        assert.ok(time >= started - 2000 && time <= Date.now() + 2000, String(modified));
      });

      it('lists only children, and nothing of a folder with the same name prefix', async () => {
        await plantAll({ 'alike/a/x': '', 'alike/a/b/c/y': '', 'alike/ab/z': '', 'alike/a.txt': '' });
        assert.deepEqual(pathsOf(await get('/alike/a')), ['alike/a/b/', 'alike/a/x']);
        assert.deepEqual(pathsOf(await get('/alike')), ['alike/a.txt', 'alike/a/', 'alike/ab/']);
      });

      it('lists a new folder at once, in its parent and as an empty list without a marker', async () => {
        await plantAll({ 'created/deep/': null });
        assert.deepEqual(pathsOf(await get('/created')), ['created/deep/']);
        assert.deepEqual(listingOf(await get('/created/deep')), {
          success: true,
          prefix: 'created/deep/',
          entries: [],
        });
      });
    });

    it('returns only the named entries with ?name=', async () => {
      await plantAll({ 'named/a b.txt': 'x', 'named/sub/x.txt': 'x', 'named/z.txt': 'zz' });
      const all = listingOf(await get('/named')).entries;
      const many = await get(`/named?${'name=x&'.repeat(101)}`);
      assertFailure(many, 400, 'The query has "name" more than 100 times.');
      const named = listingOf(await get('/named?name=z.txt&name=sub/&name=no.txt&name=a%20b.txt')).entries;
      assert.deepEqual(named, all.toReversed());
    });

    describe('of a folder in the path or in ?prefix=', () => {
      it('lists folders of every name, in the path and in ?prefix=', async () => {
        const list = async (name: string) => {
          const path = `folders/${name}/x.txt`;
          await upload(service.port, path, 'x');
          const folder = `folders/${name}`;
          for (const url of [`/${escapePath(folder)}`, `/?prefix=${encodeURIComponent(folder)}`]) {
            const response = listingOf(await get(url));
            assert.equal(response.prefix, `${folder}/`);
            assert.deepEqual(
              response.entries.map((entry) => [entry.name, entry.path]),
              [['x.txt', path]],
            );
          }
        };
        await Promise.all(NAMES.map(list));
        assert.deepEqual(
          listingOf(await get('/folders')).entries.map(({ name }) => name),
          NAMES.map((name) => `${name}/`)
            .toSorted(byBytes)
            .map((name) => name.slice(0, -1)),
        );
      });
    });

    describe('is sorted by UTF-8 bytes and paginated', () => {
      const names = [...NAMES, 'a', 'a-b', 'a.txt', 'ab', 'b!/', 'b', 'b+b/', 'b.b/', 'b0', 'B', 'zz/', 'z'];
      const sorted = names.map((name) => `paged/${name}`).toSorted(byBytes);
      before(() =>
        plantAll(Object.fromEntries(names.map((name) => [`paged/${name}`, name.endsWith('/') ? null : 'x']))),
      );

      it('compares folders with their slash, and characters by code point', async () => {
        assert.deepEqual(pathsOf(await get('/paged')), sorted);
      });

      for (const limit of [1, 3, sorted.length - 1]) {
        it(`pages of ${limit} return every entry once, in the same order`, async () => {
          const { paths, pages } = await follow((query) => get(`/paged?${query}`), limit);
          assert.deepEqual(paths, sorted);
          assert.ok(pages >= sorted.length / limit);
          const byPrefix = await follow((query) => get(`/?prefix=paged&${query}`), limit);
          assert.deepEqual(byPrefix.paths, sorted);
        });
      }

      it('returns no cursor with the last page', async () => {
        for (const limit of [sorted.length, sorted.length + 1, 1000]) {
          const response = listingOf(await get(`/paged?limit=${limit}`));
          assert.equal(response.entries.length, sorted.length);
          assert.equal('cursor' in response, false);
        }
      });

      it('continues after the last entry when files change between two pages', async () => {
        await plantAll({ 'shifting/b': '', 'shifting/d': '', 'shifting/f': '' });
        const { cursor } = listingOf(await get('/shifting?limit=2'));
        await send(service.port, '/delete/shifting/b', { method: 'DELETE' });
        await upload(service.port, 'shifting/a', '');
        await upload(service.port, 'shifting/e', '');
        const rest = await get(`/shifting?limit=2&cursor=${encodeURIComponent(String(cursor))}`);
        assert.deepEqual(pathsOf(rest), ['shifting/e', 'shifting/f']);
      });

      for (const path of ['/', '/paged']) {
        for (const cursor of ['', '%20', 'xxx', 'no cursor', '%00', Buffer.from('elsewhere/x').toString('base64url')]) {
          it(`cursor=${cursor} that no listing of ${path} returned is a 400 error`, async () =>
            assertFailure(await get(`${path}?cursor=${encodeURIComponent(cursor)}`), 400, /cursor/));
        }
      }
    });

    describe('returns 404', () => {
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
        it(`${path} returns 404, as the path and as ?prefix=`, async () => {
          assertFailure(
            await get(path),
            404,
            new RegExp(`The folder "${path.slice(1).replace(/\/$/, '')}/" does not exist`),
          );
          assertFailure(await get(`/?prefix=${path.slice(1)}`), 404, /The folder .* does not exist/);
        });
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

interface ListingResponse {
  readonly success: boolean;
  readonly prefix: string;
  readonly entries: readonly Listed[];
  readonly cursor?: string;
}

function listingOf(response: HttpResponse): ListingResponse {
  assert.equal(response.status, 200, response.body.toString());
  return jsonOf(response) as unknown as ListingResponse;
}

const pathsOf = (response: HttpResponse) => listingOf(response).entries.map((entry) => entry.path);

const byBytes = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));

/** Returns all paths on the pages from the first to the last. */
async function follow(
  get: (query: string) => Promise<HttpResponse>,
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
