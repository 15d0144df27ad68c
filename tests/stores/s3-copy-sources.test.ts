import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { file, folder, ofKind, plant, treeOf } from '../contract/bytes.ts';
import { postJson, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { put, transfersOf } from '../servers/objects.ts';
import { openProxied, type ProxiedBucket, serveProxied } from '../servers/proxied-bucket.ts';
import { type Interceptor, type OwnAnswer, refusal, type S3Request } from '../servers/s3-proxy.ts';

export const needs: readonly Need[] = ['bucket'];

/** The copy source of a request, decoded. */
const sourceOf = ({ headers }: S3Request) => decodeURIComponent(String(headers['x-amz-copy-source'] ?? ''));

/** Returns 404 for a copy source with a character that some stores decode twice or not at all. */
const noOddSources: Interceptor = (request) =>
  request.operation === 'CopyObject' && /[+%&]/.test(sourceOf(request)) ? refusal(404, 'NoSuchKey') : undefined;

/** A source with one plain name and three odd ones, and a destination with an old version and a file of its own. */
const SOURCE = { 'f/100%.txt': 'percent', 'f/a&b': 'ampersand', 'f/a+b': 'plus', 'f/plain': 'plain' };
const DESTINATION = { 'g/old': 'old', 'g/plain': 'older' };

async function plantBoth(opened: ProxiedBucket): Promise<void> {
  for (const [key, text] of Object.entries({ ...SOURCE, ...DESTINATION })) await put(opened, key, text);
}

/** Removes the object with this key from the listings of everything. */
function hideFromLists(key: string): Interceptor {
  const objects = /<Contents>.*?<\/Contents>/gs;
  const rewrite = (body: string) =>
    body.replaceAll(objects, (object) => (decodeURIComponent(object).includes(`<Key>${key}</Key>`) ? '' : object));
  return ({ operation }) => (operation === 'ListObjectsV2' ? { rewrite } : undefined);
}

describe('A store that returns 404 for copy sources that exist', () => {
  async function serve(t: TestContext) {
    const opened = await serveProxied(t);
    await plantBoth(opened);
    opened.proxy.intercept(noOddSources);
    return opened;
  }

  const requests: Readonly<Record<string, (port: number) => Promise<{ status: number; body: Buffer | string }>>> = {
    'a folder copy with overwrite': (port) =>
      postJson(port, '/copy', { source: 'f', destination: 'g', is_folder: true, overwrite: true }),
    'a folder move with overwrite': (port) =>
      postJson(port, '/move', { source: 'f', destination: 'g', is_folder: true, overwrite: true }),
    'a folder copy': (port) => postJson(port, '/copy', { source: 'f', destination: 'new', is_folder: true }),
    'a folder move': (port) => postJson(port, '/move', { source: 'f', destination: 'new', is_folder: true }),
    'a folder rename': (port) => postJson(port, '/rename_folder/f', { newName: 'new' }),
    'a file copy with overwrite': (port) =>
      postJson(port, '/copy', { source: 'f/a+b', destination: 'g/old', is_folder: false, overwrite: true }),
    'a file move with overwrite': (port) =>
      postJson(port, '/move', { source: 'f/a+b', destination: 'g/old', is_folder: false, overwrite: true }),
  };
  for (const [name, request] of Object.entries(requests)) {
    it(`fails ${name}, and removes nothing`, async (t) => {
      const { port, store } = await serve(t);
      const { status, body } = await request(port);
      assert.equal(status, 501, String(body));
      assert.match(String(body), /holdall doctor/);
      const tree = await treeOf(store);
      for (const [key, text] of Object.entries(SOURCE)) assert.equal(tree[key], text, key);
      assert.equal(tree['g/old'], 'old');
    });
  }

  it('skips a source that another client deleted meanwhile', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { 'f/a': 'one', 'f/b': 'two' });
    proxy.intercept(async (request) => {
      if (request.operation === 'CopyObject' && request.key === 'g/b')
        await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: 'f/b' }));
      return undefined;
    });
    await transfersOf(store).moveFolder(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await treeOf(store), { 'g/': null, 'g/a': 'one' });
  });

  it('fails where a source is listed, and every request for it returns 404', async (t) => {
    const opened = await openProxied(t);
    await plantBoth(opened);
    const { store, proxy, bucket } = opened;
    const before = await bucket.keys();
    proxy.intercept((request) =>
      request.key?.includes('+') && request.method === 'HEAD' ? refusal(404, 'NoSuchKey') : noOddSources(request),
    );
    await opened.bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: 'f/100%.txt' }));
    await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: 'f/a&b' }));
    const { copyFolder, moveFolder } = transfersOf(store);
    const left = before.filter((key) => !/[%&]/.test(key));
    for (const transfer of [copyFolder, moveFolder]) {
      await assert.rejects(transfer(folder('f'), folder('g'), { replace: true }), ofKind('unavailable'));
      assert.deepEqual(await bucket.keys(), left);
      await assert.rejects(transfer(folder('f'), folder('new'), { replace: false }), ofKind('unavailable'));
      const kept = (await bucket.keys()).filter((key) => !key.startsWith('new/'));
      assert.deepEqual(kept, left);
    }
  });
});

