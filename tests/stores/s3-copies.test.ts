import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openBucket } from '../../src/stores/s3/bucket.ts';
import { headObject, attributesOf as metadataOf, putObject } from '../../src/stores/s3/operations.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
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
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, errorXml, firstOf, type OwnResponse } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

describe('A copy of an object', () => {
  it('keeps names with all spaces of Unicode in its metadata', async (t) => {
    const bucket = await createBucket();
    atEnd(t, () => bucket.remove());
    const options = { ...bucket.settings, warn: () => {} };
    const [raw, store] = [openBucket(options), openS3(options)];
    atEnd(t, async () => {
      raw.client.close();
      await store.close?.();
    });
    // macOS puts U+202F into the names of screenshots.
    for (const name of ['9.41\u202fAM.png', 'a\u00a0b\u3000c.png', 'a  b.png', '\ufeffa.png']) {
      const disposition = `inline; filename="${name}"`;
      const attributes = { 'content-disposition': disposition };
      await putObject(raw, 'a', Buffer.from('x'), { attributes });
      await transfersOf(store).copy(file('a'), file('b'), { replace: false });
      const copied = metadataOf(await headObject(raw, 'b', {}));
      assert.equal(copied['content-disposition'], disposition);
      await store.remove(file('b'));
    }
  });
});

describe('A copy of a large object', () => {
  for (const replace of [false, true]) {
    it(`uses UploadPartCopy and keeps the type and metadata (replace: ${replace})`, async (t) => {
      const opened = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
      const { store, proxy, bucket } = opened;
      await put(opened, 'a', LARGE);
      const source = await store.stat(file('a'));
      const copy = await transfersOf(store).copy(file('a'), file('to/b'), { replace });
      assert.equal(proxy.count('CopyObject') + proxy.count('GetObject'), 0);
      assert.equal(proxy.count('UploadPartCopy'), 2);
      assert.ok(proxy.maxConcurrent('UploadPartCopy') <= 4);
      assert.ok((await bytesAt(opened, 'to/b')).equals(LARGE));
      const { copyOf, attributes } = await attributesOf(opened, 'to/b');
      assert.deepEqual(attributes, ATTRIBUTES);
      assert.equal(copyOf, source.etag);
      const { modified, ...entry } = await store.stat(file('to/b'));
      assert.deepEqual({ ...copy, modified }, { ...entry, modified });
      assert.deepEqual(await bucket.openUploads(), []);
    });
  }

  it('leaves the destination unchanged and no parts when a part fails', async (t) => {
    const opened = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
    const { store, proxy, bucket } = opened;
    await put(opened, 'a', LARGE);
    await store.write(file('b'), upload('old'));
    for (const response of [errorResponse(403, 'AccessDenied'), { status: 200, body: errorXml('InternalError') }]) {
      proxy.intercept(({ operation, query }) =>
        operation === 'UploadPartCopy' && query.get('partNumber') === '2' ? response : undefined,
      );
      await assert.rejects(transfersOf(store).copy(file('a'), file('b'), { replace: true }), { name: 'StoreError' });
      await assert.rejects(transfersOf(store).copy(file('a'), file('c'), { replace: false }), { name: 'StoreError' });
    }
    proxy.intercept(undefined);
    assert.deepEqual(await bucket.keys(), ['a', 'b']);
    assert.equal(await textOf(store, 'b'), 'old');
    assert.deepEqual(await bucket.openUploads(), []);
  });

  it('restarts when the source changes, so that all parts are of one version', async (t) => {
    const opened = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
    const { store, proxy } = opened;
    await put(opened, 'a', LARGE);
    const change = async () => {
      await put(opened, 'a', OTHER);
      return undefined;
    };
    const interceptor = firstOf('UploadPartCopy', change);
    proxy.intercept((request) => (request.query.get('partNumber') === '2' ? interceptor(request) : undefined));
    await transfersOf(store).copy(file('a'), file('b'), { replace: true });
    assert.ok((await bytesAt(opened, 'b')).equals(OTHER));
    assert.deepEqual(await opened.bucket.openUploads(), []);
  });
});

