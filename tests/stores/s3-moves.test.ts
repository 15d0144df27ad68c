import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { isStoreError } from '../../src/model/error.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { transfersOf } from '../../testing/servers/objects.ts';
import { openProxied } from '../../testing/servers/proxied-bucket.ts';
import { errorResponse } from '../../testing/servers/s3-proxy.ts';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, plant, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

describe('A folder move', () => {
  it('interrupted while it deletes the source can be repeated, and keeps the files already moved', async (t) => {
    const removals = [['a/2', 'a/s/3'], ['a/1'], ['a/1', 'a/2']];
    for (const removed of removals) {
      const { store, proxy, bucket } = await openProxied(t);
      await plant(store, { 'a/1': 'one', 'a/2': 'two', 'a/s/': null, 'a/s/3': 'three', 'b/1': 'old', 'b/old': 'old' });
      const move = () => transfersOf(store).moveFolder(folder('a'), folder('b'), { replace: true });
      proxy.intercept(({ operation, key, query }) => {
        const isOfSource = operation === 'DeleteObject' && key?.startsWith('a/');
        return isOfSource || (operation === 'DeleteObjects' && query.has('delete'))
          ? errorResponse(403, 'AccessDenied')
          : undefined;
      });
      await assert.rejects(move(), ofKind('denied'));
      proxy.intercept(undefined);
      // Deletes what a process may have deleted before it was killed.
      for (const Key of ['b/old', ...removed]) {
        await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key }));
      }
      await move();
      const moved = { 'b/': null, 'b/1': 'one', 'b/2': 'two', 'b/s/': null, 'b/s/3': 'three' };
      assert.deepEqual(await treeOf(store), moved, removed.join());
    }
  });

  it('deletes one source file last, so an interrupted move can be repeated', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { 'a/s/': null, 'a/t/': null, 'a/u': 'one', 'a/v/w': 'two', 'a/v/x/': null });
    const move = () => transfersOf(store).moveFolder(folder('a'), folder('b'), { replace: false });
    let batches = 0;
    proxy.intercept(({ operation }) =>
      operation === 'DeleteObjects' && ++batches === 2 ? errorResponse(403, 'AccessDenied') : undefined,
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

  it('keeps that file if it changes while the rest is deleted', async (t) => {
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

  it('loses no file when it runs twice concurrently', async (t) => {
    const { store, bucket } = await openProxied(t);
    const names = Array.from({ length: 40 }, (_, index) => String(index).padStart(4, '0'));
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

describe('A folder copy over an existing folder', () => {
  it('keeps files that only the destination has if the source is deleted meanwhile', async (t) => {
    const { store, proxy, bucket } = await openProxied(t);
    await plant(store, { 'a/1': 'one', 'a/2': 'two', 'b/1': 'old', 'b/old': 'old' });
    const gate = Promise.withResolvers<undefined>();
    proxy.intercept(({ operation, key }) => (operation === 'CopyObject' && key === 'b/2' ? gate.promise : undefined));
    const copying = transfersOf(store).copyFolder(folder('a'), folder('b'), { replace: true });
    await until('both copies are in progress', () => proxy.count('CopyObject') === 2);
    for (const Key of ['a/1', 'a/2']) await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key }));
    gate.resolve(undefined);
    await copying.catch((error: unknown) => assert.ok(isStoreError(error), String(error)));
    assert.equal(await textOf(store, 'b/old'), 'old');
  });
});

it('A file move onto a file with equal content but another type is a conflict', async (t) => {
  const { store } = await openProxied(t);
  await store.write(file('a'), upload('text', 'text/html'));
  await store.write(file('b'), upload('text', 'text/plain'));
  await assert.rejects(transfersOf(store).move(file('a'), file('b'), { replace: false }), ofKind('already-exists'));
  assert.equal((await store.stat(file('a'))).type, 'text/html');
});

describe('A Content-Disposition set by another client', () => {
  it('is kept with its non-ASCII file name when the object is copied or moved', async (t) => {
    const bucket = await createBucket();
    t.after(() => bucket.remove());
    const store = openS3({ ...bucket.settings, warn: () => {} });
    t.after(() => store.close?.());
    const ContentDisposition = Buffer.from('inline; filename="Übersicht 日本.pdf"').toString('latin1');
    const put = new PutObjectCommand({ Bucket: bucket.name, Key: 'f/a', Body: 'text' });
    put.middlewareStack.add(
      (next) => async (args) => {
        // Signed as UTF-8 text and sent as the bytes of it, as other S3 clients do.
        const { headers } = args.request as { headers: Record<string, string> };
        headers['content-disposition'] = ContentDisposition;
        return next(args);
      },
      { step: 'deserialize', priority: 'low' },
    );
    put.middlewareStack.add(
      (next) => async (args) => {
        const { headers } = args.request as { headers: Record<string, string> };
        headers['content-disposition'] = Buffer.from(ContentDisposition, 'latin1').toString('utf8');
        return next(args);
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
