import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStoreError } from '../../src/domain/error.ts';
import { file, folder, ofKind } from '../contract/bytes.ts';
import { assertFailure, assertSuccess, postJson } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { ATTRIBUTES, attributesOf, bytesAt, COPY_LIMIT, LARGE, OTHER, put, transfersOf } from '../servers/objects.ts';
import { openProxied, serveProxied } from '../servers/proxied-bucket.ts';
import { refusal, type S3Request, type Verdict } from '../servers/s3-proxy.ts';

export const needs: readonly Need[] = ['bucket'];

describe('A store that gives copies other etags', () => {
  const tree = ['f/a', 'f/b', 'f/c/d', 'f/c/e'];

  it('has a folder moved, and a move that was interrupted completed, by what copies say of themselves', async (t) => {
    const opened = await serveProxied(t, { copyLimit: COPY_LIMIT });
    const { port, proxy, bucket } = opened;
    for (const key of tree) await put(opened, key, LARGE);
    const body = { source: 'f', destination: 'g', is_folder: true };
    // Nothing is removed, as if the service had been killed between the two.
    proxy.intercept(({ operation }) => (operation.startsWith('Delete') ? refusal(403, 'AccessDenied') : undefined));
    assertFailure(await postJson(port, '/move', body), 403, /./);
    const moved = tree.map((key) => key.replace('f/', 'g/'));
    assert.deepEqual(await bucket.keys(), [...tree, ...moved]);
    proxy.intercept(undefined);
    proxy.forget();
    assertSuccess(await postJson(port, '/move', body), { message: 'Item moved successfully' });
    assert.equal(proxy.count('UploadPartCopy'), 0, 'What is a copy is not copied again.');
    assert.deepEqual(await bucket.keys(), moved);
    for (const key of moved) {
      assert.ok((await bytesAt(opened, key)).equals(LARGE));
      assert.deepEqual((await attributesOf(opened, key)).attributes, ATTRIBUTES);
    }
  });

  it('has a file moved, and a move that was interrupted completed', async (t) => {
    const opened = await serveProxied(t, { copyLimit: COPY_LIMIT });
    const { port, proxy, bucket } = opened;
    await put(opened, 'a', LARGE);
    const body = { source: 'a', destination: 'b', is_folder: false };
    proxy.intercept(({ operation }) => (operation === 'DeleteObject' ? refusal(403, 'AccessDenied') : undefined));
    assertFailure(await postJson(port, '/move', body), 403, /./);
    assert.deepEqual(await bucket.keys(), ['a', 'b']);
    proxy.intercept(undefined);
    assertSuccess(await postJson(port, '/move', body), { message: 'Item moved successfully' });
    assert.deepEqual(await bucket.keys(), ['b']);
    assert.ok((await bytesAt(opened, 'b')).equals(LARGE));
  });

  it('never has two objects of one size taken for copies of each other', async (t) => {
    const opened = await serveProxied(t, { copyLimit: COPY_LIMIT });
    const { port, bucket } = opened;
    const keys = ['f/a', 'g/a'];
    await put(opened, 'f/a', LARGE);
    await put(opened, 'g/a', OTHER);
    const moves = [
      { source: 'f', destination: 'g', is_folder: true },
      { source: 'f/a', destination: 'g/a', is_folder: false },
    ];
    for (const body of moves) {
      assertFailure(await postJson(port, '/move', body), 409, /already/);
      assert.deepEqual(await bucket.keys(), keys);
      assert.ok((await bytesAt(opened, 'f/a')).equals(LARGE));
      assert.ok((await bytesAt(opened, 'g/a')).equals(OTHER));
    }
  });

  it('has a copy of what the source was before taken for no copy of what it is now', async (t) => {
    const opened = await serveProxied(t, { copyLimit: COPY_LIMIT });
    const { port, bucket } = opened;
    await put(opened, 'a', LARGE);
    const body = { source: 'a', destination: 'b', is_folder: false };
    assertSuccess(await postJson(port, '/copy', body), { message: 'Item copied successfully' });
    await put(opened, 'a', OTHER);
    assertFailure(await postJson(port, '/move', body), 409, /already/);
    assert.deepEqual(await bucket.keys(), ['a', 'b']);
    assert.ok((await bytesAt(opened, 'a')).equals(OTHER));
  });
});

describe('A store whose listings tell no etags', () => {
  it('has no two objects taken for the same, so that nothing is lost', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy } = opened;
    const texts = ['one text', 'no other'];
    for (const replace of [false, true]) {
      for (const [index, text] of texts.entries()) await put(opened, `${'fg'[index]}/a`, text);
      proxy.intercept(({ operation }) =>
        operation === 'ListObjectsV2' ? { rewrite: (body) => body.replaceAll(/<ETag>.*?<\/ETag>/g, '') } : undefined,
      );
      await transfersOf(store)
        .moveFolder(folder('f'), folder('g'), { replace })
        .catch((error: unknown) => assert.ok(isStoreError(error), String(error)));
      proxy.intercept(undefined);
      const left = await Promise.all(
        (await opened.bucket.keys()).map(async (key) => String(await bytesAt(opened, key))),
      );
      assert.ok(left.includes('one text'), `What is left: ${left.join(', ')}`);
      if (!replace) assert.ok(left.includes('no other'));
    }
  });
});

describe('A store that gives every copy an etag of its own, as encrypted ones do', () => {
  /** Changes the etags that copies are told to have, and those of listings of `g/`. */
  const change = (body: string) => body.replaceAll(/(<ETag>(?:"|&quot;)?)[0-9a-f]{8}/g, '$1ffffffff');
  const encrypting = ({ operation, query }: S3Request): Verdict => {
    const isOfCopies = operation === 'CopyObject' || query.get('prefix')?.startsWith('g/');
    return isOfCopies ? { rewrite: change } : undefined;
  };

  it('has folders moved, and notes on each copy what it is one of', async (t) => {
    const opened = await openProxied(t);
    const { store, bucket } = opened;
    for (const key of ['f/a', 'f/b']) await put(opened, key, key);
    const { etag } = await store.stat(file('f/a'));
    opened.proxy.intercept(encrypting);
    await transfersOf(store).moveFolder(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['g/a', 'g/b']);
    assert.deepEqual(await attributesOf(opened, 'g/a'), { copyOf: etag, attributes: ATTRIBUTES });
  });

  it('has nothing left of a copy that fails just when that is found', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await put(opened, 'f/a', 'text');
    let copies = 0;
    proxy.intercept((request) => {
      const isSecond = request.operation === 'CopyObject' && ++copies === 2;
      return isSecond ? refusal(403, 'AccessDenied') : encrypting(request);
    });
    await assert.rejects(transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: false }), ofKind('denied'));
    assert.deepEqual(await bucket.keys(), ['f/a']);
  });
});
