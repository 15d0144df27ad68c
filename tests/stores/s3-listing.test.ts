import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CreateMultipartUploadCommand } from '@aws-sdk/client-s3';
import type { Entry } from '../../src/domain/store.ts';
import { file, folder, ofKind, pathsIn, plant, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { put } from '../servers/objects.ts';
import { openProxied, type ProxiedBucket } from '../servers/proxied-bucket.ts';
import { type Interceptor, type OwnAnswer, refusal, type S3Request } from '../servers/s3-proxy.ts';

export const needs: readonly Need[] = ['bucket'];

/** One page as a store may answer it. */
interface Page {
  readonly keys?: readonly string[];
  readonly prefixes?: readonly string[];
  readonly isTruncated?: boolean;
  readonly token?: string;
}

function answerOf({ keys = [], prefixes = [], isTruncated = false, token }: Page): OwnAnswer {
  const contents = keys.map(
    (key) =>
      `<Contents><Key>${key}</Key><LastModified>2026-01-02T03:04:05.678Z</LastModified><ETag>&quot;e&quot;</ETag><Size>1</Size></Contents>`,
  );
  const common = prefixes.map((prefix) => `<CommonPrefixes><Prefix>${prefix}</Prefix></CommonPrefixes>`);
  const next = token === undefined ? '' : `<NextContinuationToken>${token}</NextContinuationToken>`;
  const body = `<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}${common.join('')}</ListBucketResult>`;
  return { status: 200, body };
}

/** A store that gives these pages to whoever asks for more, by token or by key, and the last one for ever. */
function scripted(pages: readonly Page[]): { answer: (request: S3Request) => OwnAnswer; asked(): number } {
  let asked = 0;
  const answer = () => {
    assert.ok(asked < 50, 'The listing goes round in circles.');
    return answerOf(pages[Math.min(asked++, pages.length - 1)] ?? {});
  };
  return { answer, asked: () => asked };
}

/** Each liberty that stores take, and what is to be found all the same. */
const LIBERTIES: Record<string, { pages: Page[]; paths: string[] }> = {
  'a folder on two pages': {
    pages: [
      { keys: ['a'], prefixes: ['b/'], isTruncated: true, token: '1' },
      { keys: ['c'], prefixes: ['b/', 'd/'], isTruncated: true, token: '2' },
      { keys: ['e'], prefixes: ['b/', 'd/'] },
    ],
    paths: ['a', 'b/', 'c', 'd/', 'e'],
  },
  'a key and a folder twice on one page': {
    pages: [{ keys: ['a', 'a', 'c'], prefixes: ['b/', 'b/'] }],
    paths: ['a', 'b/', 'c'],
  },
  'a key on two pages': {
    pages: [{ keys: ['a', 'b'], isTruncated: true, token: '1' }, { keys: ['b', 'c'] }],
    paths: ['a', 'b', 'c'],
  },
  'more without a token': {
    pages: [{ keys: ['a'], prefixes: ['b/'], isTruncated: true }, { keys: ['c'], isTruncated: true }, { keys: ['d'] }],
    paths: ['a', 'b/', 'c', 'd'],
  },
  'more without a token, and the same page again and again': {
    pages: [{ keys: ['a', 'b'], isTruncated: true }],
    paths: ['a', 'b'],
  },
  'the same token again and again': {
    pages: [
      { keys: ['a'], isTruncated: true, token: 'same' },
      { keys: ['b'], isTruncated: true, token: 'same' },
    ],
    paths: ['a', 'b'],
  },
  'the same page with ever the same token': {
    pages: [{ keys: ['a'], isTruncated: true, token: 'same' }],
    paths: ['a'],
  },
  'a page of nothing with a token': {
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
  'a token where there is no more': { pages: [{ keys: ['a'], token: '1' }], paths: ['a'] },
  'nothing at all, and yet more': { pages: [{ isTruncated: true }], paths: [] },
};

describe('Listings of a store that takes liberties', () => {
  for (const [name, { pages, paths }] of Object.entries(LIBERTIES)) {
    it(name, async (t) => {
      const { store, proxy } = await openProxied(t);
      proxy.intercept(scripted(pages).answer);
      assert.deepEqual(await pathsIn(store, ''), paths);
      if (store.walk === undefined) assert.fail('Buckets can be walked.');
      proxy.intercept(scripted(pages.map((page) => ({ ...page, prefixes: [] }))).answer);
      const walked: string[] = [];
      for await (const { path } of store.walk(folder(''))) walked.push(path);
      assert.deepEqual(
        walked,
        paths.filter((path) => !path.endsWith('/')),
      );
    });
  }

  it('goes on behind the last key, past a folder as a whole, where there is no token', async (t) => {
    const { store, proxy } = await openProxied(t);
    proxy.intercept(
      scripted([{ keys: ['b'], prefixes: ['c/'], isTruncated: true }, { keys: ['d'], isTruncated: true }, {}]).answer,
    );
    await pathsIn(store, '');
    const starts = proxy.requests.map(({ query }) => query.get('start-after'));
    assert.equal(starts[0], null);
    assert.ok(starts[1] !== null && starts[1] !== undefined && starts[1].startsWith('c/') && starts[1] > 'c/zzzz');
    assert.equal(starts[2], 'd');
  });

  it('asks the real store on in the same way, and gets every entry once', async (t) => {
    const { store, proxy } = await openProxied(t);
    const tree = { 'a/1': '', 'a/2': '', 'a\u{ffff}': '', b: '', 'c/d/e': '', '\u{ffff}': '', '\u{10ffff}': '' };
    await plant(store, tree);
    const whole = await pathsIn(store, '');
    assert.equal(whole.length, 6);
    // The store's tokens are kept from the client.
    proxy.intercept(() => ({
      rewrite: (body) => body.replace(/<NextContinuationToken>[^<]*<\/NextContinuationToken>/, ''),
    }));
    for (const limit of [1, 2, 3]) assert.deepEqual(await pathsIn(store, '', limit), whole);
  });

  it('goes on behind a folder that is an object, into what is in that, where there is no token', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { 'a/b/': null, 'a/b/c': '' });
    // The first page ends with the folder.
    proxy.intercept(({ query }) => {
      const isFirst = query.get('list-type') === '2' && query.get('max-keys') === '1000' && !query.has('start-after');
      return isFirst ? answerOf({ keys: ['a/', 'a/b/'], isTruncated: true }) : undefined;
    });
    await store.removeTree?.(folder('a'));
    assert.deepEqual(await bucket.keys(), []);
  });

  it('without order is refused for the copy and move of a folder, and suffices to delete one', async (t) => {
    const withinPage = [{ keys: ['f/b', 'f/a'] }];
    const acrossPages = (query: URLSearchParams) =>
      query.get('continuation-token') === '1'
        ? answerOf({ keys: ['f/a'] })
        : answerOf({ keys: ['f/b'], isTruncated: true, token: '1' });
    const interceptors: Interceptor[] = [
      (request) => (request.query.get('prefix') === 'f/' ? scripted(withinPage).answer(request) : undefined),
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

  it('says that a cursor is none where the store refuses its token', async (t) => {
    const { store, proxy } = await openProxied(t);
    proxy.intercept(() => answerOf({ keys: ['a'], isTruncated: true, token: '1' }));
    const { cursor } = await store.list(folder(''), { limit: 1 });
    assert.ok(cursor !== undefined);
    proxy.intercept(() => refusal(400, 'InvalidArgument'));
    await assert.rejects(store.list(folder(''), { cursor }), ofKind('invalid-request'));
  });

  it('gives as much on a page as is asked for, though the marker of the folder counts at the store', async (t) => {
    const { store } = await openProxied(t);
    await plant(store, { 'a/': null, 'a/1': '', 'a/2': '', 'a/3': '' });
    const page = await store.list(folder('a'), { limit: 2 });
    assert.deepEqual(namesOf(page.entries), ['a/1', 'a/2']);
    assert.equal((await store.list(folder('a'), { limit: 3 })).cursor, undefined);
  });
});

const namesOf = (entries: readonly Entry[]) => entries.map(({ path }) => path);

/** Keys that no path can name, below `f/`, and how they come into a listing of `f/`. */
const UNNAMEABLE = [
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

describe('Keys that no path can name', () => {
  it('are left out of listings and told in one warning', async (t) => {
    const opened = await openProxied(t);
    const { store, warnings } = opened;
    await putAll(opened, 'f/good', ...UNNAMEABLE);
    assert.deepEqual(await pathsIn(store, 'f'), ['f/good']);
    assert.deepEqual(
      warnings.map(({ details }) => details),
      [{ folder: 'f/', leftOut: UNNAMEABLE.length }],
    );
    if (store.walk === undefined) assert.fail('Buckets can be walked.');
    const walked: Entry[] = [];
    for await (const entry of store.walk(folder('f'))) walked.push(entry);
    assert.deepEqual(namesOf(walked), ['f/good']);
    assert.equal(warnings.length, 2);
    for (const limit of [1, 2, 3]) assert.deepEqual(await pathsIn(store, 'f', limit), ['f/good']);
  });

  it('are left out of the root: a key that begins with a slash, and one that is a slash', async (t) => {
    const opened = await openProxied(t);
    await putAll(opened, '/x', 'a//b', 'good');
    assert.deepEqual(await pathsIn(opened.store, ''), ['a/', 'good']);
    assert.deepEqual(
      opened.warnings.map(({ details }) => details),
      [{ folder: '', leftOut: 1 }],
    );
    assert.deepEqual(await pathsIn(opened.store, 'a'), []);
  });

  it('are left out where a store has longer keys, or such as are not UTF-8', async (t) => {
    const { store, proxy, warnings } = await openProxied(t);
    proxy.intercept(() => answerOf({ keys: ['a', 'b'.repeat(1025), 'c%FF', 'd'], prefixes: ['e%C3/', 'f/'] }));
    assert.deepEqual(await pathsIn(store, ''), ['a', 'd', 'f/']);
    assert.deepEqual(
      warnings.map(({ details }) => details),
      [{ folder: '', leftOut: 3 }],
    );
  });

  it('leave the folder that holds nothing else there, so that it can be removed', async (t) => {
    const opened = await openProxied(t);
    const { store, bucket } = opened;
    await putAll(opened, ...UNNAMEABLE);
    assert.deepEqual(await pathsIn(store, 'f'), []);
    await assert.rejects(store.removeFolder(folder('f')), ofKind('already-exists'));
    await store.removeTree?.(folder('f'));
    assert.deepEqual(await bucket.keys(), []);
    await assert.rejects(store.list(folder('f')), ofKind('not-found'));
  });

  it('go with their folder when it is moved, copied and removed', async (t) => {
    const opened = await openProxied(t);
    const { store, bucket } = opened;
    const keys = ['f/good', 'f/sub/', ...UNNAMEABLE];
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

it('An upload in parts that goes on makes no folder', async (t) => {
  const { store, bucket } = await openProxied(t);
  await bucket.client.send(new CreateMultipartUploadCommand({ Bucket: bucket.name, Key: 'begun/file' }));
  await store.write(file('a'), upload('text'));
  assert.deepEqual(await pathsIn(store, ''), ['a']);
  await assert.rejects(store.list(folder('begun')), ofKind('not-found'));
});
