import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { until } from '../../testing/until.ts';
import { file, folder, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { GET_BRANCH, openRepository, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

/** Watches a branch with these files. `seen` has the reported paths, and `?` for unknown changes. */
async function watchBranch(t: TestContext, files: Record<string, string>) {
  const opened = await openRepository(t, { files }, { pollEvery: 20, trust: 0 });
  const seen: string[] = [];
  const ended = new AbortController();
  requireMember(opened.store, 'watch')((paths) => void seen.push(...(paths ?? ['?'])), { signal: ended.signal });
  await until('the branch is watched', () => seen.includes('?'));
  seen.length = 0;
  return {
    ...opened,
    seen,
    async [Symbol.asyncDispose]() {
      ended.abort();
      // The host serves requests in order, so it has served those of the watcher afterwards.
      await opened.store.list(folder(''));
    },
  };
}

describe('The watcher of a branch', () => {
  it('reports what differs between two heads, and a new folder without its content', async (t) => {
    await using watched = await watchBranch(t, { 'f/a': 'a', 'f/b': 'b', c: 'c', 'g/d': 'd' });
    const { repository, seen } = watched;
    await repository.commit({ 'f/a': 'changed', c: null, 'g/d': null, 'new/x/y': 'y', e: 'e' });
    await until('the commit is reported', () => seen.length >= 5);
    assert.deepEqual(seen.toSorted(), ['c', 'e', 'f/a', 'g/', 'new/']);
  });

  it('reports the changes through the store as well, and continues after an outage', async (t) => {
    await using watched = await watchBranch(t, { a: 'a' });
    const { host, store, seen } = watched;
    let failures = 0;
    host.intercept(({ route }) => (route === GET_BRANCH && ++failures <= 8 ? 'cut' : undefined));
    await until('requests have failed', () => failures >= 8);
    await store.write(file('b'), upload('b'));
    await until('the upload is reported', () => seen.includes('b'));
    assert.deepEqual(seen, ['b']);
  });

  it('reports unknown changes if too many paths differ', async (t) => {
    await using watched = await watchBranch(t, { a: 'a' });
    const { repository, seen } = watched;
    await repository.commit(Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`${index}`, 'x'])));
    await until('unknown changes are reported', () => seen.includes('?'));
    assert.deepEqual(seen, ['?']);
  });
});
