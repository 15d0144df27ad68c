import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../../src/domain/store.ts';
import { file, folder, ofKind, textOf } from '../contract/bytes.ts';
import { assertFailure, assertSuccess, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { put } from '../servers/objects.ts';
import { openProxied, type ProxiedBucket, serveProxied } from '../servers/proxied-bucket.ts';
import { firstOf, type OwnAnswer, refusal } from '../servers/s3-proxy.ts';

export const needs: readonly Need[] = ['bucket'];

const KEYS = ['f/a', 'f/b', 'f/c'];

async function putAll(opened: ProxiedBucket, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await put(opened, key, key);
}

async function removeTree(store: Store, signal?: AbortSignal): Promise<void> {
  assert.ok(store.removeTree);
  await store.removeTree(folder('f'), { ...(signal && { signal }) });
}

/** An answer to DeleteObjects that says of some keys that they were not removed. */
function notRemoved(errors: Readonly<Record<string, string>>): OwnAnswer {
  const found = Object.entries(errors).map(
    ([key, code]) => `<Error><Key>${key}</Key><Code>${code}</Code><Message>as it is</Message></Error>`,
  );
  return { status: 200, body: `<DeleteResult>${found.join('')}</DeleteResult>` };
}

describe('A store that takes no batch of removals', () => {
  const refusals = {
    MissingContentMD5: refusal(400, 'MissingContentMD5'),
    'InvalidRequest, for the same reason': refusal(400, 'InvalidRequest'),
    NotImplemented: refusal(501, 'NotImplemented'),
    MethodNotAllowed: refusal(405, 'MethodNotAllowed'),
    MalformedXML: refusal(400, 'MalformedXML'),
  };
  for (const [name, answer] of Object.entries(refusals)) {
    it(`is asked for each: ${name}`, async (t) => {
      const opened = await openProxied(t);
      const { store, proxy, bucket } = opened;
      proxy.intercept(({ operation }) => (operation === 'DeleteObjects' ? answer : undefined));
      await putAll(opened, 'fx', ...KEYS);
      await removeTree(store);
      assert.deepEqual(await bucket.keys(), ['fx']);
      assert.equal(proxy.count('DeleteObject'), 3);
      await putAll(opened, ...KEYS);
      proxy.forget();
      await removeTree(store);
      assert.equal(proxy.count('DeleteObjects'), 0, 'It was learned.');
      assert.deepEqual(await bucket.keys(), ['fx']);
    });
  }

  it('gets Content-MD5 where it asks for it', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket, warnings } = opened;
    for (const code of ['MissingContentMD5', 'InvalidRequest']) {
      proxy.intercept(({ operation, headers }) =>
        operation === 'DeleteObjects' && headers['content-md5'] === undefined ? refusal(400, code) : undefined,
      );
      await putAll(opened, ...KEYS);
      await removeTree(store);
      await putAll(opened, ...KEYS);
      await store.moveFolder?.(folder('f'), folder('g'), { replace: true });
    }
    assert.deepEqual(await bucket.keys(), ['g/a', 'g/b', 'g/c']);
    assert.equal(proxy.count('DeleteObject'), 0);
    assert.equal(warnings.length, 1);
  });

  it('is asked for each object of a folder that is moved', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    proxy.intercept(({ operation }) => (operation === 'DeleteObjects' ? refusal(400, 'MissingContentMD5') : undefined));
    await putAll(opened, ...KEYS);
    await store.moveFolder?.(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['g/a', 'g/b', 'g/c']);
  });

  it('may know batches, and no etags in them', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    let refused = 0;
    proxy.intercept(({ operation, headers }) => {
      const hasEtags = operation === 'DeleteObjects' && Number(headers['content-length']) > 250;
      if (hasEtags) refused++;
      return hasEtags ? refusal(400, 'MalformedXML') : undefined;
    });
    await putAll(opened, ...KEYS);
    await store.moveFolder?.(folder('f'), folder('g'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['g/a', 'g/b', 'g/c']);
    assert.equal(refused, 2);
    assert.equal(proxy.count('DeleteObject'), 0);
  });
});

