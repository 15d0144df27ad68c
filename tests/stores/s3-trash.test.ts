import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type KeptId, newKeptId } from '../../src/model/kept-ids.ts';
import type { Store, TrashStore } from '../../src/model/store.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { atEnd } from '../../testing/holdall.ts';
import { openFakeBucket } from '../../testing/servers/fake-bucket.ts';
import { expireLeases, LARGE, MAX_COPY_BYTES, put } from '../../testing/servers/objects.ts';
import { openProxied, type ProxiedBucket } from '../../testing/servers/proxied-bucket.ts';
import { type Cost, costOf } from '../../testing/servers/s3-costs.ts';
import { errorResponse, type S3Request } from '../../testing/servers/s3-proxy.ts';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, plant, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { bucketOf } from './large-folders.ts';

export const needs: readonly Need[] = ['bucket'];

type TrashingStore = Store & TrashStore;

/** Milliseconds of a lease that is lost during a test. The store's times have seconds. */
const LEASE_MS = 1000;

const TREE = { 'f/': null, 'f/a': '1', 'f/b': '2', 'f/c': '3', 'f/d': '4', 'f/g/': null, 'f/g/e': '5' };

const trashed = (store: TrashingStore, path: 'f' | 'a') =>
  store.moveToTrash(path === 'f' ? folder(path) : file(path), { id: newKeptId(), user: 'ann' });

const pathsInTrash = async (store: TrashingStore) => (await store.listTrash()).items.map(({ path }) => path);

/** Returns the keys of Holdall's own objects. */
const ownKeys = async ({ bucket }: ProxiedBucket) => (await bucket.keys()).filter((key) => key.startsWith('.holdall/'));

const isDeletion = ({ operation, key }: S3Request) =>
  operation === 'DeleteObjects' || (operation === 'DeleteObject' && !key?.startsWith('.holdall/'));

/** Opens a store whose requests reach the bucket through a proxy, and another one without it, like another process. */
async function openBoth(t: TestContext) {
  const opened = await openProxied(t, { concurrency: 1 });
  const other = openS3({ ...opened.bucket.settings, warn: () => {} }) as TrashingStore;
  atEnd(t, () => other.close?.());
  return { ...opened, store: opened.store as TrashingStore, other };
}

/** Lets no request from `isFirst` on reach the bucket, as if the process had died. Returns when its leases have expired. */
async function stopAt(opened: ProxiedBucket, isFirst: (request: S3Request) => boolean, run: () => Promise<unknown>) {
  let hasStopped = false;
  opened.proxy.intercept((request) => {
    hasStopped ||= isFirst(request);
    return hasStopped ? new Promise<undefined>(() => {}) : undefined;
  });
  // Ends with the proxy.
  run().catch(() => {});
  await until('the process has died', () => hasStopped);
  await expireLeases(opened);
}

