import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CreateMultipartUploadCommand } from '@aws-sdk/client-s3';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { encodeCursor } from '../../src/model/page.ts';
import { ROOT } from '../../src/model/path.ts';
import type { Entry } from '../../src/model/store.ts';
import { openFakeBucket } from '../../testing/servers/fake-bucket.ts';
import { put, transfersOf } from '../../testing/servers/objects.ts';
import { openProxied, type ProxiedBucket } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, type Interceptor, type OwnResponse, type S3Request } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind, pathsIn, plant, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

/** One page of a ListObjectsV2 response. */
interface Page {
  readonly keys?: readonly string[];
  readonly prefixes?: readonly string[];
  readonly isTruncated?: boolean;
  readonly token?: string;
}

function pageResponse({ keys = [], prefixes = [], isTruncated = false, token }: Page): OwnResponse {
  const contents = keys.map(
    (key) =>
      `<Contents><Key>${key}</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified><ETag>&quot;e&quot;</ETag><Size>1</Size></Contents>`,
  );
  const common = prefixes.map((prefix) => `<CommonPrefixes><Prefix>${prefix}</Prefix></CommonPrefixes>`);
  const next = token === undefined ? '' : `<NextContinuationToken>${token}</NextContinuationToken>`;
  const body = `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}${common.join('')}</ListBucketResult>`;
  return { status: 200, body };
}

/** Returns these pages in order for any continuation, by token or by key, and then the last page forever. */
function scripted(pages: readonly Page[]): (request: S3Request) => OwnResponse {
  let requests = 0;
  return () => {
    assert.ok(requests < 50, 'The listing does not end.');
    return pageResponse(pages[Math.min(requests++, pages.length - 1)] ?? {});
  };
}

/** Nonconforming listings that stores send, and the paths that must be found. */
const NONCONFORMING: Record<string, { pages: Page[]; paths: string[] }> = {
  'a common prefix on several pages': {
    pages: [
      { keys: ['a'], prefixes: ['b/'], isTruncated: true, token: '1' },
      { keys: ['c'], prefixes: ['b/', 'd/'], isTruncated: true, token: '2' },
      { keys: ['e'], prefixes: ['b/', 'd/'] },
    ],
    paths: ['a', 'b/', 'c', 'd/', 'e'],
  },
  'a duplicate key and common prefix on one page': {
    pages: [{ keys: ['a', 'a', 'c'], prefixes: ['b/', 'b/'] }],
    paths: ['a', 'b/', 'c'],
  },
  'a key on two pages': {
    pages: [{ keys: ['a', 'b'], isTruncated: true, token: '1' }, { keys: ['b', 'c'] }],
    paths: ['a', 'b', 'c'],
  },
  'IsTruncated without a token': {
    pages: [{ keys: ['a'], prefixes: ['b/'], isTruncated: true }, { keys: ['c'], isTruncated: true }, { keys: ['d'] }],
    paths: ['a', 'b/', 'c', 'd'],
  },
  'IsTruncated without a token and the same page forever': {
    pages: [{ keys: ['a', 'b'], isTruncated: true }],
    paths: ['a', 'b'],
  },
  'the same token on each page': {
    pages: [
      { keys: ['a'], isTruncated: true, token: 'same' },
      { keys: ['b'], isTruncated: true, token: 'same' },
    ],
    paths: ['a', 'b'],
  },
  'the same page and token forever': {
    pages: [{ keys: ['a'], isTruncated: true, token: 'same' }],
    paths: ['a'],
  },
  'empty pages with a token': {
    pages: [
      { isTruncated: true, token: '1' },
      { isTruncated: true, token: '2' },
      { isTruncated: true, token: '3' },
      { isTruncated: true, token: '4' },
      { isTruncated: true, token: '5' },
      { keys: ['a'], isTruncated: true, token: '6' },
      { isTruncated: true, token: '7' },
      { keys: ['b'] },
    ],
    paths: ['a', 'b'],
  },
  'a token on the last page': { pages: [{ keys: ['a'], token: '1' }], paths: ['a'] },
  'empty truncated pages without a token': { pages: [{ isTruncated: true }], paths: [] },
};

