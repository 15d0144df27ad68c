import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { isStoreError } from '../../src/domain/error.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { file, folder, ofKind, plant, textOf, treeOf, upload } from '../contract/bytes.ts';
import { until } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { createBucket } from '../servers/bucket.ts';
import { transfersOf } from '../servers/objects.ts';
import { openProxied } from '../servers/proxied-bucket.ts';
import { refusal } from '../servers/s3-proxy.ts';

export const needs: readonly Need[] = ['bucket'];

describe('A move of a folder over another one', () => {
  it('that was interrupted while it removed is completed, and nothing that was moved is taken for old', async (t) => {
    for (const removed of [['a/1'], ['a/1', 'a/2'], ['a/2', 'a/s/3']]) {
      const { store, proxy, bucket } = await openProxied(t);
      await plant(store, { 'a/1': 'one', 'a/2': 'two', 'a/s/': null, 'a/s/3': 'three', 'b/1': 'old', 'b/old': 'old' });
      const move = () => transfersOf(store).moveFolder(folder('a'), folder('b'), { replace: true });
      proxy.intercept(({ operation, key, query }) => {
        const isOfSource = operation === 'DeleteObject' && key?.startsWith('a/');
        return isOfSource || (operation === 'DeleteObjects' && query.has('delete'))
          ? refusal(403, 'AccessDenied')
          : undefined;
      });
      await assert.rejects(move(), ofKind('denied'));
      proxy.intercept(undefined);
      // As far as a process may have come that was killed then.
      for (const Key of ['b/old', ...removed]) {
        await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key }));
      }
      await move();
      const moved = { 'b/': null, 'b/1': 'one', 'b/2': 'two', 'b/s/': null, 'b/s/3': 'three' };
      assert.deepEqual(await treeOf(store), moved, removed.join());
    }
  });

  it('leaves one file in the source until all else is gone, so that it can go on', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { 'a/s/': null, 'a/t/': null, 'a/u': 'one', 'a/v/w': 'two', 'a/v/x/': null });
    const move = () => transfersOf(store).moveFolder(folder('a'), folder('b'), { replace: false });
    let batches = 0;
    proxy.intercept(({ operation }) =>
      operation === 'DeleteObjects' && ++batches === 2 ? refusal(403, 'AccessDenied') : undefined,
    );
    await assert.rejects(move(), ofKind('denied'));
    const keys = await bucket.keys();
    assert.deepEqual(
      keys.filter((key) => key.startsWith('a/')),
      ['a/u'],
    );
    await move();
    assert.deepEqual(await bucket.keys(), ['b/', 'b/s/', 'b/t/', 'b/u', 'b/v/', 'b/v/w', 'b/v/x/']);
  });

  it('leaves that file where it changes while the rest is removed', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { 'a/1': 'one', 'a/2': 'two' });
    const change = new PutObjectCommand({ Bucket: bucket.name, Key: 'a/1', Body: 'changed' });
    proxy.intercept(async ({ operation }) => {
      if (operation !== 'DeleteObjects') return undefined;
      if (proxy.count('DeleteObjects') === 1) await bucket.client.send(change);
      return undefined;
    });
    await transfersOf(store).moveFolder(folder('a'), folder('b'), { replace: false });
    assert.deepEqual(await bucket.keys(), ['a/1', 'b/1', 'b/2']);
    assert.equal(await textOf(store, 'a/1'), 'changed');
    assert.equal(await textOf(store, 'b/1'), 'one');
  });

  it('twice at once loses nothing', async (t) => {
    const { store, bucket } = await openProxied(t);
    const names = Array.from({ length: 300 }, (_, index) => String(index).padStart(4, '0'));
    await plant(store, { 'b/old': 'old' });
    await Promise.all(
      names.map((name) =>
        bucket.client.send(new PutObjectCommand({ Bucket: bucket.name, Key: `a/${name}`, Body: name })),
      ),
    );
    const move = () => transfersOf(store).moveFolder(folder('a'), folder('b'), { replace: true });
    const first = move();
    const outcomes = await Promise.allSettled([first, move(), first.then(move, move)]);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(isStoreError(outcome.reason), String(outcome.reason));
    }
    const keys = new Set(await bucket.keys());
    for (const name of names) assert.ok(keys.has(`a/${name}`) || keys.has(`b/${name}`), name);
  });
});

describe('A copy of a folder over another one', () => {
  it('whose source goes meanwhile leaves what the destination held', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { 'a/1': 'one', 'a/2': 'two', 'b/1': 'old', 'b/old': 'old' });
    const gate = Promise.withResolvers<undefined>();
    proxy.intercept(({ operation, key }) => (operation === 'CopyObject' && key === 'b/2' ? gate.promise : undefined));
    const copying = transfersOf(store).copyFolder(folder('a'), folder('b'), { replace: true });
    await until('the copies have begun', () => proxy.count('CopyObject') === 2);
    for (const Key of ['a/1', 'a/2']) await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key }));
    gate.resolve(undefined);
    await copying.catch((error: unknown) => assert.ok(isStoreError(error), String(error)));
    assert.equal(await textOf(store, 'b/old'), 'old');
  });
});

it('A move of a file onto another of the same bytes and another type is a conflict', async (t) => {
  const { store } = await openProxied(t);
  await store.write(file('a'), upload('text', 'text/html'));
  await store.write(file('b'), upload('text', 'text/plain'));
  await assert.rejects(transfersOf(store).move(file('a'), file('b'), { replace: false }), ofKind('already-exists'));
  assert.equal((await store.stat(file('a'))).type, 'text/html');
});

describe('An object that others gave a name in its headers', () => {
  it('keeps it, whatever its letters, when it is copied and moved', async (t) => {
    const bucket = await createBucket();
    t.after(() => bucket.remove());
    const store = openS3({ ...bucket.settings, warn: () => {} });
    t.after(() => store.close?.());
    const ContentDisposition = Buffer.from('inline; filename="Übersicht 日本.pdf"').toString('latin1');
    const put = new PutObjectCommand({ Bucket: bucket.name, Key: 'f/a', Body: 'text' });
    put.middlewareStack.add(
      (next) => async (given) => {
        // Signed as text and sent as the bytes of UTF-8, as other programs do it.
        const { headers } = given.request as { headers: Record<string, string> };
        headers['content-disposition'] = ContentDisposition;
        return next(given);
      },
      { step: 'deserialize', priority: 'low' },
    );
    put.middlewareStack.add(
      (next) => async (given) => {
        const { headers } = given.request as { headers: Record<string, string> };
        headers['content-disposition'] = Buffer.from(ContentDisposition, 'latin1').toString('utf8');
        return next(given);
      },
      { step: 'build' },
    );
    await bucket.client.send(put);
    const dispositionOf = async (path: string) => {
      const object = new GetObjectCommand({ Bucket: bucket.name, Key: path });
      const response = await fetch(await getSignedUrl(bucket.client, object, { expiresIn: 60 }));
      return response.headers.get('content-disposition');
    };
    const before = await dispositionOf('f/a');
    assert.match(Buffer.from(before ?? '', 'latin1').toString('utf8'), /Übersicht 日本/);
    const transfers = transfersOf(store);
    await transfers.copy(file('f/a'), file('copy'), { replace: false });
    await transfers.move(file('copy'), file('moved'), { replace: false });
    await transfers.copyFolder(folder('f'), folder('g'), { replace: false });
    for (const path of ['moved', 'g/a']) assert.equal(await dispositionOf(path), before, path);
  });
});
