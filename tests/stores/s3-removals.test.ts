import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { openFakeBucket } from '../../testing/servers/fake-bucket.ts';
import { put } from '../../testing/servers/objects.ts';
import { openProxied, type ProxiedBucket, serveProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse, firstOf, type OwnResponse } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind } from '../contract/bytes.ts';
import { assertFailure, assertSuccess, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

const KEYS = ['f/a', 'f/b', 'f/c'];

async function putAll(opened: ProxiedBucket, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await put(opened, key, key);
}

async function removeTree(store: Store, signal?: AbortSignal): Promise<void> {
  assert.ok(store.removeTree);
  await store.removeTree(folder('f'), { ...(signal && { signal }) });
}

/** Returns a DeleteObjects response with an Error for each of these keys. */
function deleteErrors(errors: Readonly<Record<string, string>>): OwnResponse {
  const elements = Object.entries(errors).map(
    ([key, code]) => `<Error><Key>${key}</Key><Code>${code}</Code><Message>as it is</Message></Error>`,
  );
  return { status: 200, body: `<DeleteResult>${elements.join('')}</DeleteResult>` };
}

describe('A store that rejects DeleteObjects', { concurrency: CONCURRENT_TESTS }, () => {
  const refusals = {
    MissingContentMD5: errorResponse(400, 'MissingContentMD5'),
    InvalidRequest: errorResponse(400, 'InvalidRequest'),
    NotImplemented: errorResponse(501, 'NotImplemented'),
    MethodNotAllowed: errorResponse(405, 'MethodNotAllowed'),
    MalformedXML: errorResponse(400, 'MalformedXML'),
  };
  for (const [name, response] of Object.entries(refusals)) {
    it(`gets one DeleteObject per key, also later: ${name}`, async (t) => {
      const opened = await openProxied(t);
      const { store, proxy, bucket } = opened;
      proxy.intercept(({ operation }) => (operation === 'DeleteObjects' ? response : undefined));
      await putAll(opened, 'fx', ...KEYS);
      await removeTree(store);
      assert.deepEqual(await bucket.keys(), ['fx']);
      assert.equal(proxy.count('DeleteObject'), 3);
      await putAll(opened, ...KEYS);
      proxy.forget();
      await removeTree(store);
      assert.equal(proxy.count('DeleteObjects'), 0, 'The store remembers that DeleteObjects is unsupported.');
      assert.deepEqual(await bucket.keys(), ['fx']);
    });
  }

  it('gets Content-MD5, which some stores require', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket, warnings } = opened;
    for (const code of ['MissingContentMD5', 'InvalidRequest']) {
      proxy.intercept(({ operation, headers }) =>
        operation === 'DeleteObjects' && headers['content-md5'] === undefined ? errorResponse(400, code) : undefined,
      );
      await putAll(opened, ...KEYS);
      await removeTree(store);
      await putAll(opened, ...KEYS);
      await store.moveFolder?.(folder('f'), folder('g'), { replace: true });
    }
    assert.deepEqual(await bucket.keys(), ['g/a', 'g/b', 'g/c']);
    const single = proxy.requests.filter(({ operation, key }) => operation === 'DeleteObject' && key?.startsWith('f/'));
    assert.deepEqual(single, []);
    assert.deepEqual(warnings, []);
  });

  it('gets single deletes for the source of a folder move', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    proxy.intercept(({ operation }) =>
      operation === 'DeleteObjects' ? errorResponse(400, 'MissingContentMD5') : undefined,
    );
    await putAll(opened, ...KEYS);
    await store.moveFolder?.(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['g/a', 'g/b', 'g/c']);
  });

  it('gets DeleteObjects without ETags if it rejects ETags in the request', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    let refused = 0;
    proxy.intercept(({ operation, headers }) => {
      const hasEtags = operation === 'DeleteObjects' && Number(headers['content-length']) > 200;
      if (hasEtags) refused++;
      return hasEtags ? errorResponse(400, 'MalformedXML') : undefined;
    });
    await putAll(opened, ...KEYS);
    await store.moveFolder?.(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['g/a', 'g/b', 'g/c']);
    assert.equal(refused, 2);
    assert.equal(proxy.count('DeleteObject'), 0);
  });
});