describe("Holdall's own folder in a bucket", { concurrency: CONCURRENT_TESTS }, () => {
  const OWN = ['.holdall/trash/x.json', '.holdall/a', '.holdall'];

  it('is not listed, and no operation finds it', async (t) => {
    const opened = await openProxied(t);
    const { store, bucket } = opened;
    await plant(store, { 'a/b': '1', 'z/c': '2', 'e/.holdall/d': '3' });
    for (const key of OWN) await put(opened, key, 'own');
    assert.deepEqual(Object.keys(await treeOf(store)), ['a/', 'a/b', 'e/', 'e/.holdall/', 'e/.holdall/d', 'z/', 'z/c']);
    const walked = await Array.fromAsync(store.walk?.(folder('')) ?? []);
    assert.deepEqual(
      walked.map(({ path }) => path),
      ['a/b', 'e/.holdall/d', 'z/c'],
    );
    assert.deepEqual(await Array.fromAsync(store.walk?.(folder('.holdall')) ?? []), []);

    const { stat, copy, move, moveFolder, copyFolder, removeTree, moveToTrash } = store;
    assert.ok(copy && move && moveFolder && copyFolder && removeTree && moveToTrash);
    const replace = { replace: true };
    for (const path of ['.holdall', '.holdall/a', '.holdall/trash/x.json'].map(file)) {
      await assert.rejects(stat(path), ofKind('not-found'));
      await assert.rejects(store.read(path), ofKind('not-found'));
      await assert.rejects(store.write(path, upload('x')), ofKind('not-found'));
      await assert.rejects(store.remove(path), ofKind('not-found'));
      await assert.rejects(copy(path, file('copy'), replace), ofKind('not-found'));
      await assert.rejects(copy(file('a/b'), path, replace), ofKind('not-found'));
      await assert.rejects(move(file('a/b'), path, replace), ofKind('not-found'));
      await assert.rejects(moveToTrash(path, { id: newKeptId() }), ofKind('not-found'));
    }
    for (const path of ['.holdall', '.holdall/trash'].map(folder)) {
      await assert.rejects(store.list(path), ofKind('not-found'));
      await assert.rejects(store.createFolder(path), ofKind('not-found'));
      await assert.rejects(store.removeFolder(path), ofKind('not-found'));
      await assert.rejects(removeTree(path), ofKind('not-found'));
      await assert.rejects(moveFolder(folder('a'), path, replace), ofKind('not-found'));
      await assert.rejects(copyFolder(path, folder('y'), replace), ofKind('not-found'));
    }
    assert.deepEqual(await bucket.keys(), [
      '.holdall',
      '.holdall/a',
      '.holdall/trash/x.json',
      'a/b',
      'e/.holdall/d',
      'z/c',
    ]);
  });

  it('costs a walk of everything at most one more request, however many objects it has', async (t) => {
    const own = Array.from({ length: 101 }, (_, number) => `.holdall/${number}`);
    const { store, proxy } = await openFakeBucket(t, bucketOf([...own, 'a'], 10).respond);
    assert.equal((await Array.fromAsync(store.walk?.(folder('')) ?? [])).length, 1);
    assert.equal(proxy.count('ListObjectsV2'), 2);
  });
});

describe('The documented number of S3 requests of the trash', () => {
  it('matches the requests sent', async (t) => {
    const { store, proxy } = await openProxied(t);
    assert.ok(store.restoreTrashed && store.moveToTrash);
    const names = Array.from({ length: 10 }, (_, number) => `f/${number}`);
    await plant(store, { a: 'x', ...Object.fromEntries(names.map((name) => [name, name])) });
    const costs: Cost[] = [];
    const count = async (work: () => Promise<unknown>) => {
      proxy.forget();
      await work();
      costs.push(costOf(proxy.requests));
    };
    const ids = [newKeptId(), newKeptId()] as const;
    // The store remembers for some minutes whether the bucket has object versions.
    await store.listVersions?.(file('a'));
    const { moveToTrash, restoreTrashed } = store;
    await count(() => moveToTrash(file('a'), { id: ids[0] }));
    await count(() => moveToTrash(folder('f'), { id: ids[1] }));
    await count(() => restoreTrashed(ids[0], file('a')));
    await count(() => restoreTrashed(ids[1], folder('f')));
    const expected = [
      { a: 3, b: 4 },
      { a: 25, b: 2 },
      { a: 2, b: 7 },
      { a: 22, b: 3 },
    ];
    assert.deepEqual(costs, expected);
  });
});

