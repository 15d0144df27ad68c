import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { ListObjectVersionsCommand, PutBucketVersioningCommand } from '@aws-sdk/client-s3';
import { newKeptId } from '../../src/model/kept-ids.ts';
import type { FilePath } from '../../src/model/path.ts';
import type { Store, TrashStore, VersionStore } from '../../src/model/store.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import { testObjectStore } from '../../testing/servers/object-store.ts';
import { LARGE, MAX_COPY_BYTES } from '../../testing/servers/objects.ts';
import { type S3Proxy, startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { file, folder, ofKind, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

type KeepingStore = Store & Required<TrashStore & VersionStore>;

interface Opened {
  readonly bucket: TestBucket;
  readonly proxy: S3Proxy;
  readonly store: KeepingStore;
  /** Opens a store that has remembered nothing about the bucket. */
  reopen(): KeepingStore;
}

async function open(t: TestContext, isVersioned = true): Promise<Opened> {
  const bucket = await createBucket(undefined, { isVersioned });
  const proxy = await startS3Proxy(testObjectStore());
  const reopen = () => {
    const options = { ...bucket.settings, endpoint: proxy.url, maxCopyBytes: MAX_COPY_BYTES, warn: () => {} };
    const store = openS3(options) as KeepingStore;
    atEnd(t, () => store.close?.());
    return store;
  };
  atEnd(t, () => proxy.stop());
  return { bucket, proxy, store: reopen(), reopen };
}

const A = file('f/a');

async function textsOf(store: KeepingStore, path: FilePath = A): Promise<string[]> {
  const { versions } = await store.listVersions(path);
  const texts = versions.map(async ({ id }) => (await buffer((await store.readVersion(path, id)).body)).toString());
  return Promise.all(texts);
}

async function setVersioning({ client, name }: TestBucket, Status: 'Enabled' | 'Suspended'): Promise<void> {
  await client.send(new PutBucketVersioningCommand({ Bucket: name, VersioningConfiguration: { Status } }));
}

/** Returns all versions and delete markers as `key`, or `key deleted`. */
async function historyOf({ client, name }: TestBucket): Promise<string[]> {
  const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket: name }));
  return [...Versions.map(({ Key = '' }) => Key), ...DeleteMarkers.map(({ Key }) => `${Key} deleted`)].toSorted();
}

