import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import type { GitHubFake } from '../../testing/servers/github.ts';
import { file, folder, ofKind, pathsIn, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import {
  countCommits,
  event,
  fileOf,
  filesIn,
  GET_BRANCH,
  openRepository,
  PATCH_REF,
  POST_TREE,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

describe('Two Holdall services on one branch', () => {
  it('lose no changes when they write concurrently', async (t) => {
    const { store, another, repository } = await openRepository(t);
    const services = [store, another()];
    const numbers = Array.from({ length: 20 }, (_, index) => index);
    const writes = services.flatMap((service, which) =>
      numbers.map((number) => service.write(file(`f/${which}-${number}`), upload(`${which} ${number}`))),
    );
    await Promise.all(writes);
    const files = await filesIn(repository);
    for (const which of [0, 1]) {
      for (const number of numbers) assert.equal(files[`f/${which}-${number}`], fileOf(`${which} ${number}`));
    }
    assert.equal(await repository.git('rev-list', '--merges', '--count', 'main'), '0');
  });

  it('lose no changes when each writes files one after the other', async (t) => {
    const { store, another, repository } = await openRepository(t);
    const services = [store, another(), another()];
    const write = async (which: number, service = services[which]) => {
      for (let number = 0; number < 3; number++) {
        await service?.write(file(`${which}/${number}`), upload(`${number}`), { condition: 'absent' });
      }
    };
    await Promise.all([write(0), write(1), write(2)]);
    assert.equal(Object.keys(await filesIn(repository)).length, 1 + 9);
  });

  it('let exactly one conditional creation and one conditional replacement succeed', async (t) => {
    const { store, another, repository } = await openRepository(t, { files: { a: 'old' } });
    const services = [store, another()];
    const { etag } = await store.stat(file('a'));
    for (const [path, condition] of [
      ['new', 'absent'],
      ['a', { etag }],
    ] as const) {
      const outcomes = await Promise.allSettled(
        services.map((service, which) => service.write(file(path), upload(`${which}`), { condition })),
      );
      const won = outcomes.findIndex(({ status }) => status === 'fulfilled');
      const lost = outcomes.find((one) => one.status === 'rejected');
      assert.ok(lost && isStoreError(lost.reason, 'condition-failed'));
      assert.equal(await repository.git('show', `main:${path}`), String(won));
    }
  });

  it('each see the changes of the other before they write', async (t) => {
    const { store, another } = await openRepository(t, {}, { trust: 3600 });
    const second = another();
    await store.write(file('a'), upload('1'));
    await second.write(file('b'), upload('2'));
    await store.remove(file('b'));
    await assert.rejects(second.remove(file('b')), ofKind('not-found'));
    await second.write(file('a'), upload('3'));
    assert.equal(await textOf(second, 'a'), '3');
  });
});

describe('A branch that another client moves during a commit', () => {
  it('contains both changes afterwards', async (t) => {
    const { store, host, repository } = await openRepository(t, { files: { a: 'a', b: 'b' } });
    beforeFirst(host, PATCH_REF, () => repository.commit({ b: 'of another user', 'f/c': 'c' }));
    await store.write(file('f/a'), upload('ours'));
    assert.deepEqual(await filesIn(repository), {
      a: fileOf('a'),
      b: fileOf('of another user'),
      'f/a': fileOf('ours'),
      'f/c': fileOf('c'),
    });
    assert.deepEqual(
      sent(host, PATCH_REF).map(({ status }) => status),
      [422, 200],
    );
    assert.equal(await countCommits(repository), 3);
  });

  it('causes the conditions of the changes to be checked again', async (t) => {
    const files = { a: 'old', m: 'm', 'd/x': 'x' };
    const { store, host, repository } = await openRepository(t, { files }, { gatherFor: 30 });
    const { etag } = await store.stat(file('a'));
    const theirs = { new: 'theirs', a: 'theirs', to: 'theirs', m: null, 'd/y': 'theirs' };
    beforeFirst(host, PATCH_REF, () => repository.commit(theirs));
    const outcomes = await Promise.allSettled([
      store.write(file('new'), upload('ours'), { condition: 'absent' }),
      store.write(file('a'), upload('ours'), { condition: { etag } }),
      requireMember(store, 'copy')(file('a'), file('to'), { replace: false }),
      requireMember(store, 'move')(file('m'), file('n'), { replace: false }),
      requireMember(store, 'moveFolder')(folder('d'), folder('e'), { replace: false }),
      store.write(file('other'), upload('ours')),
    ]);
    const kinds = outcomes.map((one) =>
      one.status === 'rejected' && isStoreError(one.reason) ? one.reason.kind : 'ok',
    );
    assert.deepEqual(kinds, ['condition-failed', 'condition-failed', 'already-exists', 'not-found', 'ok', 'ok']);
    assert.deepEqual(await treeOf(store), {
      a: 'theirs',
      'e/': null,
      'e/x': 'x',
      'e/y': 'theirs',
      new: 'theirs',
      other: 'ours',
      to: 'theirs',
    });
  });

  it('drops a change that was aborted meanwhile', async (t) => {
    const { store, host, repository } = await openRepository(t);
    const aborted = new AbortController();
    beforeFirst(host, PATCH_REF, async () => {
      aborted.abort(new Error('no longer wanted'));
      await repository.commit({ theirs: 'x' });
    });
    const [first, second] = await Promise.allSettled([
      store.createFolder(folder('first'), { signal: aborted.signal }),
      store.createFolder(folder('second')),
    ]);
    assert.ok(first.status === 'rejected' && /no longer wanted/.test(String(first.reason)));
    assert.equal(second.status, 'fulfilled');
    assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'second/.gitkeep', 'theirs']);
  });

  it('rejects changes that are aborted while they wait for a separate commit', async (t) => {
    const { store, host, repository } = await openRepository(t, { files: { x: 'file', z: 'z' } }, { gatherFor: 1 });
    const aborted = new AbortController();
    beforeFirst(host, PATCH_REF, () => aborted.abort(new Error('no longer wanted')));
    const [first, second] = await Promise.allSettled([
      store.remove(file('x')),
      store.createFolder(folder('x/y'), { signal: aborted.signal }),
    ]);
    assert.equal(first.status, 'fulfilled');
    assert.ok(second.status === 'rejected' && /no longer wanted/.test(String(second.reason)));
    assert.deepEqual(Object.keys(await filesIn(repository)), ['z']);
  });

  it('rejects the change after 30 attempts, without partial changes', async (t) => {
    const { store, host, repository } = await openRepository(t);
    let moves = 0;
    host.intercept(async ({ route }) => {
      if (route === PATCH_REF) await repository.commit({ theirs: `${moves++}` });
      return undefined;
    });
    await assert.rejects(store.write(file('a'), upload('ours')), (error) => {
      assert.ok(isStoreError(error, 'unavailable'));
      assert.ok((error.retryAfter ?? 0) > 0);
      return true;
    });
    assert.equal(moves, 30);
    assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'theirs']);
    host.intercept(undefined);
    await store.write(file('a'), upload('ours'));
    assert.equal(await repository.git('show', 'main:a'), 'ours');
  });

  it('counts as moved when the host confirms the update but returns the old head', async (t) => {
    const { store, host, repository } = await openRepository(t);
    const stale = { status: 422, body: { message: 'Update is not a fast forward' } };
    let refused = 0;
    host.intercept(({ route }) => (route === PATCH_REF && ++refused === 1 ? stale : undefined));
    await store.write(file('a'), upload('ours'));
    assert.equal(await repository.git('show', 'main:a'), 'ours');
  });

  it('is not reset by an outdated head that the host returns temporarily', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { trust: 0 });
    const before = await repository.git('rev-parse', 'main');
    await store.write(file('a'), upload('1'));
    const lagging = {
      name: 'main',
      commit: { sha: before, commit: { tree: { sha: await repository.git('rev-parse', `${before}^{tree}`) } } },
    };
    host.intercept(({ route }) => (route === GET_BRANCH ? { status: 200, body: lagging } : undefined));
    assert.equal(await textOf(store, 'a'), '1');
    await store.write(file('b'), upload('2'));
    host.intercept(undefined);
    assert.deepEqual(Object.keys(await filesIn(repository)), ['README.md', 'a', 'b']);
    assert.equal(sent(host, POST_TREE).length, 2);
  });
});