describe('A delete to the trash of a bucket', () => {
  it('copies large objects in parts, with their attributes', async (t) => {
    const opened = await openProxied(t, { maxCopyBytes: MAX_COPY_BYTES });
    const store = opened.store as TrashingStore;
    await put(opened, 'a', LARGE);
    const { id } = await trashed(store, 'a');
    await store.restoreTrashed(id, file('a'));
    const { size, type } = await store.stat(file('a'));
    assert.deepEqual([size, type], [LARGE.length, 'text/csv']);
    assert.deepEqual(await ownKeys(opened), []);
  });

  it('leaves nothing in the trash when it is cancelled during the copy', async (t) => {
    const opened = await openBoth(t);
    const { store, proxy } = opened;
    await plant(store, TREE);
    const controller = new AbortController();
    proxy.intercept(({ operation }) => {
      if (operation === 'CopyObject' && proxy.count('CopyObject') === 3) controller.abort(new Error('left'));
      return undefined;
    });
    const moving = store.moveToTrash(folder('f'), { id: newKeptId(), signal: controller.signal });
    await assert.rejects(moving, /left/);
    assert.deepEqual([await treeOf(store), await ownKeys(opened)], [TREE, []]);
  });

  it('leaves nothing in the trash when the copy fails', async (t) => {
    const opened = await openBoth(t);
    const { store, proxy } = opened;
    await plant(store, TREE);
    proxy.intercept(({ operation }) =>
      operation === 'CopyObject' && proxy.count('CopyObject') === 3 ? errorResponse(403, 'AccessDenied') : undefined,
    );
    await assert.rejects(trashed(store, 'f'), ofKind('denied'));
    assert.deepEqual([await treeOf(store), await ownKeys(opened)], [TREE, []]);
  });

  it('is completed by the next delete under its id if it failed while it removed the source', async (t) => {
    const opened = await openBoth(t);
    const { store, proxy, other } = opened;
    await plant(store, TREE);
    proxy.intercept((request) => (isDeletion(request) ? errorResponse(403, 'AccessDenied') : undefined));
    const id = newKeptId();
    await assert.rejects(store.moveToTrash(folder('f'), { id }), ofKind('denied'));
    await other.remove(file('f/b'));
    const item = await trashed(other, 'f');
    assert.deepEqual([item.id, await treeOf(other)], [id, {}]);
    await other.restoreTrashed(id, folder('f'));
    assert.deepEqual([await treeOf(other), await ownKeys(opened)], [TREE, []]);
  });

  it('of a path with new content since an interruption makes a second item', async (t) => {
    const opened = await openBoth(t);
    const { store, proxy, other } = opened;
    await plant(store, { 'f/a': '1', 'f/b': '2', a: 'old' });
    proxy.intercept((request) => (isDeletion(request) ? errorResponse(403, 'AccessDenied') : undefined));
    await assert.rejects(trashed(store, 'f'), ofKind('denied'));
    await assert.rejects(trashed(store, 'a'), ofKind('denied'));
    await Promise.all([
      other.remove(file('f/a')),
      other.write(file('f/b'), upload('new')),
      other.write(file('a'), upload('new')),
    ]);
    for (const path of ['f', 'a'] as const) await trashed(other, path);
    const { items } = await other.listTrash();
    assert.deepEqual(items.map(({ path }) => path).toSorted(), ['a', 'a', 'f/', 'f/']);
    for (const { id, path } of items) {
      const to = `restored/${id}`;
      await other.restoreTrashed(id, path.endsWith('/') ? folder(to) : file(to));
    }
    const texts = Object.values(await treeOf(other)).filter((text) => text !== null);
    assert.deepEqual(texts.toSorted(), ['1', '2', 'new', 'new', 'old']);
  });

  it('stops when its lease could not be renewed', async (t) => {
    const opened = await openProxied(t, { leaseMs: LEASE_MS, concurrency: 1 });
    const { proxy } = opened;
    const [store, other] = [opened.store as TrashingStore, opened.store as TrashingStore];
    await plant(store, TREE);
    let renewals = 0;
    proxy.intercept(async ({ operation, key }) => {
      if (operation === 'PutObject' && key?.startsWith('.holdall/leases/') && ++renewals > 1)
        return errorResponse(403, 'AccessDenied');
      if (operation === 'CopyObject') await until('the lease is lost', () => renewals > 3);
      return undefined;
    });
    await assert.rejects(trashed(store, 'f'), { name: 'StoreError', code: 'store-busy' });
    proxy.intercept(undefined);
    assert.deepEqual(await treeOf(other), TREE);
    await expireLeases(opened);
    assert.deepEqual([await pathsInTrash(other), await ownKeys(opened)], [[], []]);
  });
});