describe('A batch of removals of which the store says', () => {
  it('that something is not there: that counts as removed', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy } = opened;
    await putAll(opened, ...KEYS);
    proxy.intercept(firstOf('DeleteObjects', () => notRemoved({ 'f/b': 'NoSuchKey' })));
    await removeTree(store);
  });

  it('that something is refused: so is the whole, and what it is stays', async (t) => {
    const opened = await serveProxied(t);
    const { port, proxy, bucket } = opened;
    await putAll(opened, ...KEYS);
    proxy.intercept(({ operation, key }) => {
      if (operation === 'DeleteObjects') return notRemoved({ 'f/b': 'AccessDenied' });
      return operation === 'DeleteObject' && key === 'f/b' ? refusal(403, 'AccessDenied') : undefined;
    });
    assertFailure(await send(port, '/delete_folder/f', { method: 'DELETE' }), 403, /permission/);
    proxy.intercept(undefined);
    assertSuccess(await send(port, '/delete_folder/f', { method: 'DELETE' }), {
      message: 'Folder deleted successfully',
    });
    assert.deepEqual(await bucket.keys(), []);
  });

  it('that something is refused, and not what: each is asked for', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await putAll(opened, ...KEYS);
    const body = '<DeleteResult><Error><Code>InternalError</Code><Message>as it is</Message></Error></DeleteResult>';
    proxy.intercept(firstOf('DeleteObjects', () => ({ status: 200, body })));
    await removeTree(store);
    assert.deepEqual(await bucket.keys(), []);
  });

  it('that something failed for the moment: it is asked for again', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await putAll(opened, ...KEYS);
    const failed = notRemoved({ 'f/a': 'InternalError', 'f/b': 'SlowDown', 'f/c': 'InternalError' });
    proxy.intercept(firstOf('DeleteObjects', () => failed));
    await removeTree(store);
    assert.deepEqual(await bucket.keys(), []);
  });
});

describe('A store that is too busy', () => {
  it('for a batch of removals is asked again after all its tries', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await putAll(opened, ...KEYS);
    proxy.intercept(({ operation }) =>
      operation === 'DeleteObjects' && proxy.count('DeleteObjects') <= 5 ? refusal(503, 'SlowDown') : undefined,
    );
    await removeTree(store);
    assert.deepEqual(await bucket.keys(), []);
    assert.equal(proxy.count('DeleteObject'), 0);
  });
});

describe('A removal', () => {
  it('whose answer is lost is found done', async (t) => {
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

  it('of one version goes without its condition, where the store knows none', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    await putAll(opened, 'a', 'b');
    proxy.intercept(({ operation, headers }) =>
      operation === 'DeleteObject' && headers['if-match'] !== undefined ? refusal(501, 'NotImplemented') : undefined,
    );
    for (const path of ['a', 'b']) {
      await assert.rejects(store.remove(file(path), { ifMatch: 'another' }), ofKind('condition-failed'));
      await store.remove(file(path), { ifMatch: (await store.stat(file(path))).etag });
    }
    assert.deepEqual(await bucket.keys(), []);
    assert.equal(proxy.count('DeleteObject'), 4, 'It was learned.');
  });

  it('of many objects goes in batches of 1,000', async (t) => {
    const opened = await openProxied(t);
    const { store, proxy, bucket } = opened;
    const keys = Array.from({ length: 1001 }, (_, index) => `f/${index}`);
    const left = [...keys];
    await Promise.all(
      Array.from({ length: 32 }, async () => {
        for (let key = left.pop(); key !== undefined; key = left.pop()) await put(opened, key, key);
      }),
    );
    await put(opened, 'other', 'other');
    await removeTree(store);
    assert.equal(proxy.count('DeleteObjects'), 2);
    assert.deepEqual(await bucket.keys(), ['other']);
    assert.equal(await textOf(store, 'other'), 'other');
  });
});
