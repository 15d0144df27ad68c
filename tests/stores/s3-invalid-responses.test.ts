import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { Capabilities, RETEST_MS } from '../../src/stores/s3/capabilities.ts';
import { bytesAt, LARGE, MAX_COPY_BYTES, put, transfersOf } from '../../testing/servers/objects.ts';
import { openProxied, type ProxiedBucket } from '../../testing/servers/proxied-bucket.ts';
import {
  errorResponse,
  firstOf,
  type OwnResponse,
  type S3Request,
  type Verdict,
} from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind, plant, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

const page = (content: string): OwnResponse => ({
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: content,
});

/** Responses that a proxy may send instead of the store. */
const PROXY_RESPONSES: Readonly<Record<string, OwnResponse>> = {
  'a web page': page('<!DOCTYPE html><html><body>Sign in<br></body></html>'),
  'a web page that is well-formed XML': page('<html><head><title>Sign in</title></head><body/></html>'),
  'an empty response': { status: 200 },
};

const listing = (content: string): OwnResponse => ({
  status: 200,
  body: `<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>${content}</ListBucketResult>`,
});

const object = (key: string) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"e"</ETag></Contents>`;

describe('A listing with keys that were not requested', () => {
  const listings: Readonly<Record<string, OwnResponse>> = {
    'keys outside the folder': listing(object('f/a') + object('other/x')),
    'common prefixes although no delimiter was sent': listing(
      `${object('f/a')}<CommonPrefixes><Prefix>f/sub/</Prefix></CommonPrefixes>`,
    ),
  };
  for (const [name, response] of Object.entries(listings)) {
    it(`fails a removal, copy or move and changes nothing: ${name}`, async (t) => {
      const { store, proxy, bucket } = await openProxied(t);
      await plant(store, { 'f/a': '1', 'f/sub/b': '2', 'other/x': '3' });
      const before = await bucket.keys();
      proxy.intercept(({ operation }) => (operation === 'ListObjectsV2' ? response : undefined));
      const { copyFolder, moveFolder } = transfersOf(store);
      await assert.rejects(async () => store.removeTree?.(folder('f')), ofKind('unavailable'));
      await assert.rejects(store.removeFolder(folder('f')), ofKind('unavailable'));
      for (const transfer of [copyFolder, moveFolder])
        await assert.rejects(transfer(folder('f'), folder('g'), { replace: true }), ofKind('unavailable'));
      assert.deepEqual(await bucket.keys(), before);
    });
  }

  it('fails as unavailable', async (t) => {
    const { store, proxy } = await openProxied(t);
    for (const response of [listing(object('other/x')), listing(object('f/sub/b')), listing(object('f'))]) {
      proxy.intercept(() => response);
      await assert.rejects(store.list(folder('f')), ofKind('unavailable'));
    }
  });

  it('fails as unavailable when its pages never end', async (t) => {
    const { store, proxy } = await openProxied(t);
    let pages = 0;
    proxy.intercept(() => {
      const token = `<NextContinuationToken>${++pages % 2}</NextContinuationToken>`;
      return { status: 200, body: `<ListBucketResult><IsTruncated>true</IsTruncated>${token}</ListBucketResult>` };
    });
    await assert.rejects(async () => {
      for await (const _ of store.walk?.(folder('f')) ?? []);
    }, ofKind('unavailable'));
  });
});

describe('A 200 response that the store did not send', () => {
  const actions: Readonly<Record<string, (opened: ProxiedBucket) => Promise<unknown>>> = {
    PutObject: ({ store }) => transfersOf(store).move(file('small'), file('b'), { replace: false }),
    GetObject: ({ store }) => transfersOf(store).move(file('small'), file('b'), { replace: false }),
    HeadObject: ({ store }) => transfersOf(store).move(file('small'), file('b'), { replace: true }),
    CreateMultipartUpload: ({ store }) => transfersOf(store).move(file('large'), file('b'), { replace: false }),
    UploadPartCopy: ({ store }) => transfersOf(store).move(file('large'), file('b'), { replace: true }),
    CompleteMultipartUpload: ({ store }) => transfersOf(store).move(file('large'), file('b'), { replace: true }),
  };
  for (const [operation, move] of Object.entries(actions)) {
    it(`to ${operation} fails the move and changes nothing`, async (t) => {
      const opened = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
      const { store, proxy, bucket } = opened;
      await put(opened, 'small', 'text');
      await put(opened, 'large', LARGE);
      for (const response of Object.values(PROXY_RESPONSES)) {
        // An empty response to UploadPartCopy counts as unsupported, so the object is copied without it.
        if (operation === 'UploadPartCopy' && !response.body?.startsWith('<!')) continue;
        proxy.intercept((request) => (request.operation === operation ? response : undefined));
        await assert.rejects(move(opened), { name: 'StoreError' });
        proxy.intercept(undefined);
        assert.deepEqual(await bucket.keys(), ['large', 'small']);
      }
      assert.equal(await textOf(store, 'small'), 'text');
      assert.ok((await bytesAt(opened, 'large')).equals(LARGE));
      assert.deepEqual(await bucket.openUploads(), []);
    });
  }

  it('fails a folder creation and a file removal', async (t) => {
    const { store, proxy } = await openProxied(t);
    await plant(store, { a: 'text' });
    for (const response of Object.values(PROXY_RESPONSES)) {
      proxy.intercept(({ operation }) => (operation === 'PutObject' ? response : undefined));
      await assert.rejects(store.createFolder(folder('f')), ofKind('unavailable'));
      // An empty 200 is a valid response to DeleteObject.
      if (response.body === undefined) continue;
      proxy.intercept(({ operation }) => (operation === 'DeleteObject' ? response : undefined));
      await assert.rejects(store.remove(file('a')), ofKind('unavailable'));
    }
    proxy.intercept(({ operation }) =>
      operation === 'PutObject' ? errorResponse(412, 'PreconditionFailed') : undefined,
    );
    await assert.rejects(store.createFolder(folder('f')), ofKind('condition-failed'));
  });
});

// OpenStack Swift: requests have the time of their arrival, and the last one wins, also if it is stored first.
describe('A 200 response without an ETag from a store that has kept a later request', () => {
  const KEPT_ANOTHER = { status: 200, headers: { 'x-amz-request-id': '1' } };

  it('fails the upload as busy, and keeps the object of the other client', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy } = opened;
    proxy.intercept(async ({ operation }) => {
      if (operation !== 'PutObject') return undefined;
      await put(opened, 'a', 'of another client');
      return KEPT_ANOTHER;
    });
    await assert.rejects(store.write(file('a'), upload('text')), { code: 'file-busy', retryAfter: 1 });
    assert.equal(await textOf(store, 'a'), 'of another client');
  });

  it('creates a folder that the other client has created, and no other folder', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    proxy.intercept(async ({ operation, key = '' }) => {
      if (operation !== 'PutObject') return undefined;
      if (key.endsWith('kept/')) await put(opened, 'kept/', '');
      return KEPT_ANOTHER;
    });
    await store.createFolder(folder('kept'));
    await assert.rejects(store.createFolder(folder('removed')), { code: 'file-busy' });
    assert.deepEqual(await bucket.keys(), ['kept/']);
  });
});

describe('A response to a read', () => {
  const etag = { etag: '"e"' };
  const partial = (range: string | undefined, body: string): OwnResponse => ({
    status: 206,
    headers: { ...etag, ...(range !== undefined && { 'content-range': range }) },
    body,
  });
  const responses: Readonly<Record<string, Verdict>> = {
    'with another range than requested': partial('bytes 0-1/4', 'te'),
    'with status 206 and no Content-Range': partial(undefined, 'ex'),
    'with an unknown size in Content-Range': partial('bytes 1-2/*', 'ex'),
    'with fewer bytes than its Content-Range': partial('bytes 1-2/4', 'e'),
    'without an ETag': { status: 200, body: '<html>Sign in</html>' },
    'without Content-Length': { rewrite: (body) => body },
  };
  for (const [name, response] of Object.entries(responses)) {
    it(`${name} fails the read`, async (t) => {
      const opened = await openProxied(t);
      const { store, proxy } = opened;
      await put(opened, 'a', 'text');
      proxy.intercept(({ operation }) => (operation === 'GetObject' ? response : undefined));
      await assert.rejects(store.read(file('a'), { range: { start: 1, end: 2 } }), ofKind('unavailable'));
      await assert.rejects(store.read(file('a'), { maxSize: 99 }), ofKind('unavailable'));
    });
  }

  it('with another ETag than If-Match fails the read', async (t) => {
    const { store, proxy } = await openProxied(t);
    proxy.intercept(() => ({ status: 200, headers: etag, body: 'text' }));
    await assert.rejects(store.read(file('a'), { ifMatch: 'other' }), ofKind('condition-failed'));
    const { file: entry, body } = await store.read(file('a'), { ifMatch: 'e' });
    assert.equal(entry.size, 4);
    assert.equal((await buffer(body)).toString(), 'text');
  });

  it('to HeadObject without Content-Length or ETag fails', async (t) => {
    const { store, proxy } = await openProxied(t);
    await plant(store, { a: 'text' });
    for (const response of [{ status: 200 }, { rewrite: (body: string) => body }]) {
      proxy.intercept(() => response);
      await assert.rejects(store.stat(file('a')), ofKind('unavailable'));
    }
  });
});

describe('A condition that the store supports', () => {
  const conditionOf = ({ headers }: S3Request) => headers['if-none-match'] ?? headers['if-match'];
  const conditions = ({ proxy }: ProxiedBucket, operation: string) =>
    proxy.requests.filter((request) => request.operation === operation).map(conditionOf);

  it('is still sent after a single 501', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, warnings } = opened;
    proxy.intercept(firstOf('PutObject', () => errorResponse(501, 'NotImplemented')));
    for (const path of ['a', 'b']) await store.write(file(path), upload('text'), { condition: 'absent' });
    assert.deepEqual(conditions(opened, 'PutObject'), ['*', '*', '*']);
    await put(opened, 'f/a', 'text');
    proxy.intercept(firstOf('CopyObject', () => errorResponse(501, 'NotImplemented')));
    await transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(conditions(opened, 'CopyObject'), ['*', '*']);
    proxy.intercept(firstOf('DeleteObjects', () => errorResponse(501, 'NotImplemented')));
    await transfersOf(store).moveFolder(folder('f'), folder('h'), { replace: false });
    assert.equal(proxy.count('DeleteObject'), 0);
    assert.deepEqual(warnings, []);
  });

  it('is trusted over a cache that hides the object', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, warnings } = opened;
    await store.write(file('a'), upload('text'), { condition: 'absent' });
    await put(opened, 'b', 'of another client');
    proxy.intercept(({ operation }) => (operation === 'HeadObject' ? errorResponse(404, 'NoSuchKey') : undefined));
    await assert.rejects(store.write(file('b'), upload('text'), { condition: 'absent' }), ofKind('condition-failed'));
    proxy.intercept(undefined);
    assert.equal(await textOf(store, 'b'), 'of another client');
    assert.deepEqual(warnings, []);
  });

  it('is still sent when the store rejects a different condition', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy } = opened;
    proxy.intercept((request) =>
      request.operation === 'PutObject' && request.headers['if-match']
        ? errorResponse(501, 'NotImplemented')
        : undefined,
    );
    await plant(store, { a: 'text' });
    const { etag } = await store.stat(file('a'));
    await store.write(file('a'), upload('text'), { condition: { etag } });
    proxy.forget();
    await store.write(file('b'), upload('text'), { condition: 'absent' });
    assert.deepEqual(conditions(opened, 'PutObject'), ['*']);
  });

  it('on DeleteObjects keeps a changed object even if DeleteObject ignores conditions', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await plant(store, { 'f/a': 'one', 'f/b': 'two' });
    proxy.intercept(async ({ operation, key }) => {
      if (operation === 'DeleteObject') {
        await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key: key }));
        return { status: 204 };
      }
      if (operation !== 'DeleteObjects') return undefined;
      if (proxy.count('DeleteObjects') === 1) await put(opened, 'f/b', 'changed');
      const failed = '<Error><Key>f/b</Key><Code>PreconditionFailed</Code></Error>';
      return { status: 200, body: `<DeleteResult>${failed}</DeleteResult>` };
    });
    await transfersOf(store).moveFolder(folder('f'), folder('g'), { replace: false });
    proxy.intercept(undefined);
    assert.equal(await textOf(store, 'f/b'), 'changed');
  });
});

describe('An unsupported feature', () => {
  it('is logged once and tried again after RETEST_MS, unlike one that was confirmed', () => {
    const warnings: string[] = [];
    let now = 0;
    const capabilities = new Capabilities(
      (message) => void warnings.push(message),
      () => now,
    );
    for (const isSupported of [false, true]) {
      if (!isSupported) capabilities.markMissing('putIfMatch', {});
      assert.equal(capabilities.has('putIfMatch'), isSupported);
      now += RETEST_MS;
    }
    capabilities.markMissing('putIfMatch', {});
    assert.equal(capabilities.has('putIfMatch'), false);
    assert.equal(warnings.length, 1);
    capabilities.confirm('deleteConditions');
    capabilities.markMissing('deleteConditions', {});
    assert.ok(capabilities.has('deleteConditions'));
    assert.equal(warnings.length, 1);
  });
});
