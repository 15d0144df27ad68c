import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, pathsIn, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import {
  BRANCH,
  GET_BRANCH,
  GET_TREE,
  requestsDuring,
  respondWith,
  responseOf,
  TREES,
  UNCHANGED,
  unavailable,
} from './github-reading.ts';
import { event, openEmptyRepository, openRepository, PATCH_REF } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const FILES = { 'a.txt': 'a', 'f/b.txt': 'b', 'f/g/c.txt': 'c' };
/** Seconds: longer than any test. */
const LONG = 600;

describe('Listing a branch of a repository', () => {
  it('sends two requests the first time, and none while the snapshot is trusted', async (t) => {
    const opened = await openRepository(t, { files: FILES }, { trust: LONG });
    const { store } = opened;
    assert.deepEqual(
      await requestsDuring(opened, async () => assert.deepEqual(await pathsIn(store, ''), ['a.txt', 'f/'])),
      [BRANCH, TREES],
    );
    const again = async () => {
      assert.deepEqual(await pathsIn(store, 'f/g'), ['f/g/c.txt']);
      assert.equal((await store.stat(file('f/b.txt'))).size, 1);
      await assert.rejects(store.list(folder('missing')), ofKind('not-found'));
    };
    assert.deepEqual(await requestsDuring(opened, again), []);
  });

  it('sends one free request each time when snapshots are not trusted and nothing changed', async (t) => {
    const opened = await openRepository(t, { files: FILES }, { trust: 0 });
    const { store, host } = opened;
    await store.list(folder(''));
    const before = host.quota.remaining;
    const twenty = async () => {
      for (let index = 0; index < 20; index++) assert.deepEqual(await pathsIn(store, 'f'), ['f/b.txt', 'f/g/']);
    };
    assert.deepEqual(
      await requestsDuring(opened, twenty),
      Array.from({ length: 20 }, () => UNCHANGED),
    );
    assert.equal(host.quota.remaining, before);
    assert.equal(store.quota?.()?.remaining, before);
  });

  for (const trust of [0, LONG]) {
    it(`sends one request for 50 concurrent listings, with ${trust} seconds of trust`, async (t) => {
      const opened = await openRepository(t, { files: FILES }, { trust });
      const listings = async () => {
        const lists = Array.from({ length: 50 }, () => pathsIn(opened.store, 'f'));
        for (const paths of await Promise.all(lists)) assert.deepEqual(paths, ['f/b.txt', 'f/g/']);
      };
      assert.deepEqual(await requestsDuring(opened, listings), [BRANCH, TREES]);
    });
  }

  it('sends one more request for all listings that start during a request, without trust', async (t) => {
    const { store, host, repository } = await openRepository(t, { files: FILES }, { trust: 0 });
    const [arrived, released] = [event(), event()];
    host.intercept(async ({ route }) => {
      if (route !== GET_TREE) return undefined;
      arrived.happen();
      await released.happened;
      return undefined;
    });
    const early = store.list(folder(''));
    await arrived.happened;
    await repository.commit({ 'new.txt': 'new' });
    const late = Array.from({ length: 10 }, () => pathsIn(store, ''));
    released.happen();
    assert.equal((await early).entries.length, 2);
    for (const paths of await Promise.all(late)) assert.deepEqual(paths, ['a.txt', 'f/', 'new.txt']);
    assert.equal(host.requests.filter(({ route }) => route === GET_BRANCH).length, 2);
  });

  it('continues when one caller aborts, and is cancelled when all callers abort', async (t) => {
    const { store, host } = await openRepository(t, { files: FILES });
    const [arrived, released] = [event(), event()];
    host.intercept(async ({ route }) => {
      if (route === GET_BRANCH) arrived.happen();
      await released.happened;
      return undefined;
    });
    const controller = new AbortController();
    const aborted = store.list(folder(''), { signal: controller.signal });
    const listing = pathsIn(store, '');
    await arrived.happened;
    controller.abort(new Error('left'));
    await assert.rejects(aborted, /left/);
    released.happen();
    assert.deepEqual(await listing, ['a.txt', 'f/']);
  });

  for (const [name, fault] of [
    ['returns an error', { status: 500, body: { message: 'Oops' } }],
    ['closes the connection', 'cut'],
  ] as const) {
    for (const route of [GET_BRANCH, GET_TREE]) {
      it(`fails while the host ${name} to ${route}, and recovers afterwards`, async (t) => {
        const { store, host, repository } = await openRepository(t, { files: FILES }, { trust: 0 });
        host.intercept(respondWith(route, fault));
        for (let time = 0; time < 2; time++) await assert.rejects(store.list(folder('')), unavailable(/^GitHub /));
        host.intercept(undefined);
        assert.deepEqual(await pathsIn(store, ''), ['a.txt', 'f/']);

        await repository.commit({ 'new.txt': 'new' });
        host.intercept(respondWith(route, fault));
        await assert.rejects(store.list(folder('')), unavailable(/^GitHub /));
        await assert.rejects(store.read(file('a.txt')), unavailable(/^GitHub /));
        host.intercept(undefined);
        assert.deepEqual(await pathsIn(store, ''), ['a.txt', 'f/', 'new.txt']);
      });
    }
  }

  it('tolerates one failure of the host', async (t) => {
    const { store, host } = await openRepository(t, { files: FILES });
    let failures = 0;
    host.intercept(() => (failures++ < 3 ? { status: 502, body: 'bad gateway' } : undefined));
    assert.deepEqual(await pathsIn(store, ''), ['a.txt', 'f/']);
  });
});