describe('A version in a bucket with object versions', () => {
  it('costs a replacement no copy', async (t) => {
    const { store, proxy } = await open(t);
    await store.write(A, upload('1'), { keep: {} });
    await store.write(A, upload('2'), { keep: {} });
    proxy.forget();
    await store.write(A, upload('3'), { keep: {} });
    assert.deepEqual([proxy.count('CopyObject'), proxy.count('PutObject')], [0, 1]);
    assert.equal(proxy.count('GetBucketVersioning'), 0, 'The store remembers that the bucket has versions.');
    assert.deepEqual(await textsOf(store), ['2', '1']);
  });

  it('is also what other programs replace, but not what was deleted or moved', async (t) => {
    const { store, bucket, reopen } = await open(t);
    for (const text of ['1', '2']) await store.write(A, upload(text), { keep: { user: 'ann' } });
    const other = reopen();
    await other.write(A, upload('3'));
    const { versions } = await store.listVersions(A);
    assert.deepEqual(
      versions.map(({ replacedBy }) => replacedBy),
      [undefined, 'ann'],
    );
    await other.remove(A);
    assert.deepEqual(await textsOf(store), ['2', '1']);
    await store.write(A, upload('4'), { keep: {} });
    assert.deepEqual(await textsOf(store), ['2', '1']);
    assert.ok((await bucket.keys()).includes('f/a'));
  });

  it('can be large, and be restored with its attributes', async (t) => {
    const { store } = await open(t);
    const large = () => ({ ...upload(LARGE.toString()), type: 'text/x-own' });
    await store.write(A, large(), { keep: { user: 'ann' } });
    await store.write(A, upload('small'), { keep: { user: 'ben' } });
    const [version] = (await store.listVersions(A)).versions;
    assert.ok(version);
    const { type, size } = await store.restoreVersion(A, version.id, { keep: {} });
    assert.deepEqual([type, size], ['text/x-own', LARGE.length]);
    // The copy must not have the user of its source.
    const [newest] = (await store.listVersions(A)).versions;
    assert.deepEqual([newest?.size, newest?.replacedBy], [5, undefined]);
  });

  it('is purged permanently, without restoring what was deleted', async (t) => {
    const { store, bucket } = await open(t);
    for (const path of ['f/a', 'f/g/b', 'fg'].map(file)) {
      for (const text of ['1', '2']) await store.write(path, upload(text), { keep: {} });
    }
    await store.remove(A);
    await store.purgeVersions(A);
    assert.deepEqual(await historyOf(bucket), ['f/g/b', 'f/g/b', 'fg', 'fg']);
    await store.purgeVersions(folder('f'));
    assert.deepEqual(await historyOf(bucket), ['f/g/b', 'fg', 'fg']);
    assert.equal(await textOf(store, 'f/g/b'), '2');
  });

  it('expires with the content and the markers of deletes', async (t) => {
    const { store, bucket } = await open(t);
    for (const text of ['1', '22', '333']) await store.write(A, upload(text), { keep: {} });
    await store.write(file('b'), upload('4444'));
    await store.remove(file('b'));
    assert.deepEqual(await store.expireVersions({ before: new Date(0) }), { removed: 0, remaining: 3, bytes: 7 });
    const all = { before: new Date(Date.now() + 60_000) };
    assert.deepEqual(await store.expireVersions(all), { removed: 3, remaining: 0, bytes: 0 });
    assert.deepEqual([await historyOf(bucket), await treeOf(store)], [['f/a'], { 'f/': null, 'f/a': '333' }]);
  });

  it('leaves nothing of an item that was purged from the trash', async (t) => {
    const { store, bucket } = await open(t);
    for (const path of ['f/a', 'f/b', 'c']) await store.write(file(path), upload(path));
    for (const path of [folder('f'), file('c')]) {
      const { id } = await store.moveToTrash(path, { id: newKeptId() });
      await store.purgeTrashed(id);
      const remaining = (await historyOf(bucket)).filter((key) => key.startsWith('.holdall/trash'));
      assert.deepEqual(remaining, []);
    }
    await store.expireVersions({ before: new Date(Date.now() + 60_000) });
    assert.deepEqual(await historyOf(bucket), []);
  });

  it('remains when the versions of the bucket are enabled or suspended', async (t) => {
    const { store, bucket, reopen } = await open(t, false);
    for (const text of ['1', '2', '3']) await store.write(A, upload(text), { keep: {} });
    await setVersioning(bucket, 'Enabled');
    const enabled = reopen();
    for (const text of ['4', '5']) await enabled.write(A, upload(text), { keep: {} });
    assert.deepEqual(await textsOf(enabled), ['4', '3', '2', '1']);
    const pages: number[] = [];
    for (let cursor: string | undefined; ; ) {
      const page: Awaited<ReturnType<KeepingStore['listVersions']>> = await enabled.listVersions(A, {
        cursor,
        limit: 2,
      });
      pages.push(page.versions.length);
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    assert.equal(
      pages.reduce((sum, count) => sum + count),
      4,
    );
    await setVersioning(bucket, 'Suspended');
    const suspended = reopen();
    await suspended.write(A, upload('6'), { keep: {} });
    // A bucket without versions replaces the object from before it had any, here 3.
    assert.deepEqual(new Set(await textsOf(suspended)), new Set(['5', '4', '2', '1']));
    await suspended.purgeVersions(A);
    assert.deepEqual([await textsOf(suspended), await textOf(suspended, 'f/a')], [[], '6']);
  });

  it('is not-found for ids of other objects', async (t) => {
    const { store } = await open(t);
    for (const path of [A, file('f/ab')]) for (const text of ['1', '2']) await store.write(path, upload(text));
    const [other] = (await store.listVersions(file('f/ab'))).versions;
    assert.ok(other);
    await assert.rejects(store.readVersion(A, other.id), ofKind('not-found'));
    assert.deepEqual(await textsOf(store), ['1']);
  });
});