describe('A store that copies nothing and returns 200', () => {
  it('loses no source in a folder move, and no file at the destination', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await plantBoth(opened);
    const before = await bucket.keys();
    const etag = (await store.stat(file('f/a+b'))).etag;
    const done: OwnAnswer = { status: 200, body: `<CopyObjectResult><ETag>"${etag}"</ETag></CopyObjectResult>` };
    proxy.intercept((request) =>
      request.operation === 'CopyObject' && sourceOf(request).includes('+') ? done : undefined,
    );
    const { copyFolder, moveFolder } = transfersOf(store);
    for (const transfer of [copyFolder, moveFolder]) {
      await assert.rejects(transfer(folder('f'), folder('g'), { replace: true }), ofKind('unavailable'));
      for (const key of before) assert.ok((await bucket.keys()).includes(key), key);
    }
    await assert.rejects(moveFolder(folder('f'), folder('new'), { replace: false }), ofKind('unavailable'));
    for (const key of before) assert.ok((await bucket.keys()).includes(key), key);
  });

  it('loses no source in a file move where it ignores the copy source', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { a: 'text', b: 'old' });
    // A store that knows no CopyObject takes the request for a PutObject without a body.
    proxy.intercept(({ operation }) =>
      operation === 'CopyObject' ? { status: 200, headers: { etag: '"d41d8cd98f00b204e9800998ecf8427e"' } } : undefined,
    );
    await assert.rejects(transfersOf(store).move(file('a'), file('b'), { replace: true }), ofKind('unsupported'));
    assert.deepEqual(await bucket.keys(), ['a', 'b']);
  });
});

describe('A listing that lacks an object', () => {
  it('of the source does not remove its copy at the destination', async (t) => {
    for (const transfer of ['copyFolder', 'moveFolder'] as const) {
      const { store, proxy } = await openProxied(t);
      await plant(store, { 'f/a': 'one', 'f/b': 'two', 'g/b': 'two', 'g/old': 'old' });
      proxy.intercept(hideFromLists('f/b'));
      const transferring = transfersOf(store)[transfer](folder('f'), folder('g'), { replace: true });
      await assert.rejects(transferring, ofKind('unavailable'));
      proxy.intercept(undefined);
      const tree = await treeOf(store);
      assert.deepEqual([tree['f/a'], tree['f/b'], tree['g/b'], tree['g/old']], ['one', 'two', 'two', 'old']);
    }
  });

  it('of the destination keeps every source', async (t) => {
    const { store, proxy } = await openProxied(t);
    await plant(store, { 'f/a': 'one', 'f/b': 'two' });
    proxy.intercept(hideFromLists('g/b'));
    const { moveFolder } = transfersOf(store);
    await assert.rejects(moveFolder(folder('f'), folder('g'), { replace: false }), ofKind('unavailable'));
    proxy.intercept(undefined);
    const source = { 'f/': null, 'f/a': 'one', 'f/b': 'two' };
    assert.deepEqual(await treeOf(store), { ...source, 'g/': null, 'g/a': 'one', 'g/b': 'two' });
    await moveFolder(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await treeOf(store), { 'g/': null, 'g/a': 'one', 'g/b': 'two' });
  });
});

describe('One empty listing of a folder that is not empty', () => {
  it('does not make a copy, move or removal succeed, and loses nothing', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    const sources = { 'f/a': 'one', 'f/b/c': 'two' };
    const { copyFolder, moveFolder } = transfersOf(store);
    const calls: Readonly<Record<string, () => Promise<void>>> = {
      copy: () => copyFolder(folder('f'), folder('new'), { replace: false }),
      'copy with overwrite': () => copyFolder(folder('f'), folder('g'), { replace: true }),
      move: () => moveFolder(folder('f'), folder('new'), { replace: false }),
      'move with overwrite': () => moveFolder(folder('f'), folder('g'), { replace: true }),
      removal: async () => store.removeTree?.(folder('f')),
    };
    for (const [name, call] of Object.entries(calls)) {
      // The first listing looks whether the folder exists. A move to a longer path checks the lengths of all paths next.
      for (const pass of name.includes('overwrite') ? [2, 3] : name === 'move' ? [3] : [2]) {
        proxy.intercept(undefined);
        await plant(store, { ...sources, 'g/a': 'older', 'g/old': 'old' });
        let passes = 0;
        proxy.intercept(({ operation, query }) =>
          operation === 'ListObjectsV2' && query.get('prefix') === 'f/' && ++passes === pass
            ? { rewrite: (body) => body.replaceAll(/<Contents>.*?<\/Contents>/gs, '') }
            : undefined,
        );
        await assert.rejects(call, { name: 'StoreError' }, `${name}, pass ${pass}`);
        proxy.intercept(undefined);
        const tree = await treeOf(store);
        for (const [key, text] of Object.entries(sources))
          assert.equal(tree[key], text, `${name}, pass ${pass}: ${key}`);
        assert.equal(tree['g/old'], 'old', `${name}, pass ${pass}`);
        assert.ok(!(await bucket.keys()).some((key) => key.startsWith('new/')));
      }
    }
  });
});

describe('A store that returns 404 for the removal of an object that exists', () => {
  it('fails the removal, which leaves the object', async (t) => {
    const { port, proxy, bucket, store } = await serveProxied(t);
    await plant(store, { 'f/a+b': 'text', 'f/c': 'text' });
    proxy.intercept(({ operation, key }) => {
      if (operation === 'DeleteObjects') return refusal(501, 'NotImplemented');
      return operation === 'DeleteObject' && key?.includes('+') ? refusal(404, 'NoSuchKey') : undefined;
    });
    for (const path of ['/delete/f/a%2Bb', '/delete_folder/f']) {
      const { status, body } = await send(port, path, { method: 'DELETE' });
      assert.equal(status, 501, String(body));
    }
    assert.ok((await bucket.keys()).includes('f/a+b'));
  });
});