describe('A listing from a nonconforming store', () => {
  for (const [name, { pages, paths }] of Object.entries(NONCONFORMING)) {
    it(`returns each path once, despite ${name}`, async (t) => {
      const { store, proxy } = await openFakeBucket(t, scripted(pages));
      assert.deepEqual(await pathsIn(store, ''), paths);
      if (store.walk === undefined) assert.fail('The S3 store has no walk.');
      proxy.intercept(scripted(pages.map((page) => ({ ...page, prefixes: [] }))));
      const walked: string[] = [];
      for await (const { path } of store.walk(folder(''))) walked.push(path);
      assert.deepEqual(
        walked,
        paths.filter((path) => !path.endsWith('/')),
      );
    });
  }

  it('continues with start-after, after the last key or common prefix, if there is no token', async (t) => {
    const { store, proxy } = await openProxied(t);
    proxy.intercept(
      scripted([{ keys: ['b'], prefixes: ['c/'], isTruncated: true }, { keys: ['d'], isTruncated: true }, {}]),
    );
    await pathsIn(store, '');
    const starts = proxy.requests.map(({ query }) => query.get('start-after'));
    assert.equal(starts[0], null);
    assert.ok(starts[1] !== null && starts[1] !== undefined && starts[1].startsWith('c/') && starts[1] > 'c/zzzz');
    assert.equal(starts[2], 'd');
  });

  it('continues with start-after on the real store and returns every entry once', async (t) => {
    const { store, proxy } = await openProxied(t);
    const tree = { 'a/1': '', 'a/2': '', 'a\u{ffff}': '', b: '', 'c/d/e': '', '\u{ffff}': '', '\u{10ffff}': '' };
    await plant(store, tree);
    const whole = await pathsIn(store, '');
    assert.equal(whole.length, 6);
    // Removes the continuation tokens.
    proxy.intercept(() => ({
      rewrite: (body) => body.replace(/<NextContinuationToken>[^<]*<\/NextContinuationToken>/, ''),
    }));
    for (const limit of [1, 2, 3]) assert.deepEqual(await pathsIn(store, '', limit), whole);
  });

  it('continues after a folder marker with the keys in that folder, if there is no token', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { 'a/b/': null, 'a/b/c': '' });
    // The first page ends with the folder marker.
    proxy.intercept(({ query }) => {
      const isFirst = query.get('list-type') === '2' && query.get('max-keys') === '1000' && !query.has('start-after');
      return isFirst ? pageResponse({ keys: ['a/', 'a/b/'], isTruncated: true }) : undefined;
    });
    await store.removeTree?.(folder('a'));
    assert.deepEqual(await bucket.keys(), []);
  });

  it('that is unsorted fails a folder copy or move, and suffices to delete a folder', async (t) => {
    const withinPage = [{ keys: ['f/b', 'f/a'] }];
    const acrossPages = (query: URLSearchParams) =>
      query.get('continuation-token') === '1'
        ? pageResponse({ keys: ['f/a'] })
        : pageResponse({ keys: ['f/b'], isTruncated: true, token: '1' });
    const interceptors: Interceptor[] = [
      (request) => (request.query.get('prefix') === 'f/' ? scripted(withinPage)(request) : undefined),
      ({ query }) => (query.get('prefix') === 'f/' ? acrossPages(query) : undefined),
    ];
    for (const interceptor of interceptors) {
      const { store, proxy, bucket } = await openProxied(t);
      await plant(store, { 'f/a': '1', 'f/b': '2', 'g/a': '3' });
      proxy.intercept(interceptor);
      for (const transfer of [store.copyFolder, store.moveFolder]) {
        await assert.rejects(
          async () => transfer?.(folder('f'), folder('g'), { replace: true }),
          ofKind('unsupported'),
        );
      }
      assert.deepEqual(await bucket.keys(), ['f/a', 'f/b', 'g/a']);
      await store.removeTree?.(folder('f'));
      assert.deepEqual(await bucket.keys(), ['g/a']);
    }
  });

  it('fails as invalid-cursor if the store rejects the token of the cursor', async (t) => {
    const { store, proxy } = await openProxied(t);
    proxy.intercept(() => pageResponse({ keys: ['a'], isTruncated: true, token: '1' }));
    const { cursor } = await store.list(folder(''), { limit: 1 });
    assert.ok(cursor !== undefined);
    for (const [status, code] of [
      [400, 'InvalidArgument'],
      [400, 'InvalidRequest'],
      [414, ''],
      [431, ''],
    ] as const) {
      proxy.intercept(() => errorResponse(status, code));
      await assert.rejects(store.list(folder(''), { cursor }), { code: 'invalid-cursor' });
    }
    // The cursor did not cause these errors.
    for (const status of [403, 407, 500]) {
      proxy.intercept(() => errorResponse(status, 'Other'));
      await assert.rejects(
        store.list(folder(''), { cursor }),
        ({ code }: { code: string }) => code !== 'invalid-cursor',
      );
    }
    proxy.intercept(() => errorResponse(400, 'InvalidArgument'));
    await assert.rejects(store.list(folder('')), { code: 'unexpected-store-response' });
  });

  it('fails as invalid-cursor for a forged token that leads to other keys', async (t) => {
    const { store, proxy } = await openProxied(t);
    proxy.intercept(() => pageResponse({ keys: ['g/secret'] }));
    const forged = encodeCursor({ last: 'f/a', token: 'of another folder' });
    await assert.rejects(store.list(folder('f'), { cursor: forged }), { code: 'invalid-cursor' });
    await assert.rejects(store.list(folder('f')), { code: 'unexpected-store-response' });
  });

  it('fails as invalid-cursor for a forged cursor that is too long for the store', async (t) => {
    const { store } = await openProxied(t);
    await plant(store, { a: '1' });
    const long = 'é'.repeat(4500);
    for (const cursor of [encodeCursor({ last: 'a', token: long }), encodeCursor({ last: long })]) {
      await assert.rejects(store.list(folder(''), { cursor }), { code: 'invalid-cursor' });
    }
    assert.deepEqual(await pathsIn(store, ''), ['a']);
  });

  it('returns full pages although the store counts the folder marker', async (t) => {
    const { store } = await openProxied(t);
    await plant(store, { 'a/': null, 'a/1': '', 'a/2': '', 'a/3': '' });
    const page = await store.list(folder('a'), { limit: 2 });
    assert.deepEqual(namesOf(page.entries), ['a/1', 'a/2']);
    assert.equal((await store.list(folder('a'), { limit: 3 })).cursor, undefined);
  });
});

