import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { isStoreError } from '../../src/model/error.ts';
import {
  ATTRIBUTES,
  attributesOf,
  bytesAt,
  LARGE,
  MAX_COPY_BYTES,
  OTHER,
  put,
  transfersOf,
} from '../../testing/servers/objects.ts';
import { openProxied, serveProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, type S3Request, type Verdict } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind } from '../contract/bytes.ts';
import { assertFailure, assertSuccess, postJson } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { openUndoableFiles } from '../undo/undoable-files.ts';

export const needs: readonly Need[] = ['bucket'];

describe('Copies whose ETag differs from the source', () => {
  const tree = ['f/a', 'f/c/d'];

  it('are recognized by their metadata when an interrupted folder move resumes', async (t) => {
    const opened = await serveProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
    const { port, proxy, bucket } = opened;
    for (const key of tree) await put(opened, key, LARGE);
    const body = { source: 'f', destination: 'g', is_folder: true };
    // Nothing is deleted, as if the service had been killed between copying and deleting.
    proxy.intercept(({ operation }) =>
      operation.startsWith('Delete') ? errorResponse(403, 'AccessDenied') : undefined,
    );
    assertFailure(await postJson(port, '/move', body), 403, /./);
    const moved = tree.map((key) => key.replace('f/', 'g/'));
    assert.deepEqual(await bucket.keys(), [...tree, ...moved]);
    proxy.intercept(undefined);
    proxy.forget();
    assertSuccess(await postJson(port, '/move', body), { message: 'Item moved successfully' });
    assert.equal(proxy.count('UploadPartCopy'), 0, 'Existing copies are not made again.');
    assert.deepEqual(await bucket.keys(), moved);
    for (const key of moved) {
      assert.ok((await bytesAt(opened, key)).equals(LARGE));
      assert.deepEqual((await attributesOf(opened, key)).attributes, ATTRIBUTES);
    }
  });

  it('are recognized when an interrupted file move resumes', async (t) => {
    const opened = await serveProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
    const { port, proxy, bucket } = opened;
    await put(opened, 'a', LARGE);
    const body = { source: 'a', destination: 'b', is_folder: false };
    proxy.intercept(({ operation }) => (operation === 'DeleteObject' ? errorResponse(403, 'AccessDenied') : undefined));
    assertFailure(await postJson(port, '/move', body), 403, /./);
    assert.deepEqual(await bucket.keys(), ['a', 'b']);
    proxy.intercept(undefined);
    assertSuccess(await postJson(port, '/move', body), { message: 'Item moved successfully' });
    assert.deepEqual(await bucket.keys(), ['b']);
    assert.ok((await bytesAt(opened, 'b')).equals(LARGE));
  });

  it('are expected when an upload is undone after a move and its undo', async (t) => {
    const { store } = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
    await using undoable = await openUndoableFiles(store);
    const { change, files, undo, upload } = undoable;
    const uploaded = await change(() => upload('a', LARGE.toString('latin1')));
    const { etag } = await store.stat(file('a'));
    await undo(await change(() => files.moveFile(file('a'), file('b'), { replace: false })));
    assert.notEqual((await store.stat(file('a'))).etag, etag);
    await undo(uploaded);
    assert.deepEqual(await undoable.tree(), {});
  });

  it('are not confused with other objects of the same size: the move returns 409', async (t) => {
    const opened = await serveProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
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

  it('of an older version of the source do not count: the move returns 409', async (t) => {
    const opened = await serveProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
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

describe('Listings without ETags', () => {
  it('never make a folder move treat different objects as copies', async (t) => {
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
      const contents = await Promise.all(
        (await opened.bucket.keys()).map(async (key) => String(await bytesAt(opened, key))),
      );
      assert.ok(contents.includes('one text'), `Remaining: ${contents.join(', ')}`);
      if (!replace) assert.ok(contents.includes('no other'));
    }
  });
});

describe('A store that gives each copy a new ETag, as with server-side encryption', () => {
  /** Changes the ETags in CopyObject responses and in listings of `g/`. */
  const changeEtags = (body: string) => body.replaceAll(/(<ETag>(?:"|&quot;)?)[0-9a-f]{8}/g, '$1ffffffff');
  const interceptor = ({ operation, query }: S3Request): Verdict => {
    const isAboutCopies = operation === 'CopyObject' || query.get('prefix')?.startsWith('g/');
    return isAboutCopies ? { rewrite: changeEtags } : undefined;
  };

  it('moves folders and records the source ETag in the metadata of each copy', async (t) => {
    const opened = await openProxied(t);
    const { store, bucket } = opened;
    for (const key of ['f/a', 'f/b']) await put(opened, key, key);
    const { etag } = await store.stat(file('f/a'));
    opened.proxy.intercept(interceptor);
    await transfersOf(store).moveFolder(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['g/a', 'g/b']);
    assert.deepEqual(await attributesOf(opened, 'g/a'), { copyOf: etag, attributes: ATTRIBUTES });
  });

  it('leaves no copy when the second CopyObject, which records the source ETag, is denied', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await put(opened, 'f/a', 'text');
    const { etag } = await store.stat(file('f/a'));
    const headers = {
      etag: `"ffffffff${etag.slice(8)}"`,
      'content-length': '4',
      'last-modified': new Date().toUTCString(),
    };
    let copies = 0;
    proxy.intercept(async (request) => {
      const { operation, key } = request;
      if (operation === 'CopyObject' && ++copies === 2) return errorResponse(403, 'AccessDenied');
      if (operation === 'HeadObject' && key === 'g/a' && copies > 0) return { status: 200, headers };
      if (operation !== 'DeleteObject' || key !== 'g/a') return interceptor(request);
      // The condition has the ETag that only the responses have.
      assert.equal(request.headers['if-match'], headers.etag);
      await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: key }));
      return { status: 204 };
    });
    await assert.rejects(transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: false }), ofKind('denied'));
    assert.deepEqual(await bucket.keys(), ['f/a']);
  });
});