/** Runs a function before the first request of a route is served. */
function beforeFirst(host: GitHubFake, route: string, act: () => unknown): void {
  let isFirst = true;
  host.intercept(async (request) => {
    if (request.route !== route || !isFirst) return undefined;
    isFirst = false;
    await act();
    return undefined;
  });
}

describe('A push by another client on top of our commit, before our response arrives', () => {
  it('is visible at once and stays visible, also to concurrent listings', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { trust: 0 });
    const everything = ['README.md', 'ours', 'theirs'];
    const requested = event();
    const release = event();
    let looking: Promise<string[]> | undefined;
    host.intercept(async ({ route, body }) => {
      if (route === GET_BRANCH && looking) {
        requested.happen();
        await release.happened;
      }
      if (route !== PATCH_REF) return undefined;
      assert.ok(typeof body === 'object' && body !== null && 'sha' in body);
      await repository.git('update-ref', 'refs/heads/main', String(body.sha));
      await repository.commit({ theirs: 'x' });
      assert.deepEqual(await pathsIn(store, ''), everything);
      looking = pathsIn(store, '');
      await requested.happened;
      return { status: 200, body: { ref: 'refs/heads/main', object: { type: 'commit', sha: body.sha } } };
    });
    await store.write(file('ours'), upload('x'));
    release.happen();
    assert.deepEqual(await looking, everything);
    assert.deepEqual(await pathsIn(store, ''), everything);
  });
});