const namesOf = (entries: readonly Entry[]) => entries.map(({ path }) => path);

/** Keys below `f/` that are not valid paths. */
const INVALID_KEYS = [
  'f//b',
  'f/../b',
  'f/./b',
  'f/..',
  'f/line\nfeed',
  'f/tab\tand\u0001',
  'f/delete\u007f',
  'f/return\r',
  'f/bell\u0007/in a folder',
];

async function putAll(opened: ProxiedBucket, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await put(opened, key, key);
}

describe('Keys that are not valid paths', () => {
  it('are omitted from listings, with one warning for each listing', async (t) => {
    const opened = await openProxied(t);
    const { store, warnings } = opened;
    await putAll(opened, 'f/good', ...INVALID_KEYS);
    assert.deepEqual(await pathsIn(store, 'f'), ['f/good']);
    assert.deepEqual(
      warnings.map(({ details }) => details),
      [{ folder: 'f/', omitted: INVALID_KEYS.length }],
    );
    if (store.walk === undefined) assert.fail('The S3 store has no walk.');
    const walked: Entry[] = [];
    for await (const entry of store.walk(folder('f'))) walked.push(entry);
    assert.deepEqual(namesOf(walked), ['f/good']);
    assert.equal(warnings.length, 2);
    for (const limit of [1, 2, 3]) assert.deepEqual(await pathsIn(store, 'f', limit), ['f/good']);
  });

  it('are omitted if they start with a slash or have an empty segment', async (t) => {
    const opened = await openProxied(t);
    await putAll(opened, '/x', 'a//b', 'good');
    assert.deepEqual(await pathsIn(opened.store, ''), ['a/', 'good']);
    assert.deepEqual(
      opened.warnings.map(({ details }) => details),
      [{ folder: '', omitted: 1 }],
    );
    assert.deepEqual(await pathsIn(opened.store, 'a'), []);
  });

  it('are omitted if they are longer than 1,024 bytes or invalid UTF-8', async (t) => {
    const { store, proxy, warnings } = await openProxied(t);
    proxy.intercept(() => pageResponse({ keys: ['a', 'b'.repeat(1025), 'c%FF', 'd'], prefixes: ['e%C3/', 'f/'] }));
    assert.deepEqual(await pathsIn(store, ''), ['a', 'd', 'f/']);
    assert.deepEqual(
      warnings.map(({ details }) => details),
      [{ folder: '', omitted: 3 }],
    );
    assert.deepEqual((await store.list(ROOT)).omitted, ['c%FF', 'e%C3/', 'b'.repeat(1025)]);
  });

  it('keep their folder in existence, so it can be removed', async (t) => {
    const opened = await openProxied(t);
    const { store, bucket } = opened;
    await putAll(opened, ...INVALID_KEYS);
    assert.deepEqual(await pathsIn(store, 'f'), []);
    await assert.rejects(store.removeFolder(folder('f')), ofKind('already-exists'));
    await store.removeTree?.(folder('f'));
    assert.deepEqual(await bucket.keys(), []);
    await assert.rejects(store.list(folder('f')), ofKind('not-found'));
  });

  it('prevent copies, moves and the trash before any change if they are not UTF-8', async (t) => {
    const { store, proxy } = await openProxied(t);
    await plant(store, { 'f/a': 'a' });
    proxy.intercept(({ operation, query }) =>
      operation === 'ListObjectsV2' && query.get('prefix') === 'f/'
        ? pageResponse({ keys: ['f/a', 'f/caf%E9'] })
        : undefined,
    );
    const { copyFolder, moveFolder } = transfersOf(store);
    const moveToTrash = () => store.moveToTrash?.(folder('f'), { id: newKeptId() }) ?? assert.fail();
    for (const transfer of [copyFolder, moveFolder, moveToTrash]) {
      await assert.rejects(transfer(folder('f'), folder('g'), { replace: false }), {
        code: 'invalid-path',
        message: /^The key "f\/caf%E9" is not UTF-8/,
      });
    }
    proxy.intercept(undefined);
    assert.deepEqual(await treeOf(store), { 'f/': null, 'f/a': 'a' });
  });

  it('are moved, copied and removed with their folder', async (t) => {
    const opened = await openProxied(t);
    const { store, bucket } = opened;
    const keys = ['f/good', 'f/sub/', ...INVALID_KEYS];
    await putAll(opened, 'fx', ...keys);
    await store.moveFolder?.(folder('f'), folder('to/g'), { replace: false });
    const moved = keys.map((key) => key.replace('f/', 'to/g/'));
    assert.deepEqual(new Set(await bucket.keys()), new Set(['fx', ...moved]));
    await store.copyFolder?.(folder('to/g'), folder('h'), { replace: false });
    const copied = keys.map((key) => key.replace('f/', 'h/'));
    assert.deepEqual(new Set(await bucket.keys()), new Set(['fx', ...moved, ...copied]));
    assert.equal(await textOf(store, 'h/good'), 'f/good');
    await store.removeTree?.(folder('to'));
    assert.deepEqual(new Set(await bucket.keys()), new Set(['fx', ...copied]));
  });
});

it('A multipart upload in progress is not listed as a folder', async (t) => {
  const { store, bucket } = await openProxied(t);
  await bucket.client.send(new CreateMultipartUploadCommand({ Bucket: bucket.name, Key: 'begun/file' }));
  await store.write(file('a'), upload('text'));
  assert.deepEqual(await pathsIn(store, ''), ['a']);
  await assert.rejects(store.list(folder('begun')), ofKind('not-found'));
});