describe('A delete to the trash of a bucket whose process died', () => {
  const DELETED = ['f', 'a'] as const;
  const isOnlyOwn = ({ operation, key }: S3Request, wanted: string, folderOfKey: string) =>
    operation === wanted && key?.startsWith(`.holdall/${folderOfKey}/`) === true;

  it('is undone by the next listing if it had only copied', async (t) => {
    for (const path of DELETED) {
      const opened = await openBoth(t);
      const { store, other } = opened;
      await plant(store, { ...TREE, a: 'x' });
      const isFirst =
        path === 'f'
          ? (request: S3Request) => opened.proxy.count('CopyObject') > 3 && request.operation === 'CopyObject'
          : isDeletion;
      await stopAt(opened, isFirst, () => trashed(store, path));
      assert.deepEqual([await pathsInTrash(other), await ownKeys(opened)], [[], []]);
      assert.deepEqual(await treeOf(other), { ...TREE, a: 'x' });
    }
  });

  it('becomes an item with the next listing if it had removed something', async (t) => {
    for (const path of DELETED) {
      const opened = await openBoth(t);
      const { store, other } = opened;
      await plant(store, { ...TREE, a: 'x' });
      // The record of the item follows the last removal.
      await stopAt(
        opened,
        (request) => isOnlyOwn(request, 'PutObject', 'trash'),
        () => trashed(store, path),
      );
      const [item] = (await other.listTrash()).items;
      assert.ok(item);
      assert.deepEqual([item.user, item.size], ['ann', path === 'f' ? 5 : 1]);
      await other.restoreTrashed(item.id, item.path);
      assert.deepEqual([await treeOf(other), await ownKeys(opened)], [{ ...TREE, a: 'x' }, []]);
    }
  });

  it('is completed by the next delete, also if nothing remained at the path', async (t) => {
    const opened = await openBoth(t);
    const { store, other } = opened;
    await plant(store, { a: 'x' });
    await stopAt(
      opened,
      (request) => isOnlyOwn(request, 'PutObject', 'trash'),
      () => trashed(store, 'a'),
    );
    const item = await trashed(other, 'a');
    assert.deepEqual(await other.findTrashed(item.id), item);
    assert.deepEqual(await pathsInTrash(other), ['a']);
  });
});

