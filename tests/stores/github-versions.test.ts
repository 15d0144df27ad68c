import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import type { KeptId } from '../../src/model/kept-ids.ts';
import type { Store, VersionStore } from '../../src/model/store.ts';
import { file, ofKind, textOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { requestsDuring } from './github-reading.ts';
import { messagesIn, openRepository, POST_BLOB } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

type VersioningStore = Store & VersionStore;

async function open(t: TestContext, files: Record<string, string>, options: Parameters<typeof openRepository>[2] = {}) {
  const opened = await openRepository(t, { files }, options);
  return { ...opened, store: opened.store as VersioningStore };
}

const A = file('f/a');

const textsOf = async (store: VersioningStore) => {
  const { versions } = await store.listVersions(A);
  const texts = versions.map(async ({ id }) => (await buffer((await store.readVersion(A, id)).body)).toString());
  return Promise.all(texts);
};

describe('The versions of a file of a branch', () => {
  it('are the commits that changed it, also those of other programs', async (t) => {
    const { store, repository } = await open(t, { 'f/a': '1', b: 'x' });
    await repository.commit({ 'f/a': '2' }, 'Second text\n\nWith more lines');
    await repository.commit({ b: 'y' });
    await store.write(A, upload('3'), { keep: { user: 'ann' } });
    await store.write(A, upload('4'), { keep: {} });
    await store.remove(A);
    const { versions } = await store.listVersions(A);
    const described = versions.map(({ size, message, user, replacedBy }) => ({ size, message, user, replacedBy }));
    assert.deepEqual(described, [
      { size: 1, message: 'Upload f/a', user: undefined, replacedBy: undefined },
      { size: 1, message: 'Upload f/a', user: 'ann', replacedBy: undefined },
      { size: 1, message: 'Second text', user: 'Another User', replacedBy: 'ann' },
      { size: 1, message: 'Initial commit', user: 'Another User', replacedBy: 'Another User' },
    ]);
    assert.deepEqual(await textsOf(store), ['4', '3', '2', '1']);
  });

  it('cost a listing one request for all commits and one for each unknown folder', async (t) => {
    const opened = await open(t, { 'f/a': '1' });
    const { store, repository } = opened;
    for (const text of ['2', '3']) await repository.commit({ 'f/a': text });
    await store.stat(A);
    const sent = await requestsDuring(opened, () => store.listVersions(A));
    assert.deepEqual(sent.toSorted(), ['200 GET /commits', ...Array(4).fill('200 GET /git/trees/{tree_sha}')]);
    assert.deepEqual(await requestsDuring(opened, () => store.listVersions(A)), []);
  });

  it('are all kept when several uploads of one commit replace a file', async (t) => {
    const { store, repository } = await open(t, { 'f/a': 'first' }, { gatherFor: 50 });
    const kept: KeptId[] = [];
    const keep = { onKept: (id: KeptId) => void kept.push(id) };
    const writes = ['1', '2', '3'].map((text) => store.write(A, upload(text), { keep }));
    await Promise.all([...writes, ...['x', 'y'].map((name) => store.write(file(name), upload(name), { keep }))]);
    assert.deepEqual([...(await textsOf(store)), await textOf(store, 'f/a')].toSorted(), ['1', '2', '3', 'first']);
    assert.deepEqual(new Set(kept), new Set((await store.listVersions(A)).versions.map(({ id }) => id)));
    assert.equal((await messagesIn(repository)).length, 4, 'Uploads of other files share a commit.');
  });

  it('include no same content, which is restored from the commit that wrote it', async (t) => {
    const { store, repository } = await open(t, { 'f/a': 'same', b: 'same' });
    const written = await repository.git('rev-parse', 'main');
    await repository.commit({ c: '1' });
    const kept: KeptId[] = [];
    const keep = { user: 'ann', onKept: (id: KeptId) => void kept.push(id) };
    await store.write(A, upload('same'), { keep });
    await store.copy?.(file('b'), A, { replace: true, keep });
    assert.equal((await messagesIn(repository)).length, 2, 'Nothing was committed.');
    await store.move?.(file('b'), A, { replace: true, keep });
    assert.deepEqual(kept, [written, written, written]);
    assert.deepEqual((await store.listVersions(A)).versions, []);
    await store.write(A, upload('changed'), { keep: {} });
    await store.restoreVersion(A, written as KeptId, {});
    assert.equal(await textOf(store, 'f/a'), 'same');
  });

  it('are restored without sending the content again', async (t) => {
    const opened = await open(t, { 'f/a': '1' });
    const { store, host } = opened;
    await store.write(A, upload('2'.repeat(100_000)), { keep: {} });
    await store.write(A, upload('3'), { keep: {} });
    const [large] = (await store.listVersions(A)).versions;
    assert.ok(large);
    host.forget();
    await store.restoreVersion(A, large.id, { keep: {} });
    assert.ok(!host.requests.some(({ route }) => route === POST_BLOB));
    assert.equal((await textOf(store, 'f/a')).length, 100_000);
  });

  it('are none of other branches, of forks and of other files', async (t) => {
    const { store, repository } = await open(t, { 'f/a': '1', b: '1' });
    await repository.createBranch('other');
    const foreign = await repository.commit({ 'f/a': 'foreign' }, 'Foreign', { branch: 'other' });
    await repository.commit({ b: '2' });
    await store.write(A, upload('2'), { keep: {} });
    await repository.commit({ b: '3' });
    const head = await repository.git('rev-parse', 'main');
    for (const id of [foreign, head, head.slice(0, 10), 'main'] as KeptId[]) {
      await assert.rejects(store.readVersion(A, id), ofKind('not-found'), id);
      await assert.rejects(store.restoreVersion(A, id, {}), ofKind('not-found'), id);
    }
  });

  it('come in pages of at most 20', async (t) => {
    const { store, repository } = await open(t, { 'f/a': '0' });
    for (let number = 1; number <= 45; number++) await repository.commit({ 'f/a': String(number) });
    const sizes: number[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page: Awaited<ReturnType<VersioningStore['listVersions']>> = await store.listVersions(
        A,
        cursor === '' ? {} : { cursor },
      );
      sizes.push(page.versions.length);
      cursor = page.cursor;
    }
    assert.deepEqual(sizes, [20, 20, 5]);
  });
});
