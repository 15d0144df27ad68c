import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { file, folder, ofKind, pathsIn, textOf, treeOf, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import {
  bytesUpload,
  countCommits,
  fileOf,
  filesIn,
  GET_BRANCH,
  messagesIn,
  openEmptyRepository,
  openRepository,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const numbers = Array.from({ length: 100 }, (_, index) => index);

describe('Many changes at once', () => {
  const bodies = {
    text: (number: number) => Buffer.from(`text ${number}\n`.repeat(1000).slice(0, 4096)),
    bytes: (number: number) => Buffer.concat([Buffer.from([number, 0, 255]), randomBytes(4093)]),
  };
  for (const [kind, make] of Object.entries(bodies)) {
    it(`share few commits: a hundred uploads of 4 KiB of ${kind}`, async (t) => {
      const { store, repository } = await openRepository(t, {}, { gatherFor: undefined });
      const contents = numbers.map(make);
      await Promise.all(contents.map((bytes, number) => store.write(file(`f/${number}`), bytesUpload(bytes))));
      const commits = (await countCommits(repository)) - 1;
      assert.ok(commits >= 1 && commits <= 20, `${commits} commits`);
      const expected = contents.map((bytes, number) => [`f/${number}`, fileOf(bytes)] as const);
      const { 'README.md': _, ...written } = await filesIn(repository);
      assert.deepEqual(written, Object.fromEntries(expected.toSorted(([left], [right]) => (left < right ? -1 : 1))));
    });
  }

  it('are applied in the order of the calls to the same path', async (t) => {
    const { store, repository } = await openRepository(t);
    await Promise.all(numbers.slice(0, 20).map((number) => store.write(file('a'), upload(`version ${number}`))));
    assert.equal(await repository.git('show', 'main:a'), 'version 19');
    const [first, second] = await Promise.all(
      ['b', 'b again'].map((text) => requireMember(store, 'stage')(upload(text))),
    );
    await Promise.all([
      first?.commit(file('b'), { type: 'text/plain' }),
      requireMember(store, 'copy')(file('b'), file('c'), { replace: false }),
      requireMember(store, 'move')(file('c'), file('d/e'), { replace: false }),
      store.remove(file('b')),
      second?.commit(file('b'), { type: 'text/plain' }, { condition: 'absent' }),
    ]);
    const { a, b, c, 'd/e': e } = await filesIn(repository);
    assert.deepEqual([a, b, c, e], [fileOf('version 19'), fileOf('b again'), undefined, fileOf('b')]);
  });

  it('are visible at once, even if the host still returns the old branch', async (t) => {
    const { store, host } = await openRepository(t);
    const before = await pathsIn(store, '');
    assert.ok(host.requests.some(({ route }) => route === GET_BRANCH));
    await store.write(file('new'), upload('text'));
    assert.deepEqual(await pathsIn(store, ''), [...before, 'new']);
    assert.equal(await textOf(store, 'new'), 'text');
  });

  it('create no commit when they change nothing', async (t) => {
    const { store, host, repository } = await openRepository(t, {
      files: { a: 'text', 'f/b': 'text', 'f/.gitkeep': '' },
    });
    await store.write(file('a'), upload('text'));
    await store.createFolder(folder('f'));
    await requireMember(store, 'copy')(file('a'), file('f/b'), { replace: true });
    assert.equal(await countCommits(repository), 1);
    assert.deepEqual(sent(host).length, 0);
  });

  it('create no commit when they are rejected, also in an empty repository', async (t) => {
    const { store, host } = await openEmptyRepository(t);
    await assert.rejects(store.remove(file('a')), ofKind('not-found'));
    await assert.rejects(store.removeFolder(folder('a')), ofKind('not-found'));
    assert.deepEqual(sent(host).length, 0);
  });
});

describe('Changes that cannot share a commit', () => {
  const none = { replace: false };
  /** Long enough for one batch. */
  const together = { gatherFor: 30 };

  it('are committed in order: a file is deleted, and a folder of its name is created', async (t) => {
    const { store, repository } = await openRepository(t, { files: { x: 'file', y: 'y' } }, together);
    await Promise.all([
      store.remove(file('x')),
      store.write(file('x/y'), upload('below')),
      store.write(file('z'), upload('z')),
    ]);
    assert.deepEqual(await treeOf(store), { 'x/': null, 'x/y': 'below', y: 'y', z: 'z' });
    assert.equal(await countCommits(repository), 3);
  });

  it('are committed in order: a folder is moved, and files are written to both paths', async (t) => {
    const { store } = await openRepository(t, { files: { 'a/1': '1', 'a/2': '2', 'other/x': 'x' } }, together);
    await Promise.all([
      requireMember(store, 'moveFolder')(folder('a'), folder('b'), none),
      store.write(file('a/new'), upload('at the source')),
      store.write(file('b/new'), upload('at the destination')),
      store.write(file('b/1'), upload('replaced')),
      store.write(file('other/y'), upload('y')),
    ]);
    assert.deepEqual(await treeOf(store), {
      'a/': null,
      'a/new': 'at the source',
      'b/': null,
      'b/1': 'replaced',
      'b/2': '2',
      'b/new': 'at the destination',
      'other/': null,
      'other/x': 'x',
      'other/y': 'y',
    });
  });

  it('are committed in order: a file is written, and its folder is moved', async (t) => {
    const { store, repository } = await openRepository(t, { files: { 'a/1': '1', 'c/1': 'c' } }, together);
    const staged = await requireMember(store, 'stage')(upload('new'));
    await Promise.all([
      staged.commit(file('a/new'), { type: 'text/plain' }),
      requireMember(store, 'moveFolder')(folder('a'), folder('b'), none),
      requireMember(store, 'copyFolder')(folder('b'), folder('c'), { replace: true }),
      requireMember(store, 'removeTree')(folder('b')),
    ]);
    assert.deepEqual(await treeOf(store), { 'c/': null, 'c/1': '1', 'c/new': 'new' });
    assert.ok((await messagesIn(repository)).length <= 5);
  });

  it('are committed in order: a folder is deleted and created again', async (t) => {
    const { store } = await openRepository(t, { files: { 'a/1': '1', 'a/b/2': '2', z: 'z' } }, together);
    await Promise.all([
      requireMember(store, 'removeTree')(folder('a')),
      store.write(file('a/b/3'), upload('3')),
      store.createFolder(folder('a/c')),
    ]);
    assert.deepEqual(await treeOf(store), { 'a/': null, 'a/b/': null, 'a/b/3': '3', 'a/c/': null, z: 'z' });
  });
});