describe('An item in the trash of a bucket', { concurrency: CONCURRENT_TESTS }, () => {
  it('is restored once when two processes restore it at the same time', async (t) => {
    const opened = await openBoth(t);
    const { store, other } = opened;
    for (let round = 0; round < 2; round++) {
      await plant(store, { 'f/a': '1', 'f/b': '2' });
      const { id } = await trashed(store, 'f');
      const outcomes = await Promise.allSettled([
        store.restoreTrashed(id, folder('x')),
        other.restoreTrashed(id, folder('y')),
      ]);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      const texts = Object.values(await treeOf(store)).filter((text) => text !== null);
      assert.deepEqual(texts.toSorted(), ['1', '2']);
      for (const name of ['x', 'y']) await store.removeTree?.(folder(name)).catch(() => {});
    }
  });

  it('stays in the trash if its restore was interrupted, which the next restore completes', async (t) => {
    const opened = await openBoth(t);
    const { store, proxy, other } = opened;
    await plant(store, TREE);
    const { id } = await trashed(store, 'f');
    proxy.intercept(({ operation }) =>
      operation === 'DeleteObjects' ? errorResponse(403, 'AccessDenied') : undefined,
    );
    await assert.rejects(store.restoreTrashed(id, folder('f')), ofKind('denied'));
    proxy.intercept(undefined);
    assert.deepEqual(await pathsInTrash(other), ['f/']);
    await other.restoreTrashed(id, folder('f'));
    assert.deepEqual([await treeOf(other), await ownKeys(opened)], [TREE, []]);
  });

  it('keeps a file that a client creates at the destination during a restore', async (t) => {
    const { store, proxy, other } = await openBoth(t);
    await plant(store, { 'f/a': '1', 'f/b': '2' });
    const { id } = await trashed(store, 'f');
    proxy.intercept(async ({ operation, key }) => {
      if (operation === 'CopyObject' && key === 'f/b') await other.write(file('f/c'), upload('new'));
      return operation === 'CopyObject' && key === 'f/b' ? errorResponse(403, 'AccessDenied') : undefined;
    });
    await assert.rejects(store.restoreTrashed(id, folder('f')), ofKind('denied'));
    assert.deepEqual(await treeOf(other), { 'f/': null, 'f/c': 'new' });
    assert.deepEqual(await pathsInTrash(other), ['f/']);
  });

  const destinations = { 'that did not exist': {}, 'that was moved to the trash': { 'to/b': '2' } };
  for (const [when, present] of Object.entries<object>(destinations)) {
    it(`keeps a file that a client creates while a move replaces a folder ${when}`, async (t) => {
      const { store, proxy, other } = await openBoth(t);
      const isEmpty = Object.keys(present).length === 0;
      await plant(store, { 'from/a': '1', ...present });
      let isReady = false;
      let isCreated = false;
      proxy.intercept(async ({ operation, key, query }) => {
        const isListing = operation === 'ListObjectsV2' && query.get('prefix') === 'to/';
        if (isListing && isReady && !isCreated) {
          isCreated = true;
          await other.write(file('to/new'), upload('new'));
        }
        isReady ||= isEmpty ? isListing : operation === 'PutObject' && key?.startsWith('.holdall/trash/') === true;
        return undefined;
      });
      assert.ok(store.moveFolder);
      await store.moveFolder(folder('from'), folder('to'), { replace: true, keep: {} });
      assert.ok(isCreated);
      assert.deepEqual(await treeOf(other), { 'to/': null, 'to/a': '1' });
      const { items } = await other.listTrash();
      for (const { id } of items) await other.restoreTrashed(id, folder(`kept/${id}`));
      const names = Object.keys(await treeOf(other)).flatMap((path) => /^kept\/.*\/(\w+)$/.exec(path)?.[1] ?? []);
      assert.deepEqual(names.toSorted(), isEmpty ? ['new'] : ['b', 'new']);
    });
  }

  it('is not listed if another program damaged its record', async (t) => {
    const opened = await openBoth(t);
    const { store, warnings } = opened;
    await plant(store, { a: '1', 'f/b': '2' });
    const { id } = await trashed(store, 'a');
    await trashed(store, 'f');
    await put(opened, `.holdall/trash/${id}.json`, '{"path": "../a"}');
    await put(opened, '.holdall/trash/other.json', '{}');
    assert.deepEqual(await pathsInTrash(store), ['f/']);
    await assert.rejects(store.findTrashed(id), ofKind('not-found'));
    assert.ok(warnings.some(({ message }) => message.includes('invalid record')));
  });

  it('can have the longest path of a file, but a folder needs 45 bytes more', async (t) => {
    const { store } = await openBoth(t);
    const long = `${'x'.repeat(500)}/${'y'.repeat(523)}`;
    await store.write(file(long), upload('long'));
    const { id } = await store.moveToTrash(file(long), { id: newKeptId() });
    await store.restoreTrashed(id, file(long));
    assert.equal(await textOf(store, long), 'long');
    const whole = store.moveToTrash(folder('x'.repeat(500)), { id: newKeptId() });
    assert.equal((await whole).path.length, 501);
    await store.write(file(`a/${'z'.repeat(1000)}`), upload('long'));
    await assert.rejects(store.moveToTrash(folder('a'), { id: 'x' as KeptId }), ofKind('invalid-path'));
    assert.equal(await textOf(store, `a/${'z'.repeat(1000)}`), 'long');
  });
});