describe('A copy or move without replace', () => {
  for (const [size, content] of [
    ['small', Buffer.from('text')],
    ['large', LARGE],
  ] as const) {
    it(`rejects with already-exists when another client creates the destination meanwhile (${size} object)`, async (t) => {
      const opened = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
      const { store, proxy, bucket } = opened;
      await put(opened, 'a', content);
      const operation = size === 'small' ? 'PutObject' : 'CreateMultipartUpload';
      for (const call of ['copy', 'move'] as const) {
        let isCreated = false;
        const createDestination = async () => {
          await put(opened, call, 'of another client');
          isCreated = true;
          return undefined;
        };
        proxy.intercept(firstOf(operation, createDestination));
        const calling = transfersOf(store)[call](file('a'), file(call), { replace: false });
        await assert.rejects(calling, ofKind('already-exists'));
        assert.ok(isCreated, 'The other client created the destination during the call.');
        assert.equal(await textOf(store, call), 'of another client');
      }
      assert.ok((await bytesAt(opened, 'a')).equals(content));
      assert.deepEqual(await bucket.openUploads(), []);
    });
  }

  it('succeeds when the response to a completed copy is lost', async (t) => {
    const opened = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
    await put(opened, 'small', 'text');
    await put(opened, 'large', LARGE);
    for (const [path, operation] of [
      ['small', 'PutObject'],
      ['large', 'CompleteMultipartUpload'],
    ] as const) {
      opened.proxy.intercept(firstOf(operation, () => 'cut when done'));
      await transfersOf(opened.store).copy(file(path), file(`copy of ${path}`), { replace: false });
      assert.deepEqual((await attributesOf(opened, `copy of ${path}`)).attributes, ATTRIBUTES);
    }
  });
});

describe('A folder copy', () => {
  it('succeeds when a lost CopyObject response is followed by 412 on the retry', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    for (const key of ['f/a', 'f/b']) await put(opened, key, key);
    let copies = 0;
    proxy.intercept(({ operation, key }) => {
      if (operation !== 'CopyObject' || key !== 'g/a') return undefined;
      return ++copies === 1 ? 'cut when done' : errorResponse(412, 'PreconditionFailed');
    });
    await transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['f/a', 'f/b', 'g/a', 'g/b']);
  });
});

describe('A store that returns 501 for If-None-Match on CopyObject', () => {
  it('copies a folder without the condition and stops sending it after the second 501', async (t) => {
    const opened = await openProxied(t, { concurrency: 1 });
    const { store, proxy, bucket } = opened;
    for (const key of ['f/a', 'f/b', 'f/c']) await put(opened, key, key);
    proxy.intercept(({ operation, headers }) => {
      const isRefused = operation === 'CopyObject' && headers['if-none-match'] !== undefined;
      return isRefused ? errorResponse(501, 'NotImplemented') : undefined;
    });
    await transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['f/a', 'f/b', 'f/c', 'g/a', 'g/b', 'g/c']);
    assert.equal(proxy.count('CopyObject'), 5);
    await assert.rejects(
      transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: false }),
      ofKind('already-exists'),
    );
  });
});

describe('An Error document in a 200 response to CopyObject', () => {
  const failed: OwnResponse = { status: 200, body: errorXml('InternalError') };

  it('is retried', async (t) => {
    const opened = await openProxied(t);
    await put(opened, 'a', 'text');
    opened.proxy.intercept(firstOf('CopyObject', () => failed));
    await transfersOf(opened.store).copy(file('a'), file('b'), { replace: true });
    assert.equal(await textOf(opened.store, 'b'), 'text');
    assert.equal(opened.proxy.count('CopyObject'), 2);
  });

  it('fails the copy or move, and leaves the source and the destination unchanged', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await put(opened, 'f/a', 'text');
    await put(opened, 'g/a', 'old');
    proxy.intercept(({ operation }) => (operation === 'CopyObject' ? failed : undefined));
    const { copy, move, copyFolder, moveFolder } = transfersOf(store);
    // All at once, because each one is retried with back-off.
    const calls = [
      copy(file('f/a'), file('g/a'), { replace: true }),
      move(file('f/a'), file('g/a'), { replace: true }),
      copyFolder(folder('f'), folder('g'), { replace: true }),
      moveFolder(folder('f'), folder('g'), { replace: true }),
      moveFolder(folder('f'), folder('h'), { replace: false }),
    ];
    await Promise.all(calls.map((call) => assert.rejects(call, ofKind('unavailable'))));
    assert.deepEqual(await bucket.keys(), ['f/a', 'g/a']);
    assert.equal(await textOf(store, 'f/a'), 'text');
    assert.equal(await textOf(store, 'g/a'), 'old');
  });
});
