import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { put, transfersOf } from '../../testing/servers/objects.ts';
import { openProxied, type ProxiedBucket, serveProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, type Interceptor, type OwnResponse, type S3Request } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind, plant, treeOf } from '../contract/bytes.ts';
import { postJson, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

/** Returns the decoded copy source of a request. */
const sourceOf = ({ headers }: S3Request) => decodeURIComponent(String(headers['x-amz-copy-source'] ?? ''));

/** Returns 404 for a copy source with a character that some stores decode twice or not at all. */
const rejectSpecialSources: Interceptor = (request) =>
  request.operation === 'CopyObject' && /[+%&]/.test(sourceOf(request)) ? errorResponse(404, 'NoSuchKey') : undefined;

/** A source with one plain and three special names, and a destination with an older version and an extra file. */
const SOURCE = { 'f/100%.txt': 'percent', 'f/a&b': 'ampersand', 'f/a+b': 'plus', 'f/plain': 'plain' };
const DESTINATION = { 'g/old': 'old', 'g/plain': 'older' };

async function plantFolders(opened: ProxiedBucket): Promise<void> {
  for (const [key, text] of Object.entries({ ...SOURCE, ...DESTINATION })) await put(opened, key, text);
}

/** Removes the object with this key from all listings. */
function hideFromLists(key: string): Interceptor {
  const objects = /<Contents>.*?<\/Contents>/gs;
  const rewrite = (body: string) =>
    body.replaceAll(objects, (object) => (decodeURIComponent(object).includes(`<Key>${key}</Key>`) ? '' : object));
  return ({ operation }) => (operation === 'ListObjectsV2' ? { rewrite } : undefined);
}

describe('A store that returns 404 for copy sources that exist', () => {
  async function serve(t: TestContext) {
    const opened = await serveProxied(t);
    await plantFolders(opened);
    opened.proxy.intercept(rejectSpecialSources);
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
  };
  for (const [name, request] of Object.entries(requests)) {
    it(`fails ${name} and removes nothing`, async (t) => {
      const { port, store } = await serve(t);
      const { status, body } = await request(port);
      assert.equal(status, 501, String(body));
      assert.match(String(body), /holdall doctor/);
      const tree = await treeOf(store);
      for (const [key, text] of Object.entries(SOURCE)) assert.equal(tree[key], text, key);
      assert.equal(tree['g/old'], 'old');
    });
  }

  it('fails a copy and a move of a file over another one, and removes nothing', async (t) => {
    const { store } = await serve(t);
    for (const transfer of [store.copy, store.move]) {
      assert.ok(transfer);
      await assert.rejects(transfer(file('f/a+b'), file('g/old'), { replace: true }), ofKind('unsupported'));
    }
    assert.deepEqual(await treeOf(store), { 'f/': null, ...SOURCE, 'g/': null, ...DESTINATION });
  });

  it('skips a source that another client deletes during the move', async (t) => {
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

  it('fails when a source is listed but every request for it returns 404', async (t) => {
    const opened = await openProxied(t);
    await plantFolders(opened);
    const { store, proxy, bucket } = opened;
    const before = await bucket.keys();
    proxy.intercept((request) =>
      request.key?.includes('+') && request.method === 'HEAD'
        ? errorResponse(404, 'NoSuchKey')
        : rejectSpecialSources(request),
    );
    await opened.bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: 'f/100%.txt' }));
    await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: 'f/a&b' }));
    const { copyFolder, moveFolder } = transfersOf(store);
    const expected = before.filter((key) => !/[%&]/.test(key));
    for (const transfer of [copyFolder, moveFolder]) {
      await assert.rejects(transfer(folder('f'), folder('g'), { replace: true }), ofKind('unavailable'));
      assert.deepEqual(await bucket.keys(), expected);
      await assert.rejects(transfer(folder('f'), folder('new'), { replace: false }), ofKind('unavailable'));
      const remaining = (await bucket.keys()).filter((key) => !key.startsWith('new/'));
      assert.deepEqual(remaining, expected);
    }
  });
});

describe('A store that returns 200 without copying', () => {
  it('loses no source and no destination file in a folder copy or move', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await plantFolders(opened);
    const before = await bucket.keys();
    const etag = (await store.stat(file('f/a+b'))).etag;
    const success: OwnResponse = { status: 200, body: `<CopyObjectResult><ETag>"${etag}"</ETag></CopyObjectResult>` };
    proxy.intercept((request) =>
      request.operation === 'CopyObject' && sourceOf(request).includes('+') ? success : undefined,
    );
    const { copyFolder, moveFolder } = transfersOf(store);
    for (const transfer of [copyFolder, moveFolder]) {
      await assert.rejects(transfer(folder('f'), folder('g'), { replace: true }), ofKind('unavailable'));
      for (const key of before) assert.ok((await bucket.keys()).includes(key), key);
    }
    await assert.rejects(moveFolder(folder('f'), folder('new'), { replace: false }), ofKind('unavailable'));
    for (const key of before) assert.ok((await bucket.keys()).includes(key), key);
  });

  it('loses no source in a file move when it ignores the copy source', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { a: 'text', b: 'old' });
    // A store without CopyObject handles the request as a PutObject with an empty body.
    proxy.intercept(({ operation }) =>
      operation === 'CopyObject' ? { status: 200, headers: { etag: '"d41d8cd98f00b204e9800998ecf8427e"' } } : undefined,
    );
    await assert.rejects(transfersOf(store).move(file('a'), file('b'), { replace: true }), ofKind('unsupported'));
    assert.deepEqual(await bucket.keys(), ['a', 'b']);
  });
});

describe('An incomplete listing', () => {
  it('of the source does not remove an existing copy at the destination', async (t) => {
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

  it('of the destination fails the move and keeps every source', async (t) => {
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

describe('A single empty listing of a non-empty folder', () => {
  it('fails a copy, move or removal and loses nothing', async (t) => {
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
      // The first listing checks that the folder exists. The last one before a copy or move only checks the paths.
      for (const pass of name === 'removal' ? [2] : name.includes('overwrite') ? [2, 4] : [3]) {
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

describe('A store that returns 404 for DeleteObject although the object exists', () => {
  it('returns 501 for the removal and keeps the object', async (t) => {
    const { port, proxy, bucket, store } = await serveProxied(t);
    await plant(store, { 'f/a+b': 'text', 'f/c': 'text' });
    proxy.intercept(({ operation, key }) => {
      if (operation === 'DeleteObjects') return errorResponse(501, 'NotImplemented');
      return operation === 'DeleteObject' && key?.includes('+') ? errorResponse(404, 'NoSuchKey') : undefined;
    });
    for (const path of ['/delete/f/a%2Bb', '/delete_folder/f']) {
      const { status, body } = await send(port, path, { method: 'DELETE' });
      assert.equal(status, 501, String(body));
    }
    assert.ok((await bucket.keys()).includes('f/a+b'));
  });
});