describe('Changes to a branch by other clients become visible', () => {
  it('when they commit, without requests for unchanged folders', async (t) => {
    const opened = await openRepository(t, { files: FILES }, { trust: 0 });
    const { store, repository } = opened;
    await store.list(folder(''));
    await repository.commit({ 'new.txt': 'new', 'f/b.txt': null });
    const listAgain = async () => {
      assert.deepEqual(await pathsIn(store, ''), ['a.txt', 'f/', 'new.txt']);
      assert.deepEqual(await pathsIn(store, 'f'), ['f/g/']);
      await assert.rejects(store.stat(file('f/b.txt')), ofKind('not-found'));
    };
    assert.deepEqual(await requestsDuring(opened, listAgain), [BRANCH, TREES, UNCHANGED, UNCHANGED]);
  });

  it('when the snapshot is no longer trusted', async (t) => {
    const { store, repository } = await openRepository(t, { files: FILES }, { trust: 0.05 });
    await store.list(folder(''));
    await repository.commit({ 'new.txt': 'new' });
    await until('the commit is seen', async () => (await pathsIn(store, '')).includes('new.txt'));
  });

  it('when they reset the branch or start a new history', async (t) => {
    const { store, repository } = await openRepository(t, { files: FILES }, { trust: 0 });
    const first = await repository.git('rev-parse', 'main');
    await repository.commit({ 'new.txt': 'new' });
    assert.deepEqual(await pathsIn(store, ''), ['a.txt', 'f/', 'new.txt']);
    await repository.git('update-ref', 'refs/heads/main', first);
    assert.deepEqual(await pathsIn(store, ''), ['a.txt', 'f/']);
    await repository.commit({ 'other.txt': 'other' }, 'Begin', { branch: 'other' });
    await repository.git('update-ref', 'refs/heads/main', 'refs/heads/other');
    assert.deepEqual(await pathsIn(store, ''), ['other.txt']);
    assert.equal(await textOf(store, 'other.txt'), 'other');
    await store.write(file('ours.txt'), upload('ours'));
    assert.deepEqual(await pathsIn(store, ''), ['other.txt', 'ours.txt']);
  });

  it('when they reset the branch to before our commit, after the replica delay', async (t) => {
    const { store, repository } = await openRepository(t, { files: FILES }, { trust: 0 });
    const before = await repository.git('rev-parse', 'main');
    await store.write(file('ours.txt'), upload('ours'));
    await repository.git('update-ref', 'refs/heads/main', before);
    const clock = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => clock() + 31_000);
    assert.deepEqual(await pathsIn(store, ''), ['a.txt', 'f/']);
  });
});

describe('A host response older than our own commit', () => {
  for (const [name, between] of [
    ['to the replaced head', []],
    ['to a head before the replaced one', ['theirs.txt']],
  ] as const) {
    it(`does not hide the commit: it points ${name}`, async (t) => {
      const opened = await openRepository(t, { files: FILES }, { trust: 0 });
      const { store, host, repository } = opened;
      await store.list(folder(''));
      const old = await responseOf(opened, '/branches/main');
      for (const path of between) await repository.commit({ [path]: 'theirs' });
      await store.write(file('ours.txt'), upload('ours'));
      host.intercept(respondWith(GET_BRANCH, { status: 200, body: old, headers: { etag: 'W/"old"' } }));
      const expected = ['a.txt', 'f/', 'ours.txt', ...between];
      assert.deepEqual(await pathsIn(store, ''), expected);
      assert.equal(await textOf(store, 'ours.txt'), 'ours');
      host.intercept(undefined);
      assert.deepEqual(await pathsIn(store, ''), expected);
      await repository.commit({ 'z.txt': 'z' });
      assert.deepEqual(await pathsIn(store, ''), [...expected, 'z.txt']);
    });
  }

  for (const [name, response] of [
    ['returns a head that the service has never seen', 'old'],
    ['says that nothing changed', 'same'],
  ] as const) {
    it(`does not hide the commit: it was in progress during the commit, and ${name}`, async (t) => {
      const opened = await openRepository(t, { files: FILES }, { trust: 0 });
      const { store, host, repository } = opened;
      const old = { status: 200, body: await responseOf(opened, '/branches/main') };
      await repository.commit({ 'theirs.txt': 'theirs' });
      const [arrived, released] = [event(), event()];
      const slow: Promise<string[]>[] = [];
      host.intercept(async ({ route }) => {
        if (route === GET_BRANCH && slow.length > 0) {
          arrived.happen();
          await released.happened;
          return response === 'old' ? old : { status: 304 };
        }
        if (route !== PATCH_REF) return undefined;
        slow.push(pathsIn(store, ''));
        await arrived.happened;
        return undefined;
      });
      await store.write(file('ours.txt'), upload('ours'));
      released.happen();
      assert.deepEqual(await Promise.all(slow), [['a.txt', 'f/', 'ours.txt', 'theirs.txt']]);
    });
  }
});

describe('A repository without commits', () => {
  it('is an empty folder', async (t) => {
    const { store } = await openEmptyRepository(t, {}, { trust: 0 });
    assert.deepEqual(await pathsIn(store, ''), []);
    await assert.rejects(store.list(folder('f')), ofKind('not-found'));
    await assert.rejects(store.read(file('f')), ofKind('not-found'));
  });

  it('contains the first commit of another client', async (t) => {
    const { store, repository } = await openEmptyRepository(t, {}, { trust: 0 });
    assert.deepEqual(await pathsIn(store, ''), []);
    await repository.commit({ 'a.txt': 'a' });
    assert.equal(await textOf(store, 'a.txt'), 'a');
  });
});