describe('An Error in a DeleteObjects response', { concurrency: CONCURRENT_TESTS }, () => {
  it('counts as a success for NoSuchKey', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy } = opened;
    await putAll(opened, ...KEYS);
    proxy.intercept(firstOf('DeleteObjects', () => deleteErrors({ 'f/b': 'NoSuchKey' })));
    await removeTree(store);
  });

  it('returns 403 for the folder removal for AccessDenied, and the removal can be repeated', async (t) => {
    const opened = await serveProxied(t);
    const { port, proxy, bucket } = opened;
    await putAll(opened, ...KEYS);
    proxy.intercept(({ operation, key }) => {
      if (operation === 'DeleteObjects') return deleteErrors({ 'f/b': 'AccessDenied' });
      return operation === 'DeleteObject' && key === 'f/b' ? errorResponse(403, 'AccessDenied') : undefined;
    });
    assertFailure(await send(port, '/delete_folder/f', { method: 'DELETE' }), 403, /permission/);
    proxy.intercept(undefined);
    assertSuccess(await send(port, '/delete_folder/f', { method: 'DELETE' }), {
      message: 'Folder deleted successfully',
    });
    assert.deepEqual(
      (await bucket.keys()).filter((key) => !key.startsWith('.holdall/')),
      [],
    );
  });

  it('without a key makes the store delete all objects of the batch again', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await putAll(opened, ...KEYS);
    const body = '<DeleteResult><Error><Code>InternalError</Code><Message>as it is</Message></Error></DeleteResult>';
    proxy.intercept(firstOf('DeleteObjects', () => ({ status: 200, body })));
    await removeTree(store);
    assert.deepEqual(await bucket.keys(), []);
  });

  it('is retried for InternalError and SlowDown', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await putAll(opened, ...KEYS);
    const failed = deleteErrors({ 'f/a': 'InternalError', 'f/b': 'SlowDown', 'f/c': 'InternalError' });
    proxy.intercept(firstOf('DeleteObjects', () => failed));
    await removeTree(store);
    assert.deepEqual(await bucket.keys(), []);
  });
});

describe('A busy store', () => {
  it('gets DeleteObjects again, as one batch, after five SlowDown responses', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await putAll(opened, ...KEYS);
    proxy.intercept(({ operation }) =>
      operation === 'DeleteObjects' && proxy.count('DeleteObjects') <= 5 ? errorResponse(503, 'SlowDown') : undefined,
    );
    await removeTree(store);
    assert.deepEqual(await bucket.keys(), []);
    assert.equal(proxy.count('DeleteObject'), 0);
  });
});

describe('A removal', { concurrency: CONCURRENT_TESTS }, () => {
  it('succeeds when the response to a completed delete is lost', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    for (const operation of ['DeleteObject', 'DeleteObjects']) {
      await putAll(opened, ...KEYS);
      proxy.intercept(firstOf(operation, () => 'cut when done'));
      if (operation === 'DeleteObject') await store.remove(file('f/a'));
      else await removeTree(store);
    }
    assert.deepEqual(await bucket.keys(), []);
  });

  it('with ifMatch works on a store that returns 501 for If-Match', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await putAll(opened, 'a', 'b');
    proxy.intercept(({ operation, headers }) =>
      operation === 'DeleteObject' && headers['if-match'] !== undefined
        ? errorResponse(501, 'NotImplemented')
        : undefined,
    );
    for (const path of ['a', 'b']) {
      await assert.rejects(store.remove(file(path), { ifMatch: 'another' }), ofKind('condition-failed'));
      await store.remove(file(path), { ifMatch: (await store.stat(file(path))).etag });
    }
    assert.deepEqual(await bucket.keys(), []);
    assert.equal(proxy.count('DeleteObject'), 4, 'The store remembers that If-Match is unsupported.');
  });

  it('of 1,001 objects sends two DeleteObjects requests, with 1,000 keys at most', async (t) => {
    const keys = Array.from({ length: 1001 }, (_, index) => `f/${index + 1000}`);
    const deleted = keys.map((key) => `<Deleted><Key>${key}</Key></Deleted>`).join('');
    const lengths: number[] = [];
    const { store, proxy } = await openFakeBucket(t, ({ operation, query, headers }) => {
      if (operation !== 'DeleteObjects') return listingOf(keys, query.get('continuation-token') ?? undefined);
      lengths.push(Number(headers['content-length']));
      return { status: 200, body: `<DeleteResult>${deleted}</DeleteResult>` };
    });
    await removeTree(store);
    assert.equal(proxy.count('DeleteObjects'), 2);
    assert.equal(proxy.count('DeleteObject'), 0);
    const keysMore = Math.abs((lengths[0] ?? 0) - (lengths[1] ?? 0)) / '<Object><Key>f/1000</Key></Object>'.length;
    assert.equal(keysMore, 999);
  });
});

/** Returns the first page of a listing with 1,000 of these keys, or the second with the rest. */
function listingOf(keys: readonly string[], token: string | undefined): OwnResponse {
  const found = token === undefined ? keys.slice(0, 1000) : keys.slice(1000);
  const contents = found.map((key) => `<Contents><Key>${key}</Key><Size>1</Size><ETag>"e"</ETag></Contents>`);
  const next = token === undefined ? '<NextContinuationToken>2</NextContinuationToken>' : '';
  const isTruncated = `<IsTruncated>${token === undefined}</IsTruncated>`;
  return { status: 200, body: `<ListBucketResult>${isTruncated}${next}${contents.join('')}</ListBucketResult>` };
}
