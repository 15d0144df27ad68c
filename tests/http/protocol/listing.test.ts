import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Entry } from '../../../src/model/store.ts';
import { memory } from '../../contract/backend.ts';
import { file } from '../../contract/bytes.ts';
import { assertFailure, type HttpResponse, jsonOf, plant, send } from '../client.ts';
import { startService, type TestService } from '../service.ts';

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

describe('listing', () => {
  let port: number;
  let service: TestService;

  before(async () => {
    service = await startService(memory);
    ({ port } = service);
  });
  after(() => service.stop());

  const get = (path: string, headers?: Record<string, string>) => send(port, path, { headers });
  const plantAll = (tree: Record<string, string | null>) => plant(port, tree);

  for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/html;q=0.5']) {
    it(`Accept: ${accept ?? '(none)'} returns JSON`, async () => {
      const response = await get('/', accept === undefined ? {} : { accept });
      assert.equal(response.status, 200);
      assert.equal(response.headers['content-type'], 'application/json; charset=utf-8');
      assert.equal(jsonOf(response)['success'], true);
    });
  }

  it('HEAD returns the headers of GET', async () => {
    const [head, whole] = [await send(port, '/', { method: 'HEAD' }), await get('/')];
    assert.equal(head.status, 200);
    assert.equal(head.body.length, 0);
    assert.equal(head.headers['content-type'], whole.headers['content-type']);
    assert.equal(head.headers['content-length'], String(whole.body.length));
  });

  describe('of the folder in the path or in ?prefix=', () => {
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
      it(`${path} names two folders and returns 400`, async () => {
        const [first, second] = path.slice(1).split('?prefix=');
        const response = await get(path);
        assertFailure(response, 400, new RegExp(`"${first?.replace('/', '')}/".*"${decodeURIComponent(second ?? '')}`));
      });
    }

    it('returns 400 for a repeated ?prefix=', async () =>
      assertFailure(await get('/?prefix=named&prefix=other'), 400, /prefix/));

    // The paths of the HTTP API. The first three hide all folders below them.
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
      it(`?prefix= lists the folder ${name}/ and folders below it`, async () => {
        await plantAll({ [`${name}/in/x.txt`]: name });
        assert.deepEqual(pathsOf(await get(`/?prefix=${name}`)), [`${name}/in/`]);
        assert.deepEqual(pathsOf(await get(`/?prefix=${name}/in/`)), [`${name}/in/x.txt`]);
        assert.ok(pathsOf(await get('/')).includes(`${name}/`));
      });
    }
  });

  describe('pages', () => {
    it('has a default limit of 1000', async () => {
      const requested: (number | undefined)[] = [];
      const entryOf = (number: number): Entry => {
        const path = file(`${number + 1000}`);
        return { kind: 'file', path, size: 0, etag: 'x', modified: null, type: 'text/plain' };
      };
      const large = await startService(memory, {
        wrap: (store) => ({
          ...store,
          async list(_folder, { limit } = {}) {
            requested.push(limit);
            return { entries: Array.from({ length: limit ?? 5000 }, (_, number) => entryOf(number)), cursor: 'more' };
          },
        }),
      });
      try {
        assert.equal(listingOf(await send(large.port, '/')).entries.length, 1000);
        assert.equal(listingOf(await send(large.port, '/?limit=1000')).entries.length, 1000);
        assert.equal(listingOf(await send(large.port, '/?limit=1')).cursor, 'more');
        assert.deepEqual(requested, [1000, 1000, 1]);
      } finally {
        await large.stop();
      }
    });

    for (const limit of ['0', '-1', '1001', '1e9', 'all', '1.5', '', '%20', '10x', '1&limit=2']) {
      it(`limit=${limit} returns 400`, async () => assertFailure(await get(`/?limit=${limit}`), 400, /limit/));
    }
  });
});
